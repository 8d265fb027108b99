/* Forces of the closed rows on the acceleration level (C. Glocker and F. Pfeiffer 1992; song-kumar Eqs.
   3-12):

     q̈ = q̈_free + M⁻¹ Jᵀ λ,   a = Λ λ + b,   b = J q̈_free + J̇ q̇
     open    λ = 0, a_n >= 0
     stick   a = 0,                         λ_n >= 0, |λ_t| <= mu λ_n
     slip    a_n = 0, λ_t = -mu λ_n s,      λ_n >= 0, s = u_t/|u_t|; from rest: a_t = κ s, κ >= 0

   J̇ q̇ of a contact has the curvature of both surfaces in it (a rolling sphere's material point accelerates,
   its gap does not), so it is taken as the rate of J q̇ along the motion by a central difference of the
   contact geometry over 2e-5 rad (relative error 1e-10).

   With fixed modes the system is linear. Contacts may be redundant (four points under a box): the answer of
   least norm (or nearest to an admissible one) is found by proximal steps (Λ + ε) dz = -(Λ z + b), which
   converge whatever the rank. Modes are
   chosen by changing the row that is worst violated, one at a time; friction directions from rest by
   projection of λ_t - a_t/Λ_tt on the friction circle. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "math/dense.h"
#include "spatial/spatial.h"
#include "step/event/event.h"

/* ---- geometry ---- */

static void copy_geometry(kn_contact* to, const kn_contact* from) {
  memcpy(to->point, from->point, sizeof to->point);
  memcpy(to->frame, from->frame, sizeof to->frame);
  to->gap = from->gap;
}

/* The point with this key, or (features may change within a sub-step) the one nearest to the last place. */
static const kn_contact* match(const kn_contact* list, int n, const kn_contact* c) {
  const kn_contact* best = list;
  double least = INFINITY;
  for (int i = 0; i < n; i++) {
    if (list[i].key == c->key) return &list[i];
    double d[3];
    kn_sub3(d, list[i].point, c->point);
    if (kn_dot3(d, d) < least) least = kn_dot3(d, d), best = &list[i];
  }
  return best;
}

/* Contact geometry of the held contacts at the poses in s->data. */
static kn_status refresh(kn_sim* s, kn_event_work* w) {
  for (int p = 0; p < w->closed.pairs; p++) {
    kn_pair_cache cache = w->closed.pair[p].cache;
    int n = 0;
    KN_TRY(kn_detect_pair(w->closed.point, &n, s->room.contacts, s->detector, s->data, w->closed.pair[p].a,
                          w->closed.pair[p].b, s->settings.gtol + 1e-3, &cache));
    for (int g = 0; g < w->closed.helds && n; g++) {
      kn_held* h = &w->closed.held[g];
      if (h->kind == KN_ROW_CONTACT && h->pair == p) copy_geometry(&h->c, match(w->closed.point, n, &h->c));
    }
  }
  kn_event_weigh(s, w);
  return KN_OK;
}

/* Rows of the held groups at the present poses in s->sets.found, in the order of the groups. */
static kn_status held_rows(kn_sim* s, kn_event_work* w, const double* q, double t) {
  const kn_model* m = s->model;
  int g = 0;
  kn_constraints_clear(&s->sets.found);
  for (; g < w->closed.helds && w->closed.held[g].kind == KN_ROW_CONTACT; g++)
    KN_TRY(kn_constraint_add_contact(&s->sets.found, m, &w->closed.held[g].c, g, 0.0));
  for (; g < w->closed.helds && w->closed.held[g].kind == KN_ROW_LIMIT; g++)
    KN_TRY(kn_constraint_add_limit(&s->sets.found, m, q, w->closed.held[g].index, 0.0));
  for (; g < w->closed.helds && w->closed.held[g].kind == KN_ROW_FRICTION; g++)
    KN_TRY(kn_constraint_add_friction(&s->sets.found, m, w->closed.held[g].index,
                                      m->friction[w->closed.held[g].index]));
  for (int i = 0, row = 0, rows; i < m->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, m, s->data, q, i, row, t, &rows, NULL));
  return KN_OK;
}

/* Velocities of the rows at a displaced position. */
static kn_status velocities(double (*out)[4], kn_sim* s, kn_event_work* w, double t, const double* q,
                            const double* v) {
  kn_dyn_position(s->data, s->model, q);
  KN_TRY(refresh(s, w));
  KN_TRY(held_rows(s, w, q, t));
  kn_rows_velocity(s->row.u_before, s->data, s->model, s->sets.found.geometry, s->sets.found.count, v);
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    memset(out[g], 0, sizeof out[g]);
    out[g][0] = s->row.u_before[tag->row] - s->sets.found.rate[tag->row];
    for (int k = 0; k < tag->rows && tag->kind == KN_ROW_CONTACT; k++)
      for (int i = 0; i < 3; i++)
        out[g][1 + i] += s->row.u_before[tag->row + k] * s->sets.found.geometry[g].dir[k][i];
  }
  return KN_OK;
}

/* Differences at q ± ε v; w->force.plus and w->force.minus stay zero when nothing moves. */
static kn_status differences(double* eps, kn_sim* s, kn_event_work* w, double t, const double* q,
                             const double* v) {
  const kn_model* m = s->model;
  double fastest = 0.0;
  bool driven = false;
  for (int i = 0; i < m->nv; i++) fastest = fmax(fastest, fabs(v[i]));
  for (int i = 0; i < m->nloop; i++) driven |= m->loop[i].motion.kind != KN_MOTION_NONE;
  *eps = 0.0;
  if (fastest < 1e-7 && !driven) return KN_OK; /* J̇ q̇ < 1e-14 */
  *eps = fmin(2e-5 / fastest, 1e-4);
  kn_dyn_integrate(w->flow.qs, m, q, v, *eps);
  KN_TRY(velocities(w->force.plus, s, w, t + *eps, w->flow.qs, v));
  kn_dyn_integrate(w->flow.qs, m, q, v, -*eps);
  return velocities(w->force.minus, s, w, t - *eps, w->flow.qs, v);
}

static void row_bias(kn_sim* s, kn_event_work* w, double eps) {
  memset(w->force.bias, 0, (size_t)s->sets.found.rows * sizeof(double));
  for (int g = 0; g < s->sets.found.count && eps > 0.0; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    w->force.bias[tag->row] = (w->force.plus[g][0] - w->force.minus[g][0]) / (2.0 * eps);
    for (int k = 1; k < tag->rows && tag->kind == KN_ROW_CONTACT; k++) {
      double d[3];
      kn_sub3(d, w->force.plus[g] + 1, w->force.minus[g] + 1);
      w->force.bias[tag->row + k] = kn_dot3(d, s->sets.found.geometry[g].dir[k]) / (2.0 * eps);
    }
  }
}

/* ---- the linear problem of fixed modes ---- */

typedef struct island {
  int first, groups, row0, rows; /* of s->sets.set */
  const double* W;               /* rows x rows */
  double *b, *lambda, *a;        /* rows, in the order of s->sets.set */
} island;

static const kn_row_tag* tag_of(const kn_sim* s, const island* d, int k) {
  return &s->sets.set.tag[d->first + k];
}

/* Slip direction in the contact's own tangents. */
static void slip_direction(double out[2], const kn_held* h) {
  out[0] = kn_dot3(h->s, h->c.frame + 3);
  out[1] = kn_dot3(h->s, h->c.frame + 6);
  double n = sqrt(out[0] * out[0] + out[1] * out[1]);
  if (n > 0.0) out[0] /= n, out[1] /= n;
}

static int list_unknowns(kn_sim* s, kn_event_work* w, const island* d) {
  int n = 0;
  for (int k = 0; k < d->groups; k++) {
    const kn_row_tag* tag = tag_of(s, d, k);
    const kn_held* h = &w->closed.held[w->force.group[k]];
    int row = tag->row - d->row0;
    if (h->mode == KN_MODE_OPEN || (h->kind == KN_ROW_FRICTION && h->mode == KN_MODE_SLIP)) continue;
    w->force.unknown[n] = (struct kn_mode_unknown){.row = row, .tangent = -1, .group = k};
    bool rough = h->kind == KN_ROW_CONTACT && tag->rows == 3;
    if (rough && h->mode == KN_MODE_SLIP) {
      w->force.unknown[n].tangent = row + 1;
      slip_direction(w->force.unknown[n].s, h);
      for (int i = 0; i < 2; i++) w->force.unknown[n].s[i] *= h->c.mu;
    }
    n++;
    for (int i = 1; i < 3 && rough && h->mode == KN_MODE_STICK; i++)
      w->force.unknown[n++] = (struct kn_mode_unknown){.row = row + i, .tangent = -1, .group = k, .part = i};
  }
  return n;
}

/* Dry joint friction that slides pushes with a known force. */
static void known_forces(kn_sim* s, kn_event_work* w, const island* d) {
  memset(d->lambda, 0, (size_t)d->rows * sizeof(double));
  for (int k = 0; k < d->groups; k++) {
    const kn_held* h = &w->closed.held[w->force.group[k]];
    if (h->kind == KN_ROW_FRICTION && h->mode == KN_MODE_SLIP)
      d->lambda[tag_of(s, d, k)->row - d->row0] = -h->s[0] * s->model->friction[h->index];
  }
}

static void accelerations(const island* d) {
  for (int i = 0; i < d->rows; i++) {
    const double* wi = d->W + (size_t)i * d->rows;
    double sum = d->b[i];
    for (int j = 0; j < d->rows; j++) sum += wi[j] * d->lambda[j];
    d->a[i] = sum;
  }
}

static double element(const kn_event_work* w, const island* d, int i, int j) {
  const struct kn_mode_unknown* c = &w->force.unknown[j];
  const double* wi = d->W + (size_t)w->force.unknown[i].row * d->rows;
  double x = wi[c->row];
  if (c->tangent >= 0) x -= c->s[0] * wi[c->tangent] + c->s[1] * wi[c->tangent + 1];
  return x;
}

/* λ of the island for the present modes. Scaled to unit diagonal of Λ. */
static void solve_modes(kn_sim* s, kn_event_work* w, const island* d) {
  static const double eps = 1e-7; /* proximal term */
  known_forces(s, w, d);
  accelerations(d);
  int n = list_unknowns(s, w, d);
  double size = 0.0;
  for (int i = 0; i < n; i++) {
    double diagonal = d->W[(size_t)w->force.unknown[i].row * (d->rows + 1)];
    const kn_held* h = &w->closed.held[w->force.group[w->force.unknown[i].group]];
    w->force.scale[i] = diagonal > 0.0 ? 1.0 / sqrt(diagonal) : 1.0;
    w->force.z[i] = (h->kind == KN_ROW_CONTACT ? kn_dot3(h->base, h->c.frame + 3 * w->force.unknown[i].part)
                                               : h->base[0]) /
                    w->force.scale[i];
  }
  for (int i = 0; i < n; i++) {
    w->force.r[i] = w->force.scale[i] * d->a[w->force.unknown[i].row];
    size = fmax(size, fabs(w->force.r[i]));
    for (int j = 0; j < n; j++)
      w->force.LU[(size_t)i * n + j] = w->force.A[(size_t)i * n + j] =
          w->force.scale[i] * w->force.scale[j] * element(w, d, i, j);
    w->force.LU[(size_t)i * (n + 1)] += eps;
    for (int j = 0; j < n; j++) w->force.r[i] += w->force.A[(size_t)i * n + j] * w->force.z[j];
  }
  bool regular = kn_lu_factor(n, w->force.LU, n, s->repair.least_pivot) == n;
  for (int round = 0; round < 12 && regular; round++) {
    double left = 0.0;
    kn_lu_solve(n, w->force.b, w->force.LU, n, s->repair.least_pivot, w->force.r);
    for (int i = 0; i < n; i++) w->force.z[i] -= w->force.b[i];
    for (int i = 0; i < n; i++) {
      double sum = w->force.scale[i] * d->a[w->force.unknown[i].row];
      for (int j = 0; j < n; j++) sum += w->force.A[(size_t)i * n + j] * w->force.z[j];
      w->force.r[i] = sum;
      left = fmax(left, fabs(sum));
    }
    if (left <= 4e-16 * size) break;
  }
  for (int i = 0; i < n; i++) {
    const struct kn_mode_unknown* c = &w->force.unknown[i];
    double f = w->force.scale[i] * w->force.z[i];
    d->lambda[c->row] += f;
    for (int k = 0; k < 2 && c->tangent >= 0; k++) d->lambda[c->tangent + k] -= c->s[k] * f;
  }
  accelerations(d);
}

static void store(kn_sim* s, kn_event_work* w, const island* d) {
  double most = 0.0;
  for (int i = 0; i < d->rows; i++)
    most = fmax(most, fabs(d->lambda[i]) * sqrt(d->W[(size_t)i * (d->rows + 1)]));
  for (int k = 0; k < d->groups; k++) {
    const kn_row_tag* tag = tag_of(s, d, k);
    kn_held* h = &w->closed.held[w->force.group[k]];
    int row = tag->row - d->row0;
    double diagonal = d->W[(size_t)row * (d->rows + 1)];
    for (int i = 0; i < 3; i++) {
      h->f[i] = i < tag->rows ? d->lambda[row + i] : 0.0;
      h->a[i] = i < tag->rows ? d->a[row + i] : 0.0;
    }
    h->across = 0.0;
    if (h->kind == KN_ROW_CONTACT && tag->rows == 3 && h->mode == KN_MODE_SLIP) {
      double c[2];
      slip_direction(c, h);
      const double *w1 = d->W + (size_t)(row + 1) * d->rows + row + 1, *w2 = w1 + d->rows;
      h->across = h->c.mu * fmax(h->f[0], 0.0) *
                  (c[1] * c[1] * w1[0] - c[0] * c[1] * (w1[1] + w2[0]) + c[0] * c[0] * w2[1]);
    }
    /* a scaled share of the largest force, and a force that accelerates by 1e-10 m/s² */
    h->size = diagonal > 0.0 ? 1e-9 * most / sqrt(diagonal) + 1e-10 / diagonal : INFINITY;
  }
}

/* ---- modes ---- */

static double tangential(const kn_held* h) { return sqrt(h->f[1] * h->f[1] + h->f[2] * h->f[2]); }

/* What the cone problem's answer, whose own residual is below this, may be outside of the cone. */
static const double SOLVED = 1.0 + 5e-8;

/* >= 0 while the mode stands; in units of h->size: below -1 it is broken beyond rounding. */
double kn_event_margin(const kn_held* h) {
  if (h->mode == KN_MODE_OPEN || h->kind == KN_ROW_LOOP) return INFINITY;
  if (h->kind == KN_ROW_FRICTION)
    return h->mode == KN_MODE_STICK ? (h->c.mu - fabs(h->f[0])) / h->size
           : h->moving              ? h->s[0] * h->u[0] / (0.1 * KN_EVENT_REST)
                                    : INFINITY;
  double margin = h->f[0] / h->size;
  if (h->kind != KN_ROW_CONTACT || !(h->c.mu > 0.0)) return margin;
  if (h->mode == KN_MODE_STICK && isfinite(h->c.mu))
    margin = fmin(margin, ((h->certified ? SOLVED : 1.0) * h->c.mu * h->f[0] - tangential(h)) / h->size);
  if (h->mode == KN_MODE_SLIP && h->moving) {
    double s[2];
    slip_direction(s, h);
    margin = fmin(margin, (s[0] * h->u[1] + s[1] * h->u[2]) / (0.1 * KN_EVENT_REST));
  }
  return margin;
}

int kn_event_broken(const kn_event_work* w, double* value) {
  int worst = -1;
  *value = -1.0;
  for (int g = 0; g < w->closed.helds; g++) {
    double margin = kn_event_margin(&w->closed.held[g]);
    if (margin < *value) *value = margin, worst = g;
  }
  return worst;
}

/* Friction of a contact that leaves its rest: the direction that opposes λ_t, then turned until a_t follows
   it. Returns true when the mode or direction changed. */
static bool turn(kn_held* h, double stiffness, double tolerance, bool* changed) {
  double s[2], mun = h->c.mu * h->f[0];
  if (!(mun > 0.0)) return false;
  slip_direction(s, h);
  double along = s[0] * h->a[1] + s[1] * h->a[2], across = s[0] * h->a[2] - s[1] * h->a[1];
  /* the direction serves until the contact moves at KN_EVENT_REST: a hundred-thousandth will do */
  if (fabs(across) <= 1e-5 * fabs(along) + tolerance && along >= -tolerance) return false;
  double d[2] = {-mun * s[0] - h->a[1] / stiffness, -mun * s[1] - h->a[2] / stiffness};
  double n = sqrt(d[0] * d[0] + d[1] * d[1]);
  if (n < mun * (1.0 - 1e-9)) {
    h->mode = KN_MODE_STICK;
    h->onset = false;
    *changed = true;
    return true;
  }
  for (int i = 0; i < 3; i++) h->s[i] = -(d[0] * h->c.frame[3 + i] + d[1] * h->c.frame[6 + i]) / n;
  return true;
}

static void begin_slip(kn_held* h) {
  double n = tangential(h);
  h->mode = KN_MODE_SLIP;
  h->onset = true;
  h->moving = false;
  for (int i = 0; i < 3; i++) h->s[i] = -(h->f[1] * h->c.frame[3 + i] + h->f[2] * h->c.frame[6 + i]) / n;
}

static bool at_rest(const kn_held* h) { return sqrt(h->u[1] * h->u[1] + h->u[2] * h->u[2]) <= KN_EVENT_REST; }

static void close_again(kn_held* h) {
  if (h->kind != KN_ROW_CONTACT || at_rest(h) || !(h->c.mu > 0.0))
    h->mode = h->kind == KN_ROW_CONTACT && !(h->c.mu > 0.0) ? KN_MODE_SLIP : KN_MODE_STICK;
  else
    h->mode = KN_MODE_SLIP;
  h->onset = false;
}

/* The change a broken group asks for. */
static void change(kn_held* h) {
  if (h->mode == KN_MODE_OPEN) {
    close_again(h);
  } else if (h->kind == KN_ROW_FRICTION) {
    h->mode = KN_MODE_SLIP;
    h->onset = true;
    h->s[0] = h->f[0] > 0.0 ? -1.0 : 1.0;
  } else if (h->f[0] < 0.0) {
    h->mode = KN_MODE_OPEN;
  } else {
    begin_slip(h);
  }
}

/* One change of the modes of an island; false when all of them stand. */
static bool improve(kn_sim* s, kn_event_work* w, const island* d) {
  double most = 0.0, worst = -1.0;
  int pick = -1;
  bool changed = false, turned = false;
  for (int i = 0; i < d->rows; i++) most = fmax(most, fabs(d->b[i]));
  double tolerance = 1e-9 * most + 1e-10; /* m/s² */
  for (int k = 0; k < d->groups; k++) {
    kn_held* h = &w->closed.held[w->force.group[k]];
    double margin = kn_event_margin(h);
    if (h->mode == KN_MODE_OPEN && h->kind != KN_ROW_LOOP) margin = h->a[0] / tolerance;
    if (h->kind == KN_ROW_FRICTION && h->onset && h->s[0] * h->a[0] < -tolerance) margin = -2.0;
    if (margin < worst) worst = margin, pick = k;
  }
  if (pick >= 0) {
    kn_held* h = &w->closed.held[w->force.group[pick]];
    if (h->kind == KN_ROW_FRICTION && h->onset)
      h->mode = KN_MODE_STICK, h->onset = false;
    else
      change(h);
    return true;
  }
  for (int k = 0; k < d->groups; k++) {
    kn_held* h = &w->closed.held[w->force.group[k]];
    if (h->kind != KN_ROW_CONTACT || h->mode != KN_MODE_SLIP || !h->onset || !(h->c.mu > 0.0)) continue;
    int row = tag_of(s, d, k)->row - d->row0;
    double stiffness =
        0.5 * (d->W[(size_t)(row + 1) * (d->rows + 1)] + d->W[(size_t)(row + 2) * (d->rows + 1)]);
    turned |= turn(h, stiffness, tolerance, &changed);
  }
  return changed || turned;
}

/* Blocks of the island as one cone problem for λ. A contact that slides keeps its direction: its tangential
   rows are given a velocity far above any acceleration. */
static int cone_blocks(kn_block* block, double* q, kn_sim* s, kn_event_work* w, const island* d,
                       double share) {
  double most = 0.0;
  int n = 0;
  for (int i = 0; i < d->rows; i++) most = fmax(most, fabs(d->b[i]));
  memcpy(q, d->b, (size_t)d->rows * sizeof(double));
  for (int k = 0; k < d->groups; k++) {
    const kn_held* h = &w->closed.held[w->force.group[k]];
    const kn_row_tag* tag = tag_of(s, d, k);
    int row = tag->row - d->row0;
    kn_block* b = &block[n++];
    *b = (kn_block){.set = KN_SET_POSITIVE, .row = row, .hi = INFINITY};
    if (h->kind == KN_ROW_LOOP) b->set = KN_SET_FREE;
    if (h->kind == KN_ROW_FRICTION) {
      b->set = KN_SET_BOX;
      b->lo = h->moving ? -h->s[0] * h->c.mu : -h->c.mu;
      b->hi = h->moving ? b->lo : h->c.mu;
    }
    if (h->kind != KN_ROW_CONTACT || tag->rows != 3) continue;
    b->set = KN_SET_CONE3;
    b->mu = h->moving ? h->c.mu : share * h->c.mu;
    double direction[2];
    slip_direction(direction, h);
    for (int i = 0; i < 2 && h->moving; i++) q[row + 1 + i] += 1e3 * most * direction[i];
  }
  return n;
}

static void mode_from(kn_held* h, const double* r, const double* a, double force, double tolerance) {
  h->onset = h->certified = false;
  h->mode = r[0] > force ? KN_MODE_STICK : KN_MODE_OPEN;
  if (h->kind != KN_ROW_CONTACT || h->mode == KN_MODE_OPEN) return;
  if (!(h->c.mu > 0.0) || h->moving) {
    h->mode = KN_MODE_SLIP;
    return;
  }
  double f = sqrt(r[1] * r[1] + r[2] * r[2]), accel = sqrt(a[1] * a[1] + a[2] * a[2]);
  if (accel <= tolerance || f < h->c.mu * r[0] * (1.0 - 1e-6)) {
    h->certified = true;
    return;
  }
  h->mode = KN_MODE_SLIP;
  h->onset = true;
  for (int i = 0; i < 3; i++) h->s[i] = (a[1] * h->c.frame[3 + i] + a[2] * h->c.frame[6 + i]) / accel;
}

/* The cone problem a = Λ λ + b as a whole, with a share of the friction of what rests; its accelerations in d->a. */
static bool solve_cones(double* r, kn_sim* s, kn_event_work* w, const island* d, double share) {
  kn_solve_settings settings = kn_solve_default();
  kn_solve_info info;
  double* q = w->force.r;
  int blocks = cone_blocks(s->work->block, q, s, w, d, share);
  kn_problem p = {.rows = d->rows, .blocks = blocks, .block = s->work->block, .W = d->W, .q = q};
  memset(r, 0, (size_t)d->rows * sizeof(double));
  kn_status status = kn_problem_solve(r, &info, &p, &settings, s->work->solver);
  w->step.evaluations += info.iterations; /* each costs about as much */
  if (status != KN_OK && !(info.residual_scaled < 1e-6)) return false;
  s->report.solves++;
  memcpy(d->lambda, r, (size_t)d->rows * sizeof(double));
  accelerations(d);
  return true;
}

/* Does everything that rests stay at rest? */
static bool rests(const kn_sim* s, const kn_event_work* w, const island* d, double tolerance) {
  for (int k = 0; k < d->groups; k++) {
    const kn_held* h = &w->closed.held[w->force.group[k]];
    const double* a = d->a + tag_of(s, d, k)->row - d->row0;
    if (h->kind == KN_ROW_CONTACT && tag_of(s, d, k)->rows == 3 && !h->moving &&
        a[1] * a[1] + a[2] * a[2] > tolerance * tolerance)
      return false;
  }
  return true;
}

/* Modes from the cone problem. Forces that several contacts share are not determined, and an answer at the edge of a cone would leave it at once:
   where 98 % of the friction hold everything that rests, the forces are taken from there. */
static void guess_modes(kn_sim* s, kn_event_work* w, const island* d) {
  double *r = w->force.z, most = 0.0, size = 0.0;
  for (int i = 0; i < d->rows; i++) most = fmax(most, fabs(d->b[i]));
  if (!(solve_cones(r, s, w, d, 0.98) && rests(s, w, d, 1e-6 * most)) && !solve_cones(r, s, w, d, 1.0))
    return;
  for (int i = 0; i < d->rows; i++) size = fmax(size, fabs(r[i]) * sqrt(d->W[(size_t)i * (d->rows + 1)]));
  for (int k = 0; k < d->groups; k++) {
    kn_held* h = &w->closed.held[w->force.group[k]];
    int row = tag_of(s, d, k)->row - d->row0;
    double diagonal = d->W[(size_t)row * (d->rows + 1)];
    if (h->kind == KN_ROW_LOOP || h->kind == KN_ROW_FRICTION || !(diagonal > 0.0)) continue;
    mode_from(h, r + row, d->a + row, 1e-8 * size / sqrt(diagonal), 1e-6 * most);
    memset(h->base, 0, sizeof h->base);
    h->base[0] = r[row];
    for (int i = 0; i < 3 && h->kind == KN_ROW_CONTACT; i++) {
      h->base[i] = r[row] * h->c.frame[i];
      for (int part = 1; part < tag_of(s, d, k)->rows; part++)
        h->base[i] += r[row + part] * h->c.frame[3 * part + i];
    }
  }
}

static kn_status choose_modes(kn_sim* s, kn_event_work* w, const island* d) {
  int rounds = 60 + 4 * d->groups;
  for (int round = 0; round < rounds; round++) {
    solve_modes(s, w, d);
    store(s, w, d);
    if (!improve(s, w, d)) return KN_OK;
    w->step.evaluations++; /* another round costs as much as another instant */
    if (round == 1) guess_modes(s, w, d);
  }
  w->trouble = KN_NO_SOLUTION;
  w->trouble_value = w->trouble_limit = rounds;
  return KN_OK;
}

/* ---- acceleration ---- */

static kn_status forces(kn_sim* s, kn_event_work* w, kn_state* x, double t, const double* q,
                        const double* v) {
  kn_controller controller = s->controller;
  s->force.implicit = (kn_implicit){0};
  if (w->control.held) s->controller.fn = NULL;
  kn_status status = kn_stage_forces(s, x, t, q, v, 0.0);
  s->controller = controller;
  if (status != KN_OK) return status;
  for (int i = 0; i < s->model->nv && w->control.held; i++) {
    s->force.tau_applied[i] += w->control.tau[i];
    s->force.tau[i] += w->control.tau[i];
  }
  return KN_OK;
}

static void powers(kn_sim* s, kn_event_work* w, const double* v) {
  double* P = w->flow.stage_power;
  memset(P, 0, sizeof w->flow.stage_power);
  for (int i = 0; i < s->model->nv; i++) {
    P[KN_POWER_ACTUATOR] += s->force.tau_act[i] * v[i];
    P[KN_POWER_APPLIED] += s->force.tau_applied[i] * v[i];
    P[KN_POWER_DAMPING] += s->force.tau_damp[i] * v[i];
  }
  for (int g = 0; g < w->closed.helds; g++) {
    const kn_held* h = &w->closed.held[g];
    double first = h->f[0] * h->u[0];
    if (h->kind == KN_ROW_CONTACT)
      P[KN_POWER_NORMAL] += first, P[KN_POWER_FRICTION] += h->f[1] * h->u[1] + h->f[2] * h->u[2];
    else if (h->kind == KN_ROW_LIMIT)
      P[KN_POWER_LIMIT] += first;
    else if (h->kind == KN_ROW_FRICTION)
      P[KN_POWER_JOINT_FRICTION] += first;
    else
      P[KN_POWER_LOOP] += first, P[KN_POWER_PRESCRIBED] += h->f[0] * h->s[0]; /* s[0]: U */
  }
}

/* Velocities of the rows, and the direction of those that slide. A slide ends where it turns against the
   direction it began with, whatever was evaluated before. */
static void row_velocities(kn_sim* s, kn_event_work* w, const double* v, bool begins) {
  kn_rows_velocity(s->row.u_before, s->data, s->model, s->sets.found.geometry, s->sets.found.count, v);
  for (int g = 0; g < w->closed.helds; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    kn_held* h = &w->closed.held[g];
    for (int k = 0; k < 3; k++) h->u[k] = k < tag->rows ? s->row.u_before[tag->row + k] : 0.0;
    if (h->kind == KN_ROW_LOOP) h->s[0] = s->sets.found.rate[tag->row], h->u[0] -= h->s[0];
    if (h->kind != KN_ROW_CONTACT || tag->rows < 3 || h->mode != KN_MODE_SLIP) continue;
    double speed = sqrt(h->u[1] * h->u[1] + h->u[2] * h->u[2]);
    double along = 0.0;
    if (!begins) kn_copy3(h->s, h->s_begin);
    for (int i = 0; i < 3; i++)
      along += h->s[i] * (h->u[1] * h->c.frame[3 + i] + h->u[2] * h->c.frame[6 + i]);
    /* too slow to have a direction, beyond the end of the slide, or held by others, when a stage's velocity is rounding: the
       first one is kept. Stages that push in several directions would leave the cone together, since some count negatively. */
    if (speed <= KN_EVENT_REST || (along < 0.0 && kn_dot3(h->s, h->s) > 0.5) ||
        (h->onset && kn_event_sticks(h)))
      continue;
    for (int i = 0; i < 3; i++) h->s[i] = (h->u[1] * h->c.frame[3 + i] + h->u[2] * h->c.frame[6 + i]) / speed;
  }
}

static kn_status solve_island(double* qdd, kn_sim* s, kn_event_work* w, int i, bool choose) {
  const kn_model* m = s->model;
  island d = {.first = s->sets.island_first[i],
              .groups = s->sets.island_first[i + 1] - s->sets.island_first[i]};
  const kn_row_tag* last = &s->sets.set.tag[d.first + d.groups - 1];
  d.row0 = s->sets.set.tag[d.first].row;
  d.rows = last->row + last->rows - d.row0;
  if (d.rows > s->room.repair || d.rows > KN_EVENT_ROWS) {
    w->trouble = KN_NO_ROOM;
    w->trouble_value = d.rows;
    w->trouble_limit = kn_min(s->room.repair, KN_EVENT_ROWS);
    memset(s->frame.dv, 0, (size_t)m->nv * sizeof(double));
    return KN_OK;
  }
  for (int g = 0, k = 0; g < s->sets.found.count; g++)
    if (s->sets.order[g] == i) w->force.group[k++] = g;
  KN_TRY(kn_rows_push(&s->repair.rows, s->data, m, s->sets.set.geometry + d.first, d.groups));
  kn_rows_lambda(s->work->W, &s->repair.rows, s->data, m);
  d.W = s->work->W;
  d.b = s->row.u_free + d.row0;
  d.lambda = s->row.lambda + d.row0;
  d.a = s->row.u_plus + d.row0;
  kn_rows_velocity(d.b, s->data, m, s->sets.set.geometry + d.first, d.groups, qdd);
  for (int k = 0; k < d.groups; k++) {
    const kn_row_tag *to = tag_of(s, &d, k), *from = &s->sets.found.tag[w->force.group[k]];
    for (int r = 0; r < to->rows; r++) d.b[to->row - d.row0 + r] += w->force.bias[from->row + r];
  }
  if (choose) {
    KN_TRY(choose_modes(s, w, &d));
  } else {
    solve_modes(s, w, &d);
    store(s, w, &d);
  }
  kn_rows_apply(s->frame.dv, &s->repair.rows, s->data, m, d.lambda);
  return KN_OK;
}

kn_status kn_event_rate(double* qdd, kn_sim* s, kn_event_work* w, kn_state* x, double t, const double* q,
                        const double* v, bool choose) {
  const kn_model* m = s->model;
  double eps = 0.0;
  w->step.evaluations++;
  if (w->closed.helds) KN_TRY(differences(&eps, s, w, t, q, v));
  kn_dyn_position(s->data, m, q);
  kn_dyn_velocity(s->data, m, v);
  KN_TRY(forces(s, w, x, t, q, v));
  KN_TRY(kn_dyn_factor(s->data, m, NULL));
  kn_dyn_accelerate(qdd, s->data, m, v, s->force.tau);
  if (w->closed.helds) {
    KN_TRY(refresh(s, w));
    KN_TRY(held_rows(s, w, q, t));
    row_bias(s, w, eps);
    row_velocities(s, w, v, choose);
    for (int g = 0; g < w->closed.helds; g++) {
      kn_held* h = &w->closed.held[g];
      s->sets.keep[g] = h->kind != KN_ROW_LOOP || w->closed.loop_keep[h->index];
      memset(h->f, 0, sizeof h->f);
      memset(h->a, 0, sizeof h->a);
      h->size = INFINITY; /* until it is solved for: rows on nothing that moves stay so */
    }
    KN_TRY(kn_row_islands(s, s->sets.keep));
    memcpy(w->flow.as, qdd, (size_t)m->nv * sizeof(double));
    for (int i = 0; i < s->sets.islands; i++) {
      KN_TRY(solve_island(w->flow.as, s, w, i, choose));
      for (int k = 0; k < m->nv; k++) qdd[k] += s->frame.dv[k];
    }
    for (int g = 0; g < w->closed.helds && choose; g++)
      kn_copy3(w->closed.held[g].s_begin, w->closed.held[g].s);
  }
  powers(s, w, v);
  for (int i = 0; i < m->nv; i++)
    if (!isfinite(qdd[i]))
      return kn_fail(KN_NOT_FINITE, "acceleration of dof %d at t = %g is %g", i, t, qdd[i]);
  return KN_OK;
}
