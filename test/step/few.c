/* Two or three contacts that are all there is are solved directly (src/step/time/few.c): velocities and impulses
   are those of the general way, bit for bit. And repaired directly (src/step/repair/project_few.c): the same
   corrections but for rounding, and gaps and energies that are those of the position reached. */
#include <math.h>
#include <string.h>

#include "scene.h"
#include "step/repair/project_few.h"
#include "test.h"

typedef struct few_count {
  int steps, repaired, looked, three; /* steps with so few contacts; corrected; by more than J d foresees */
  int apart;                          /* corrections that differ by more than rounding */
  int solved, stick, slip, open;      /* solved directly, and what the contacts did */
} few_count;

/* The present q: deepest overlap by a search of its own. */
static double overlap_at(const kn_sim* s, const double* q) {
  static kn_contact found[64];
  kn_detector* d = NULL;
  kn_data* data = NULL;
  int n = 0;
  double deepest = 0.0;
  CHECK_OK(kn_data_create(&data, s->model));
  CHECK_OK(kn_detector_create(&d, s->model, 64, 0));
  kn_dyn_position(data, s->model, q);
  CHECK_OK(kn_detect(found, &n, d, data, 1e-6, 0.0, NULL));
  for (int i = 0; i < n; i++) deepest = fmax(deepest, -found[i].gap);
  kn_detector_destroy(d);
  kn_data_destroy(data);
  return deepest;
}

static void compare(few_count* n, kn_sim* const* sim, kn_state* const* x) {
  const kn_report *a = kn_sim_report(sim[0]), *b = kn_sim_report(sim[1]);
  double off = 0.0;
  n->steps++;
  if (!(a->correction > 0.0)) return;
  n->repaired++;
  n->looked += a->correction > KN_FORESEEN;
  n->three += a->contacts == 3;
  for (int j = 0; j < sim[0]->model->nv; j++) off = fmax(off, fabs(x[0]->q[j] - x[1]->q[j]));
  /* a row whose compliance is 5e-11 of the others' turns the rounding of its gap, 1e-16 m, into 1e-9 rad when
     a second correction holds it both ways */
  n->apart += !(off <= 1e-12 + 1e-3 * a->correction);
  CHECK(a->penetration <= 1e-10);
  CHECK_NEAR(a->penetration, overlap_at(sim[0], x[0]->q), 2e-11); /* J d of 1e-7 foresees gaps to 1e-11 */
  CHECK_NEAR(a->lift, b->lift, 1e-15);
  CHECK_NEAR(a->energy.kinetic + a->energy.potential, b->energy.kinetic + b->energy.potential,
             1e-11 + 1e-3 * a->correction);
  CHECK_NEAR(a->ledger.correction, b->ledger.correction, 1e-11 + 1e-3 * a->correction);
}

static void compare_solved(few_count* n, kn_sim* const* sim, kn_state* const* x) {
  const kn_report *a = kn_sim_report(sim[0]), *b = kn_sim_report(sim[1]);
  n->solved++;
  CHECK(memcmp(x[0]->v, x[1]->v, (size_t)sim[0]->model->nv * sizeof(double)) == 0);
  CHECK(a->contacts == b->contacts && a->solves == b->solves && a->iterations == b->iterations);
  CHECK(a->residual == b->residual && a->audit == b->audit && a->lcp_size == b->lcp_size);
  CHECK(a->momentum_error == b->momentum_error);
  CHECK_NEAR(a->ledger.integration, b->ledger.integration, 1e-12); /* energies of 100 J, before and after */
  CHECK(memcmp(a->contact, b->contact, (size_t)a->contacts * sizeof *a->contact) == 0);
  for (int i = 0; i < a->contacts; i++) {
    n->stick += a->contact[i].mode == KN_MODE_STICK;
    n->slip += a->contact[i].mode == KN_MODE_SLIP;
    n->open += a->contact[i].mode == KN_MODE_OPEN;
  }
}

/* Both simulators take every step from the same state, the second in the general way. */
static void run(few_count* n, const char* name, const char* links, int steps) {
  kn_scene_opened* scene = NULL;
  kn_state* x[2] = {NULL, NULL};
  kn_sim* sim[2] = {NULL, NULL};
  bool ok = CHECK_OK(kn_scene_open(&scene, name, &links, 1));
  kn_sim_settings settings = kn_scene_settings(scene->scene);
  settings.split_impacts = true;
  for (int i = 0; i < 2 && ok; i++)
    ok = CHECK_OK(kn_state_create(&x[i], scene->model)) &&
         CHECK_OK(kn_sim_create(&sim[i], scene->model, &settings)) && CHECK_OK(kn_scene_start(scene, x[i])) &&
         CHECK_OK(kn_sim_prepare(sim[i], x[i]));
  if (ok) sim[1]->few = false;
  for (int k = 0; ok && k < steps; k++) {
    ok = CHECK_OK(kn_state_copy(x[1], x[0]));
    for (int i = 0; i < 2 && ok; i++) ok = CHECK_OK(kn_step(sim[i], x[i]));
    if (ok && kn_few_contacts(sim[0])) compare(n, sim, x);
    if (ok && sim[0]->few_count && !sim[0]->any_impact) compare_solved(n, sim, x);
  }
  for (int i = 0; i < 2; i++) kn_sim_destroy(sim[i]), kn_state_destroy(x[i]);
  kn_scene_close(scene);
}

TEST(steps_are_those_of_the_general_way) {
  few_count n = {0};
  run(&n, "pendulum-2014", "links=12", 5000);
  run(&n, "pendulum-2014", "links=10", 5000);
  run(&n, "pendulum-2014", "links=14", 5000);
  run(&n, "pendulum-2012", "links=3", 5000);
  run(&n, "pendulum-2012", "links=30", 3000);
  CHECK(n.repaired > 1000 && n.looked > 500 && n.three > 300); /* not a test of nothing */
  CHECK(n.apart == 0);
  CHECK(n.solved > 3000 && n.stick > 1000 && n.slip > 1000 && n.open > 1000);
}
