/* Which forces are reported where the motion leaves a choice (force.h, kn_forces_choose).

     the set     {λ' : Jᵀ λ' = Jᵀ λ}, sticking contacts within their cones, sliding ones along theirs, none pulls
     nearest     its point nearest to what was reported for the step before (a new contact: nothing)
     least       its point nearest to 0

   λ is what the solver found. Island by island, in N; blows, compliant contacts, limits, loops and dry friction
   of joints keep what they have. What every point of the set shares is left as it is to the last bit. The state
   is not touched. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dynamics/tree/data.h"
#include "knuckle/force.h"
#include "model/model.h"
#include "step/audit/nearest.h"

enum { MOST = 96 }; /* contacts of an island; larger heaps are left as solved: the work grows with the cube */

typedef struct remembered {
  uint64_t key;
  double point[3], force[3]; /* world */
} remembered;

struct kn_force_chooser {
  const kn_model* model;
  kn_force_choice choice;
  remembered* last;
  int lasts, room; /* room: contacts for which there is memory */
  int *member, *island;
  kn_near_block* block;
  double* unit; /* per block: direction of its only entry, in the contact's frame */
  double *A, *J, *from, *to, *x, *scratch;
  size_t doubles;
  double* memory;
};

kn_status kn_force_chooser_create(kn_force_chooser** out, const kn_model* model, kn_force_choice choice) {
  KN_REQUIRE(out != NULL);
  *out = NULL;
  KN_REQUIRE(model != NULL && choice >= KN_FORCES_NEAREST && choice <= KN_FORCES_SOLVED);
  kn_force_chooser* c = calloc(1, sizeof *c);
  if (!c) return kn_fail(KN_OUT_OF_MEMORY, "no memory to choose forces");
  c->model = model;
  c->choice = choice;
  *out = c;
  return KN_OK;
}

void kn_force_chooser_destroy(kn_force_chooser* c) {
  if (!c) return;
  free(c->last), free(c->member), free(c->island), free(c->block), free(c->memory);
  free(c);
}

static bool again(void* pointer, size_t bytes) {
  void** p = (void**)pointer;
  void* fresh = realloc(*p, bytes);
  if (fresh) *p = fresh;
  return fresh != NULL;
}

static kn_status make_room(kn_force_chooser* c, int contacts) {
  if (contacts <= c->room) return KN_OK;
  size_t n = (size_t)contacts, most = n < MOST ? n : MOST, k = 3 * most, nv = (size_t)c->model->nv,
         rank = nv < k ? nv : k,
         doubles = k * nv + 12 * nv + 3 * most + 3 * k + (size_t)kn_near_room((int)k, (int)rank);
  if (!again(&c->last, n * sizeof *c->last) || !again(&c->member, n * sizeof *c->member) ||
      !again(&c->island, n * sizeof *c->island) || !again(&c->block, n * sizeof *c->block) ||
      !again(&c->memory, (doubles + 1) * sizeof(double)))
    return kn_fail(KN_OUT_OF_MEMORY, "no memory to choose the forces of %d contacts", contacts);
  c->A = c->memory;
  c->J = c->A + k * nv;
  c->unit = c->J + 12 * nv;
  c->from = c->unit + 3 * most;
  c->to = c->from + k;
  c->x = c->to + k;
  c->scratch = c->x + k;
  c->room = contacts;
  return KN_OK;
}

/* ---- the set ---- */

/* Slower than this nothing slides or opens, m/s: it is the solver's last digit (diagnose.c draws the line there too). */
static const double creep = 1e-6;

/* May its force change? A contact that touches without load could take some. */
static bool may_change(const kn_contact* c, const kn_contact_load* l) {
  if (l->impulse || c->compliant) return false;
  return c->mode != KN_MODE_OPEN || (c->island >= 0 && fabs(c->velocity[0]) <= creep);
}

/* The one direction of a contact that slides or has no friction: that of its load, or of what it would be. */
static void only_direction(double u[3], const kn_contact* c, const kn_contact_load* l) {
  double speed = sqrt(c->velocity[1] * c->velocity[1] + c->velocity[2] * c->velocity[2]);
  double size = sqrt(l->normal * l->normal + l->tangential * l->tangential);
  for (int k = 0; k < 3; k++) u[k] = size > 0.0 ? l->local[k] : k == 0;
  if (size == 0.0 && c->mode == KN_MODE_SLIP && speed > 0.0)
    for (int k = 1; k < 3; k++) u[k] = -c->mu * c->velocity[k] / speed;
  size = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  for (int k = 0; k < 3; k++) u[k] /= size;
}

static bool slides(const kn_contact* c) {
  double u = c->velocity[1] * c->velocity[1] + c->velocity[2] * c->velocity[2];
  return c->mode == KN_MODE_SLIP && u > creep * creep;
}

static void add_block(kn_force_chooser* s, int i, int* n, const kn_contact* c, const kn_contact_load* l) {
  bool sticks = !slides(c) && c->mu > 0.0;
  s->block[i] = (kn_near_block){.at = *n, .entries = sticks ? 3 : 1, .mu = c->mu};
  if (sticks)
    memcpy(s->from + *n, l->local, sizeof l->local);
  else {
    double* u = s->unit + 3 * i;
    only_direction(u, c, l);
    s->from[*n] = u[0] * l->local[0] + u[1] * l->local[1] + u[2] * l->local[2];
  }
  *n += s->block[i].entries;
}

/* Entry e of a block as a world vector. */
static void direction(double d[3], const kn_force_chooser* s, int i, int e, const kn_contact* c) {
  const double* u = s->unit + 3 * i;
  for (int k = 0; k < 3; k++)
    d[k] = s->block[i].entries == 3 ? c->frame[3 * e + k]
                                    : u[0] * c->frame[k] + u[1] * c->frame[3 + k] + u[2] * c->frame[6 + k];
}

/* The columns of Jᵀ, by rows: what each dof feels of every entry. */
static kn_status fill_rows(kn_force_chooser* s, const kn_data* data, const kn_contact* contact, int blocks,
                           int n) {
  int nv = s->model->nv;
  double *Ja = s->J, *Jb = s->J + 6 * nv, d[3];
  for (int i = 0; i < blocks; i++) {
    const kn_contact* c = &contact[s->member[i]];
    memset(Ja, 0, 12 * (size_t)nv * sizeof *Ja);
    if (c->body_a != KN_WORLD) KN_TRY(kn_jacobian(Ja, s->model, data, c->body_a, c->point));
    if (c->body_b != KN_WORLD) KN_TRY(kn_jacobian(Jb, s->model, data, c->body_b, c->point));
    for (int e = 0; e < s->block[i].entries; e++) {
      direction(d, s, i, e, c);
      for (int v = 0; v < nv; v++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++) sum += d[k] * (Ja[(3 + k) * nv + v] - Jb[(3 + k) * nv + v]);
        s->A[(size_t)v * (size_t)n + (size_t)(s->block[i].at + e)] = sum;
      }
    }
  }
  return KN_OK;
}

/* ---- where to ---- */

/* What was reported for this contact in the step before, NULL: it is new. Features may touch twice: the nearest. */
static const double* before(const kn_force_chooser* s, const kn_contact* c) {
  const double* found = NULL;
  double near = INFINITY;
  for (int i = 0; i < s->lasts; i++) {
    double far = 0.0;
    for (int k = 0; k < 3; k++) far += fabs(s->last[i].point[k] - c->point[k]);
    if (s->last[i].key == c->key && far < near) near = far, found = s->last[i].force;
  }
  return found;
}

static void aim(kn_force_chooser* s, const kn_contact* contact, int blocks, int n) {
  double d[3];
  memset(s->to, 0, (size_t)n * sizeof *s->to);
  for (int i = 0; i < blocks && s->choice == KN_FORCES_NEAREST; i++) {
    const kn_contact* c = &contact[s->member[i]];
    const double* f = before(s, c);
    for (int e = 0; e < s->block[i].entries && f; e++) {
      direction(d, s, i, e, c);
      s->to[s->block[i].at + e] = d[0] * f[0] + d[1] * f[1] + d[2] * f[2];
    }
  }
}

/* Does the motion leave entries of this block any choice? 1 - |row of B|² is the part of it that is free. */
static bool is_free(const kn_near* set, const kn_near_block* block) {
  for (int e = 0; e < block->entries; e++) {
    double seen = 0.0;
    for (int r = 0; r < set->rank; r++) {
      double x = set->B[(size_t)r * (size_t)set->n + (size_t)(block->at + e)];
      seen += x * x;
    }
    if (1.0 - seen > 1e-12)
      return true; /* beyond the rounding of B: null vectors of 1e-6, as the judge has it */
  }
  return false;
}

static void put_back(kn_contact_load* l, const kn_force_chooser* s, int i, const kn_contact* c) {
  const double *x = s->x + s->block[i].at, *u = s->unit + 3 * i;
  for (int k = 0; k < 3; k++) l->local[k] = s->block[i].entries == 3 ? x[k] : x[0] * u[k];
  for (int k = 0; k < 3; k++)
    l->world[k] = c->frame[k] * l->local[0] + c->frame[3 + k] * l->local[1] + c->frame[6 + k] * l->local[2];
  l->normal = l->local[0];
  l->tangential = sqrt(l->local[1] * l->local[1] + l->local[2] * l->local[2]);
}

static kn_status choose_island(kn_contact_load* load, kn_force_chooser* s, const kn_data* data,
                               const kn_contact* contact, int blocks) {
  int n = 0;
  for (int i = 0; i < blocks; i++) add_block(s, i, &n, &contact[s->member[i]], &load[s->member[i]]);
  KN_TRY(fill_rows(s, data, contact, blocks, n));
  int rank = kn_near_basis(s->A, s->model->nv, n, s->A, 1e-9);
  kn_near set = {.n = n, .rank = rank, .blocks = blocks, .block = s->block, .B = s->A, .from = s->from};
  if (rank == n) return KN_OK;
  aim(s, contact, blocks, n);
  if (!kn_near_point(s->x, &set, s->to, s->scratch)) return KN_OK;
  for (int i = 0; i < blocks; i++)
    if (is_free(&set, &s->block[i])) put_back(&load[s->member[i]], s, i, &contact[s->member[i]]);
  return KN_OK;
}

static void remember(kn_force_chooser* s, const kn_contact* contact, const kn_contact_load* load,
                     int contacts) {
  s->lasts = 0;
  for (int i = 0; i < contacts; i++) {
    if (load[i].impulse || (load[i].normal == 0.0 && load[i].tangential == 0.0)) continue;
    remembered* r = &s->last[s->lasts++];
    r->key = contact[i].key;
    memcpy(r->point, contact[i].point, sizeof r->point);
    memcpy(r->force, load[i].world, sizeof r->force);
  }
}

kn_status kn_forces_choose(kn_contact_load* load, kn_force_chooser* s, const kn_data* data,
                           const kn_contact* contact, int contacts) {
  KN_REQUIRE(s != NULL && data != NULL && data->model == s->model && contacts >= 0 &&
             (contacts == 0 || (load && contact)));
  if (s->choice == KN_FORCES_SOLVED) return KN_OK;
  KN_TRY(make_room(s, contacts));
  for (int i = 0; i < contacts; i++)
    s->island[i] = may_change(&contact[i], &load[i]) ? contact[i].island : -2;
  for (int i = 0; i < contacts; i++) {
    int blocks = 0, island = s->island[i];
    if (island == -2) continue;
    for (int k = i; k < contacts; k++) {
      if (s->island[k] != island) continue;
      if (blocks < MOST) s->member[blocks] = k;
      blocks++;
      s->island[k] = -2;
    }
    if (blocks > 1 && blocks <= MOST) KN_TRY(choose_island(load, s, data, contact, blocks));
  }
  remember(s, contact, load, contacts);
  return KN_OK;
}
