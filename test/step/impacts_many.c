/* Impacts of an island with more rows than a full matrix is worth, or has room for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/step.h"
#include "scene.h"
#include "step/sim.h"
#include "test.h"

typedef struct pile {
  kn_scene_opened* scene;
  kn_sim* sim;
  kn_state* x;
} pile;

static bool open(pile* p, double tolerance) {
  const char* set[] = {"balls=700", "e=0.3"};
  if (!CHECK_OK(kn_scene_open(&p->scene, "sphere-pile", set, 2))) return false;
  kn_sim_settings settings = kn_scene_settings_of(p->scene);
  settings.tolerance = tolerance;
  if (!CHECK_OK(kn_sim_create(&p->sim, p->scene->model, &settings))) return false;
  CHECK_OK(kn_state_create(&p->x, p->scene->model));
  return CHECK_OK(kn_scene_start(p->scene, p->x));
}

static void close(pile* p) {
  kn_state_destroy(p->x);
  kn_sim_destroy(p->sim);
  kn_scene_close(p->scene);
}

typedef struct seen {
  int most, islands, bounced; /* rows; islands with Λ by blocks, and contacts that decompressed in them */
  double off, size;           /* largest difference of velocities, and largest velocity, m/s */
} seen;

/* The impact by Poisson's law with Λ by blocks (as the step prepared it) or in full; v_after and contacts with θ > 0. */
static int velocity_after(double* v, const kn_impact_problem* p) {
  int n = kn_impact_rows(p), bounced = 0;
  double* memory = calloc(3 * (size_t)n + kn_impact_scratch(n, p->work->model->nv), sizeof(double));
  kn_impact_result r = {.v_after = v, .impulse = memory, .compression = memory + n, .e_used = memory + 2 * n};
  CHECK_OK(kn_impact_guarded(&r, NULL, p, memory + 3 * n));
  for (int i = 0; i < n; i++) bounced += r.e_used[i] * r.compression[i] > 0.0;
  free(memory);
  return bounced;
}

static void both_ways(const kn_impact_problem* p, void* context) {
  seen* s = context;
  kn_contact_work* w = p->work;
  int nv = w->model->nv, rows = kn_impact_rows(p);
  s->most = rows > s->most ? rows : s->most;
  if (!w->large.is_sparse) return;
  double* v = calloc(2 * (size_t)nv, sizeof(double));
  s->bounced += velocity_after(v, p);
  w->large.may_be_sparse = false;
  CHECK_OK(kn_contact_begin(w, p->set, p->first, p->count));
  CHECK(!w->large.is_sparse);
  velocity_after(v + nv, p);
  for (int i = 0; i < nv; i++) {
    s->off = fmax(s->off, fabs(v[i] - v[nv + i]));
    s->size = fmax(s->size, fabs(v[i]));
  }
  w->large.may_be_sparse = true;
  CHECK_OK(kn_contact_begin(w, p->set, p->first, p->count));
  s->islands++;
  free(v);
}

/* Poisson's law, u_c = Λ p_c + u⁻ and u⁺ = Λ (p_d + e p_c) + u_c with Coulomb's law in both phases, has one v⁺: that of the full
   matrix and that of the blocks agree to what the solver's tolerance of 1e-10, over the compliance of a heap some ten contacts
   high, leaves. */
TEST(blocks_and_full_matrix_agree) {
  pile p;
  seen s = {0};
  if (!open(&p, 1e-10)) return;
  p.sim->work->watcher.impact = both_ways, p.sim->work->watcher.impact_context = &s;
  for (int i = 0; i < 110 && s.islands < 6; i++) CHECK_OK(kn_step(p.sim, p.x));
  printf("islands of up to %d rows, %d by blocks, %d contacts bounced: %.3g of %.3g m/s apart\n", s.most,
         s.islands, s.bounced, s.off, s.size);
  CHECK(s.islands > 0 && s.bounced > 0);
  CHECK_BELOW(s.off, 1e-7 * s.size);
  close(&p);
}

/* Found with 5000 spheres ("3816 rows that all meet, room for 3072"): with less room than the impacts have rows or blocks, the
   step is made again with more, and ends in the same bits. */
TEST(impacts_of_more_rows_than_a_full_matrix_has_room_for) {
  uint64_t hash[2];
  for (int k = 0; k < 2; k++) {
    pile p;
    if (!open(&p, 1e-10)) return;
    for (int i = 0; i < 110; i++) {
      if (k) p.sim->work->large.max_dense = 300, p.sim->work->large.entries = 1000;
      CHECK_OK(kn_step(p.sim, p.x));
    }
    CHECK((p.sim->room.entries > 0) == k);
    hash[k] = kn_state_hash(p.x);
    close(&p);
  }
  CHECK(hash[0] == hash[1]);
}
