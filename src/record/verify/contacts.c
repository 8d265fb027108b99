/* Conditions on the contacts and limits of a step: they push, friction stays in its cone and works against
   slip, what is closed does not approach, what carries does not open. All velocities are the verifier's own,
   J v⁺; mu and e are the model's. Called by verify.c. */
#include <stdlib.h>
#include <string.h>

#include "record/verify/verify.h"

void kn_contact_relative(double u[3], const kn_plain* P, const kn_contact* c, const double* v) {
  double a[3], b[3];
  kn_plain_velocity(a, P, c->body_a, c->point, v);
  kn_plain_velocity(b, P, c->body_b, c->point, v);
  for (int j = 0; j < 3; j++) {
    u[j] = 0.0;
    for (int i = 0; i < 3; i++) u[j] += c->frame[3 * j + i] * (a[i] - b[i]);
  }
}

void kn_contact_spin(double w[3], const kn_plain* P, const kn_contact* c, const double* v) {
  double a[3], b[3];
  kn_plain_spin(a, P, c->body_a, v);
  kn_plain_spin(b, P, c->body_b, v);
  for (int j = 0; j < 3; j++) {
    w[j] = 0.0;
    for (int i = 0; i < 3; i++) w[j] += c->frame[3 * j + i] * (a[i] - b[i]);
  }
}

static double length(const double* x, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

kn_slip kn_slip_of(const kn_verifier* v, const kn_contact* c, const double u[3], const double w[3]) {
  kn_surface k = kn_surface_of(v->sweep, c->geom_a, c->geom_b);
  const double length_of[3] = {k.torsion, k.roll, k.roll};
  double second = k.mu2 == k.mu ? 1.0 : k.mu2 / k.mu;
  bool stray = false;
  kn_slip x = {.u = {u[1], second * u[2]}, .p = {c->impulse[1], c->impulse[2] / second}};
  x.spins = k.torsion > 0.0 || k.roll > 0.0;
  for (int i = 0; i < 3; i++) {
    double scale = length_of[i] > 0.0 ? length_of[i] / k.mu : 0.0;
    stray |= scale == 0.0 && c->moment[i] != 0.0;
    if (scale > 0.0) x.u[2 + i] = scale * w[i], x.p[2 + i] = c->moment[i] / scale;
  }
  x.speed = x.spins ? length(x.u, 5) : hypot(x.u[0], x.u[1]);
  x.force = stray ? INFINITY : x.spins ? length(x.p, 5) : hypot(x.p[0], x.p[1]);
  return x;
}

double kn_speed_scale(const kn_verifier* v, const kn_recorded* s) {
  double u = fmax(1e-6, kn_plain_length(v->model->gravity) * s->dt);
  for (int i = 0; i < v->model->nv; i++) u = fmax(u, fmax(fabs(s->v[i]), fabs(s->v_before[i])));
  return u;
}

void kn_contact_compliance(double W[9], kn_verifier* v, const kn_recorded* s, kn_plain* P,
                           const kn_contact* c) {
  size_t n = (size_t)v->model->nv;
  double* x = v->spare;
  for (int j = 0; j < 3; j++) {
    memset(x, 0, n * sizeof *x);
    kn_plain_push(x, P, c, c->frame + 3 * j);
    kn_plain_solve(x, P, s->impact ? NULL : v->force.extra);
    double u[3];
    kn_contact_relative(u, P, c, x);
    for (int i = 0; i < 3; i++) W[3 * i + j] = u[i];
  }
}

/* Root of the largest compliance of the contact's rows: velocity per unit of the solver's scaled residual. */
static double root_compliance(kn_verifier* v, const kn_recorded* s, kn_plain* P, const kn_contact* c) {
  double W[9], most, *x = v->spare;
  kn_surface k = kn_surface_of(v->sweep, c->geom_a, c->geom_b);
  const double length_of[3] = {k.torsion, k.roll, k.roll};
  size_t n = (size_t)v->model->nv * sizeof *x;
  kn_contact_compliance(W, v, s, P, c);
  most = fmax(W[0], fmax(W[4], W[8]));
  for (int j = 0; j < 3; j++) { /* and of its turning, in the same unit */
    if (!(length_of[j] > 0.0)) continue;
    double w[3], scale = length_of[j] / k.mu;
    memset(x, 0, n);
    kn_plain_twist(x, NULL, P, c->body_a, c->frame + 3 * j, -scale);
    kn_plain_twist(x, NULL, P, c->body_b, c->frame + 3 * j, scale);
    kn_plain_solve(x, P, s->impact ? NULL : v->force.extra);
    kn_contact_spin(w, P, c, x);
    most = fmax(most, scale * w[j]);
  }
  return sqrt(most);
}

/* What the residual that a step may have (1e-6 at most, which is checked) allows a contact's velocity to
   miss, m/s: it is relative to the largest impulse in these units, or to that of a limit or a dry joint,
   which is not looked for (100). */
static double allowance(kn_verifier* v, const kn_recorded* s, kn_plain* P, double root) {
  if (v->stiffest < 0.0) {
    v->stiffest = 0.0;
    for (int i = 0; i < s->contacts; i++)
      v->stiffest =
          fmax(v->stiffest, fabs(s->contact[i].impulse[0]) * root_compliance(v, s, P, &s->contact[i]));
  }
  return 100.0 * s->residual * v->stiffest * root;
}

/* As root_compliance, of a joint's limit; dir: of its dofs from l->v on. */
static double root_of_limit(kn_verifier* v, const kn_limit* l, const double* dir) {
  double *x = v->spare, sum = 0.0;
  int n = l->side ? 1 : 3;
  memset(x, 0, (size_t)v->model->nv * sizeof *x);
  memcpy(x + l->v, dir, (size_t)n * sizeof *x);
  kn_plain_solve(x, &v->mid, v->force.extra);
  for (int k = 0; k < n; k++) sum += dir[k] * x[l->v + k];
  return sqrt(fmax(sum, 0.0));
}

double kn_off_surface(const kn_plain* P, const kn_contact* c) {
  double most = 0.0, back[3];
  for (int i = 0; i < 3; i++) back[i] = -c->frame[i];
  for (int side = 0; side < 2; side++) {
    double off =
        kn_plain_off(P, side ? c->geom_b : c->geom_a, c->point, side ? c->frame : back, 0.5 * c->gap);
    if (isfinite(off)) most = fmax(most, off);
  }
  return most;
}

/* A contact or limit that carried load in the step before and is nearly closed need not close: the repair of
   positions holds it (src/step/time/hold.c). Nor does one that is closed but for what a repair leaves, whatever it
   carried (asked.closed). */
static const double HELD = 1e-4; /* m or rad */

static uint64_t feature_of(const kn_contact* c) { return c->key >> 3; }

/* The first loaded contact whose feature is not below this one: those of the feature follow each other. */
static int first_loaded(const kn_verifier* v, uint64_t feature) {
  int low = 0, high = v->loaded.contacts;
  while (low < high) {
    int k = low + (high - low) / 2;
    if (v->loaded.contact[k].feature < feature)
      low = k + 1;
    else
      high = k;
  }
  return low;
}

static bool is_loaded(const kn_verifier* v, int k, uint64_t feature) {
  return k < v->loaded.contacts && v->loaded.contact[k].feature == feature;
}

static bool was_loaded(const kn_verifier* v, const kn_contact* c) {
  return !v->last.started || is_loaded(v, first_loaded(v, feature_of(c)), feature_of(c));
}

/* Rows of the contact at P when the dofs move with x: the normal's velocity, and the slip in the world. */
static double row_velocity(double slip[3], const kn_plain* P, const kn_contact* c, const double* x) {
  double u[3];
  kn_contact_relative(u, P, c, x);
  for (int i = 0; i < 3; i++) slip[i] = c->frame[3 + i] * u[1] + c->frame[6 + i] * u[2];
  return u[0];
}

/* now − before along the rows of the contact as it is now, in the world: of a normal that turned, the slip of before has
   a part that is none any more. Returns its size. */
static double row_change(double D[3], const kn_contact* c, double normal, const double now[3],
                         double normal_before, const double before[3]) {
  const double* n = c->frame;
  double d[3] = {now[0] - before[0], now[1] - before[1], now[2] - before[2]};
  double off = normal - normal_before - (n[0] * d[0] + n[1] * d[1] + n[2] * d[2]);
  for (int i = 0; i < 3; i++) D[i] = d[i] + off * n[i];
  return hypot(hypot(D[0], D[1]), D[2]);
}

/* Rows of a contact that stays loaded change while it travels, D = (J_m - J_m') v from midpoint to midpoint, and the step closes
   them at its end and not at its middle (src/step/time/travel.c): there J_m v+ is off by a share of D and of the D before. Returns
   |D| + |D'|, m/s: no more than that is the travel's, but where D grows fast: of δ and of the drift that is foreseen, which is at
   most D/4 and changes by half of itself, ¾ |D| + ¼ |D'| + ¼ (1 + 3/2 · ½) |D|. Nothing for contacts that are new. */
static double travel(double D[3], const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  double now[3], before[3], least = INFINITY, bound = 0.0,
                            normal = row_velocity(now, &v->mid, c, s->v_before);
  D[0] = D[1] = D[2] = 0.0;
  if (!v->last.started) { /* the point was carried, or it rolled */
    double normal_before = row_velocity(before, &v->before, c, s->v_before), d[3];
    kn_contact rolled = *c;
    bound = row_change(D, c, normal, now, normal_before, before);
    if (!kn_verify_rolled(rolled.point, v, s, c)) return bound;
    normal_before = row_velocity(before, &v->before, &rolled, s->v_before);
    return fmax(bound, row_change(d, c, normal, now, normal_before, before));
  }
  uint64_t feature = feature_of(c);
  for (int k = first_loaded(v, feature); is_loaded(v, k, feature); k++) {
    const kn_verify_loaded* m = &v->loaded.contact[k];
    double d[3], size = row_change(d, c, normal, now, m->normal, m->slip);
    if (size >= least) continue; /* of several points of a feature the one it was */
    least = size;
    double last = hypot(hypot(m->change[0], m->change[1]), m->change[2]);
    bound = fmax(size + last, 1.1875 * size + 0.25 * last);
    memcpy(D, d, sizeof d);
  }
  return bound;
}

/* Velocities that the travel may have left count as none. Returns its bound. */
static double without_travel(double u[3], const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  double D[3], bound = travel(D, v, s, c), slip = hypot(u[1], u[2]),
               share = slip > bound ? 1.0 - bound / slip : 0.0;
  u[0] = copysign(fmax(fabs(u[0]) - bound, 0.0), u[0]);
  u[1] *= share, u[2] *= share;
  return bound;
}

double kn_verify_travelled(const kn_verifier* v, const kn_recorded* s) {
  double work = 0.0, D[3];
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    work += kn_plain_length(c->impulse) * travel(D, v, s, c);
  }
  return work;
}

static int by_feature(const void* a, const void* b) {
  const kn_verify_loaded *x = a, *y = b;
  return x->feature < y->feature ? -1 : x->feature > y->feature;
}

static void keep_loaded(kn_verifier* v, const kn_recorded* s) {
  kn_verify_loaded* kept = malloc((size_t)s->contacts * sizeof *kept + 1);
  int n = 0;
  v->failed |= !kept;
  for (int i = 0; i < s->contacts && kept; i++) {
    const kn_contact* c = &s->contact[i];
    if (!(c->impulse[0] > 0.0)) continue;
    kept[n].normal = row_velocity(kept[n].slip, &v->mid, c, s->v);
    travel(kept[n].change, v, s, c);
    kept[n++].feature = feature_of(c);
  }
  if (n) qsort(kept, (size_t)n, sizeof *kept, by_feature);
  free(v->loaded.contact);
  v->loaded.contact = kept, v->loaded.contacts = n;
  for (int i = 0; i < v->model->nlimit; i++) v->loaded.limit[i] = s->limit_impulse[i];
}

typedef struct conditions {
  double approach; /* speed at which it would still close, m/s: negative is wrong */
  double both;     /* opens and carries */
  double against, inside;
} conditions;

/* With N directions the friction is that of a polygon inside the circle: up to 1 - cos(π/N) of it may be
   missing, and the force may be as far off the direction of slip. w: spin, in the frame. */
static conditions conditions_of(const kn_verifier* v, const kn_contact* c, double mu, const double u[3],
                                const double w[3], double p_scale, double u_scale, double landing) {
  kn_slip t = kn_slip_of(v, c, u, w);
  double p_n = c->impulse[0], share = v->asked.friction ? cos(M_PI / v->asked.friction) : 1.0, power = 0.0;
  conditions x = {.approach = u[0] + landing};
  for (int i = 0; i < 5; i++) power += t.u[i] * t.p[i];
  x.both = fmin(fmax(x.approach, 0.0) / u_scale, p_n / p_scale);
  x.against = isfinite(t.force) ? (power + share * t.speed * t.force) / (u_scale * p_scale) : 0.0;
  x.inside = isfinite(mu) ? fmin(t.speed / u_scale, (share * mu * p_n - t.force) / p_scale) : 0.0;
  return x;
}

static double off_normal(const conditions* x, double u_scale) {
  return fmax(-x->approach / u_scale, x->both);
}

/* The most power that a travel of `bound` m/s, which was taken off the slip, may leave, W s. Of slip along its own direction: bound times the force. With
   spin the direction of the whole is changed: u without the travel is at most 2 bound from what the step solved for, and u·p + |u||p|,
   zero there, changes by at most twice that times the force. */
static double unknown_travel(const kn_verifier* v, const kn_contact* c, double bound) {
  kn_surface k = kn_surface_of(v->sweep, c->geom_a, c->geom_b);
  kn_slip t = kn_slip_of(v, c, (double[3]){0}, (double[3]){0});
  if (!isfinite(t.force)) return 0.0;
  return (t.spins || k.mu2 != k.mu ? 4.0 : 1.0) * bound * (k.mu2 > k.mu ? k.mu2 / k.mu : 1.0) * t.force;
}

/* What the step may have asked of the contact: to land, to rest but for its travel, or, where it stays loaded, to do
   no work, J (v + v⁺) = 0, normally or along the surfaces (src/step/time/travel.c, kn_travel_bias). The last is an
   equation of J_m v⁺ itself and takes nothing off for the travel. u = J v⁺. */
static conditions best_conditions(const kn_verifier* v, const kn_recorded* s, const kn_contact* c,
                                  const kn_plain* P, const double u[3], const double w[3], double mu,
                                  double p_scale, double u_scale) {
  double rest[3] = {u[0], u[1], u[2]}, before[3];
  double bound = s->impact ? 0.0 : without_travel(rest, v, s, c);
  conditions x = conditions_of(v, c, mu, rest, w, p_scale, u_scale, 2.0 * fmax(c->gap, 0.0) / s->dt), y;
  x.against -= unknown_travel(v, c, bound) / (u_scale * p_scale);
  y = conditions_of(v, c, mu, u, w, p_scale, u_scale,
                    2.0 * fmax(c->gap, 0.0) / s->dt); /* what lands does not travel */
  if (off_normal(&y, u_scale) < off_normal(&x, u_scale)) x.approach = y.approach, x.both = y.both;
  bool loaded = c->gap < HELD && was_loaded(v, c);
  if (s->impact || !(loaded || c->gap < v->asked.closed)) return x;
  y = conditions_of(v, c, mu, rest, w, p_scale, u_scale, 0.0);
  if (off_normal(&y, u_scale) < off_normal(&x, u_scale)) x.approach = y.approach, x.both = y.both;
  if (!loaded) return x;
  kn_contact_relative(before, P, c, s->v_before);
  double none[3] = {u[0], u[1] + before[1], u[2] + before[2]};
  y = conditions_of(v, c, mu, none, w, p_scale, u_scale, before[0]);
  if (before[0] >= 0.0 && off_normal(&y, u_scale) < off_normal(&x, u_scale))
    x.approach = y.approach, x.both = y.both;
  if (fmax(y.against, y.inside) < fmax(x.against, x.inside)) x.against = y.against, x.inside = y.inside;
  return x;
}

/* `theta`: a contact or limit that closes within half a step takes part, 0 <= u⁺ + e u ⊥ p >= 0; any other carries nothing. Gaps of
   a nanometre and less count as closed or not by what the repair left. */
static const double BORDER = 2e-9; /* m or rad */

static conditions moreau_conditions(const kn_verifier* v, const kn_recorded* s, const kn_contact* c,
                                    const kn_plain* P, const double u[3], const double w[3], double mu,
                                    double p_scale, double u_scale) {
  double before[3], e = kn_surface_of(v->sweep, c->geom_a, c->geom_b).e;
  kn_contact_relative(before, P, c, s->v_before);
  double reach = c->gap + 0.5 * s->dt * before[0];
  conditions x = conditions_of(v, c, mu, u, w, p_scale, u_scale, v->asked.any_e ? -u[0] : e * before[0]);
  if (reach > BORDER) x = (conditions){.both = fabs(c->impulse[0]) / p_scale};
  if (fabs(reach) <= BORDER && c->impulse[0] == 0.0) x = (conditions){0};
  return x;
}

/* The force is outside its cone by no more than (1 + mu) of its distance to it, which is at most the residual that the step says,
   relative to the largest impulse, both in the solver's units (root_compliance; 10: those of the normal and of the tangents differ). */
static void check_cone(kn_verifier* v, const kn_recorded* s, const kn_contact* c, kn_plain* P, double outside,
                       double mu, double p_scale, double eps) {
  if (outside / p_scale > eps) {
    double root = root_compliance(v, s, P, c), most = allowance(v, s, P, root) / (root * root);
    eps = fmin(fmax(eps, 0.1 * (1.0 + mu) * most / p_scale), 1e-4);
  }
  kn_verifier_report(v, s->step, KN_CHECK_CONE, outside / p_scale, eps);
}

static void check_contact(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double p_scale,
                          double u_scale) {
  kn_plain* P = s->impact ? &v->after : &v->mid;
  double u[3], w[3], p_n = c->impulse[0];
  double mu = kn_surface_of(v->sweep, c->geom_a, c->geom_b).mu;
  /* a step that says so may be 1e-8 off, in an island whose joint limits carry a hundred times as much */
  double eps = fmin(fmax(1e-7, 100.0 * s->residual), 1e-6), loose = eps;
  kn_contact_relative(u, P, c, s->v);
  kn_contact_spin(w, P, c, s->v);
  if (v->model->nloop) { /* the velocity repair of the loops comes after the contacts; where contacts jam a
                            mechanism it may turn velocities round, which changes them by twice their size */
    double off = 0.0;
    for (int i = 0; i < 3; i++) off = fmax(off, fabs(u[i] - c->velocity[i]));
    if (!s->impact) kn_verifier_report(v, s->step, KN_CHECK_APPROACH, off / u_scale, 2.0);
    memcpy(u, c->velocity, sizeof u);
    memcpy(w, c->spin, sizeof w);
  }
  kn_verifier_report(v, s->step, KN_CHECK_PULL, -p_n / p_scale, eps);
  if (isfinite(mu))
    check_cone(v, s, c, P, kn_slip_of(v, c, u, w).force - mu * fmax(p_n, 0.0), mu, p_scale, eps);
  double off = kn_off_surface(P, c);
  if (s->impact) off = fmin(off, kn_off_surface(&v->flight, c));
  kn_verifier_report(v, s->step, KN_CHECK_POINT, off, 1e-6 + v->soft.offset);
  if (c->compliant) {
    kn_verify_compliant(v, s, c, p_scale);
    return;
  }
  conditions x = v->asked.moreau ? moreau_conditions(v, s, c, P, u, w, mu, p_scale, u_scale)
                                 : best_conditions(v, s, c, P, u, w, mu, p_scale, u_scale);
  /* a fingertip of a gram gives way a hundred times as easily as the robot it belongs to */
  if (fmax(fmax(-x.approach / u_scale, x.both), fmax(x.against, x.inside)) > eps)
    loose = fmin(fmax(eps, allowance(v, s, P, root_compliance(v, s, P, c)) / u_scale), 1e-4);
  if (s->impact) { /* what collided parts: bounces.c has the rest */
    kn_verifier_report(v, s->step, KN_CHECK_APPROACH, p_n > 0.0 ? -u[0] / u_scale : 0.0, fmax(loose, 1e-6));
  } else {
    kn_verifier_report(v, s->step, KN_CHECK_APPROACH, -x.approach / u_scale, loose);
    kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, x.both, loose);
    kn_verifier_report(v, s->step, KN_CHECK_SLIP, x.against, loose);
    kn_verifier_report(v, s->step, KN_CHECK_SLIP, x.inside, loose);
  }
}

static void moreau_limit(kn_verifier* v, const kn_recorded* s, const kn_limit* l, const double axis[3],
                         double gap, double u, double p, double u_scale, double eps) {
  double reach = gap + 0.5 * s->dt * kn_plain_limit_rate(l, axis, s->v_before);
  if (reach > BORDER) kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, p, eps);
  if (reach > -BORDER && p == 0.0) return;
  kn_verifier_report(v, s->step, KN_CHECK_APPROACH, -u / u_scale, eps);
  kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, fmin(fmax(u, 0.0) / u_scale, p), eps);
}

/* v side + 2 max(gap, 0)/dt >= 0 ⊥ p >= 0 of every limit, as of a contact. */
static void check_limit(kn_verifier* v, const kn_recorded* s, int i, const double* mid, double held,
                        double u_scale) {
  const kn_limit* l = &v->model->limit[i];
  double axis[3], p = s->limit_impulse[i], gap = kn_plain_limit(axis, v->model, i, mid);
  kn_verifier_report(v, s->step, KN_CHECK_PULL, -p / held, 1e-6);
  if (s->impact) return;
  double u = kn_plain_limit_rate(l, axis, s->v), approach = u + 2.0 * fmax(gap, 0.0) / s->dt,
         eps = v->model->nloop ? 1.0 : 1e-6;
  if (v->asked.moreau) {
    moreau_limit(v, s, l, axis, gap, u, p / held, u_scale, eps);
    return;
  }
  if (p == 0.0 &&
      gap > v->asked.gtol) { /* the impulses of others may bring an open limit within reach: the repair of
                                            positions has to take it back, from 5 mrad or mm at most */
    kn_verifier_report(v, s->step, KN_CHECK_APPROACH, -0.5 * s->dt * approach, 5e-3);
    return;
  }
  bool loaded = gap < HELD && (v->loaded.limit[i] > 0.0 || !v->last.started);
  /* as of a contact: it rests, or it gets back the work it was given */
  double before = kn_plain_limit_rate(l, axis, s->v_before);
  if ((loaded || gap < v->asked.closed) && fabs(u) < fabs(approach)) approach = u;
  if (loaded && before > 0.0 && fabs(u + before) < fabs(approach)) approach = u + before;
  double both = fmin(fmax(approach, 0.0) / u_scale, p / held);
  if (kn_verify_soft(
          s)) { /* it lands, and may part again, in a sub-step of its island. Until then it went from the middle of the step to zero with
                              its mean velocity of that time, -2 gap/dt, which differs from the last one by no more than what changed in the step
                              (twice: there and back) */
    double free = kn_plain_limit_rate(l, axis, s->v_free);
    double change = 2.0 * (fabs(u - before) + fabs(free - before));
    kn_verifier_report(v, s->step, KN_CHECK_APPROACH, (-approach - change) / u_scale, eps);
    return;
  }
  if (fmax(-approach / u_scale, both) > eps) { /* the finger of a gram again */
    double dir[3] = {l->side ? l->side : -axis[0], -axis[1], -axis[2]};
    eps = fmin(fmax(eps, allowance(v, s, &v->mid, root_of_limit(v, l, dir)) / u_scale), 1e-4);
  }
  kn_verifier_report(v, s->step, KN_CHECK_APPROACH, -approach / u_scale, eps);
  kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, both, eps);
}

void kn_verify_contacts(kn_verifier* v, const kn_recorded* s, const double* mid) {
  double p = 1e-12, u = kn_speed_scale(v, s);
  for (int i = 0; i < s->contacts; i++) p = fmax(p, fabs(s->contact[i].impulse[0]));
  double held = p; /* limits and loops stand in one problem with the contacts: one scale of rounding */
  for (int i = 0; i < v->model->nlimit; i++) held = fmax(held, fabs(s->limit_impulse[i]));
  for (int i = 0; i < s->loops; i++) held = fmax(held, fabs(s->loop_impulse[i]));
  for (int i = 0; i < v->model->nv; i++) held = fmax(held, 1e-3 * s->dt * fabs(v->mid.c[i]));
  v->stiffest = -1.0;
  for (int i = 0; i < s->contacts; i++) check_contact(v, s, &s->contact[i], p, u);
  for (int i = 0; i < v->model->nlimit; i++) check_limit(v, s, i, mid, held, u);
  keep_loaded(v, s);
}
