/* Momentum, positions and loops of a step.

   Stepper `time` (src/step/time/time.c), with q_m = q ⊕ dt/2 v and contacts at their recorded points and frames:
     free         (M(q_m) + extra)(v_f − v) = dt (τ − c(q_m, v_b))
     momentum     (M(q_m) + extra)(v⁺ − v)  = dt (τ − c(q_m, v_b)) + Jᵀp      in a step without impacts
                  M(q⁺)(v⁺ − v_f) = Jᵀp                                       with impacts
     position     q⁺ = q ⊕ dt (v + v⁺)/2, up to the position repair
   Stepper `theta` (src/step/time/theta.c): the same with everything at q, blows included, and q⁺ = q ⊕ dt (θ v⁺ + (1 − θ) v),
   with τ and extra of forces.c, not the recorded ones. Forces of loops and dry joint friction are not
   recorded as such: they are the unknowns of a least-squares problem, so that only what no such force could
   explain counts. Called by verify.c. */
#include <stdlib.h>
#include <string.h>

#include "record/verify/verify.h"

static double clipped(double x, double most) { return x > most ? most : x < -most ? -most : x; }

static double largest(const double* x, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* ---- what acts ---- */

typedef enum which { ALL, SOFT } which;

static void in_world(double out[3], const kn_contact* c, const double x[3]) {
  for (int i = 0; i < 3; i++) out[i] = c->frame[i] * x[0] + c->frame[3 + i] * x[1] + c->frame[6 + i] * x[2];
}

static void take_moments(double* r, double* size, const kn_plain* P, const kn_contact* c) {
  double n[3];
  if (c->moment[0] == 0.0 && c->moment[1] == 0.0 && c->moment[2] == 0.0) return;
  in_world(n, c, c->moment);
  kn_plain_twist(r, size, P, c->body_a, n, 1.0);
  kn_plain_twist(r, size, P, c->body_b, n, -1.0);
}

static void take_contacts(double* r, double* size, const kn_plain* P, const kn_recorded* s, which of) {
  for (int k = 0; k < s->contacts; k++) {
    const kn_contact* c = &s->contact[k];
    double f[3];
    if (of == SOFT && !c->compliant) continue;
    in_world(f, c, c->impulse);
    kn_plain_take(r, size, P, c->body_a, c->point, f, 1.0);
    kn_plain_take(r, size, P, c->body_b, c->point, f, -1.0);
    take_moments(r, size, P, c);
  }
}

/* Limits act on their own coordinate: +p at the lower bound, −p at the upper; of a ball against its turn. */
static void take_limits(double* r, double* size, const kn_model* m, const kn_recorded* s, const double* q) {
  for (int i = 0; i < m->nlimit; i++) {
    const kn_limit* l = &m->limit[i];
    double p = s->limit_impulse[i], axis[3];
    if (p == 0.0) continue;
    kn_plain_limit(axis, m, i, q);
    *size = fmax(*size, fabs(p));
    if (l->side != 0) r[l->v] -= l->side * p;
    for (int k = 0; k < 3 && l->side == 0; k++) r[l->v + k] += axis[k] * p;
  }
}

/* Where a loop's anchor is, in the world. */
static void anchor(double out[3], const kn_plain* P, kn_body body, const double at[3]) {
  for (int i = 0; i < 3; i++) out[i] = at[i];
  if (body == KN_WORLD) return;
  const kn_plain_body* f = &P->body[body];
  for (int i = 0; i < 3; i++)
    out[i] = f->o[i] + f->R[3 * i] * at[0] + f->R[3 * i + 1] * at[1] + f->R[3 * i + 2] * at[2];
}

static void coupling_row(double* row, const kn_model* m, const kn_loop_def* l, const double* q) {
  row[m->link[m->joint_link[l->joint1]].v] = 1.0;
  if (l->joint2 < 0) return;
  const kn_link* b = &m->link[m->joint_link[l->joint2]];
  double x = q[b->q] - m->joint[l->joint2].ref[0], slope = 0.0, power = 1.0;
  for (int i = 1; i < 5; i++, power *= x) slope += i * l->coef[i] * power;
  row[b->v] = -slope;
}

static int rows_of(const kn_loop_def* l) {
  return l->inactive ? 0 : l->type == KN_LOOP_WELD ? 6 : l->type == KN_LOOP_CONNECT ? 3 : 1;
}

/* Rows of the loops' Jacobian at P; the number of rows. */
static int loop_rows(double* J, const kn_plain* P, const double* q) {
  const kn_model* m = P->model;
  int rows = 0;
  size_t n = (size_t)m->nv;
  for (int k = 0; k < m->nloop; k++) {
    const kn_loop_def* l = &m->loop[k];
    double pa[3], pb[3], e[3];
    if (l->type != KN_LOOP_COUPLING) anchor(pa, P, l->a, l->pos_a), anchor(pb, P, l->b, l->pos_b);
    for (int i = 0; i < rows_of(l); i++, rows++) {
      double* row = J + (size_t)rows * n;
      memset(row, 0, n * sizeof *row);
      if (l->type == KN_LOOP_COUPLING) {
        coupling_row(row, m, l, q);
        continue;
      }
      for (int c = 0; c < 3; c++) e[c] = c == i % 3;
      if (l->type == KN_LOOP_DISTANCE)
        for (int c = 0; c < 3; c++) e[c] = pa[c] - pb[c];
      const double* on_b = l->type == KN_LOOP_DISTANCE ? pb : pa;
      if (i < 3) {
        kn_plain_take(row, NULL, P, l->a, pa, e, -1.0);
        kn_plain_take(row, NULL, P, l->b, on_b, e, 1.0);
      } else {
        kn_plain_twist(row, NULL, P, l->a, e, -1.0);
        kn_plain_twist(row, NULL, P, l->b, e, 1.0);
      }
    }
  }
  return rows;
}

/* ---- what no such force explains ---- */

/* Orthonormal rows in place of J; dependent ones become zero (modified Gram-Schmidt, twice). */
static void orthonormal(double* J, int rows, int n) {
  for (int i = 0; i < rows; i++) {
    double *a = J + (size_t)i * (size_t)n, norm = 0.0, before = 0.0;
    for (int d = 0; d < n; d++) before += a[d] * a[d];
    for (int pass = 0; pass < 2; pass++)
      for (int k = 0; k < i; k++) {
        double *b = J + (size_t)k * (size_t)n, x = 0.0;
        for (int d = 0; d < n; d++) x += a[d] * b[d];
        for (int d = 0; d < n; d++) a[d] -= x * b[d];
      }
    for (int d = 0; d < n; d++) norm += a[d] * a[d];
    bool rank = norm > 1e-20 * before && norm > 0.0;
    for (int d = 0; d < n; d++) a[d] = rank ? a[d] / sqrt(norm) : 0.0;
  }
}

/* What is left of r - Jᵀ μ beyond dry friction |f_i| <= dt F_i; half the sum of its squares. */
static double excess(double* left, const kn_verifier* v, const kn_recorded* s, const double* mu, int rows) {
  const kn_model* m = v->model;
  int n = m->nv;
  double sum = 0.0;
  for (int i = 0; i < n; i++) {
    double x = v->r[i];
    for (int k = 0; k < rows; k++) x -= v->J[(size_t)k * (size_t)n + (size_t)i] * mu[k];
    left[i] = x - clipped(x, s->dt * m->friction[i]);
    sum += 0.5 * left[i] * left[i];
  }
  return sum;
}

/* x := H⁻¹ x, H symmetric and positive definite, in place. */
static void solve_small(double* x, double* H, int n) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = H[i * n + j];
      for (int k = 0; k < j; k++) sum -= H[i * n + k] * H[j * n + k];
      H[i * n + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / H[j * n + j];
    }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) x[i] -= H[i * n + k] * x[k];
    x[i] /= H[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) x[i] -= H[k * n + i] * x[k];
    x[i] /= H[i * n + i];
  }
}

/* Newton's step on that sum, J_A J_Aᵀ dμ = J e over the dofs A that are in excess. */
static void excess_step(double* step, kn_verifier* v, const double* left, int rows) {
  int n = v->model->nv;
  double* H = v->H;
  memset(H, 0, (size_t)rows * (size_t)rows * sizeof *H);
  memset(step, 0, (size_t)rows * sizeof *step);
  for (int i = 0; i < n; i++) {
    if (left[i] == 0.0) continue;
    for (int k = 0; k < rows; k++) {
      double a = v->J[(size_t)k * (size_t)n + (size_t)i];
      step[k] += a * left[i];
      for (int j = 0; j < rows; j++) H[k * rows + j] += a * v->J[(size_t)j * (size_t)n + (size_t)i];
    }
  }
  for (int k = 0; k < rows; k++) H[k * (rows + 1)] += 1e-10; /* rows are orthonormal */
  solve_small(step, H, rows);
}

/* Largest part of r, relative to the largest term, that neither dry joint friction nor constraint forces Jᵀ μ
   of the rows explain: the least sum of squares over μ, by Newton's method with halving. J is made
   orthonormal. */
static double momentum_error(kn_verifier* v, const kn_recorded* s, double size, int rows) {
  enum { STEPS = 100 };
  int n = v->model->nv;
  double *left = v->left, *mu = v->mu, *step = mu + rows, *next = step + rows;
  orthonormal(v->J, rows, n);
  for (int k = 0; k < rows; k++) { /* the answer without dry friction */
    mu[k] = 0.0;
    for (int i = 0; i < n; i++) mu[k] += v->J[(size_t)k * (size_t)n + (size_t)i] * v->r[i];
  }
  double sum = excess(left, v, s, mu, rows);
  for (int k = 0; k < STEPS && rows && largest(left, n) > 0.1 * v->tolerance * size; k++) {
    excess_step(step, v, left, rows);
    double share = 1.0, now = sum;
    for (int half = 0; half < 30; half++, share *= 0.5) {
      for (int i = 0; i < rows; i++) next[i] = mu[i] + share * step[i];
      now = excess(left, v, s, next, rows);
      if (now < sum) break;
    }
    if (!(now < sum)) break;
    memcpy(mu, next, (size_t)rows * sizeof *mu);
    sum = now;
  }
  excess(left, v, s, mu, rows);
  return largest(left, n) / fmax(size, 1e-12);
}

/* r = (M + extra)(end − v) − dt (τ − c); the largest term. */
static double impulse_left(kn_verifier* v, const kn_recorded* s, const double* end) {
  int n = v->model->nv;
  double* d = v->scratch;
  memset(v->r, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < n; i++) d[i] = end[i] - s->v_before[i];
  double size = kn_plain_multiply(v->r, &v->mid, v->force.extra, d);
  for (int i = 0; i < n; i++) {
    v->r[i] -= s->dt * (v->force.tau[i] - v->mid.c[i]);
    size = fmax(size, s->dt * fmax(fabs(v->force.tau[i]), fabs(v->mid.c[i])));
  }
  return size;
}

/* The velocity repair of loops at the end of the step, dv = M(q⁺)⁻¹ J(q⁺)ᵀ μ, seen through the step's own
   matrix: rows after those of the midpoint. */
static int repair_rows(kn_verifier* v, const kn_recorded* s, const double* mid) {
  size_t n = (size_t)v->model->nv;
  int rows = loop_rows(v->J, &v->mid, mid);
  if (!rows) return 0;
  double *end = v->J + (size_t)rows * n, *d = v->scratch;
  loop_rows(end, &v->after, s->q);
  for (int k = 0; k < rows; k++, end += n) {
    kn_plain_solve(end, &v->after, NULL);
    memset(d, 0, n * sizeof *d);
    kn_plain_multiply(d, &v->mid, v->force.extra, end);
    memcpy(end, d, n * sizeof *d);
  }
  return 2 * rows;
}

static void check_impact(kn_verifier* v, const kn_recorded* s) {
  int n = v->model->nv;
  double* d = v->scratch;
  memset(v->r, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < n; i++) d[i] = s->v[i] - s->v_free[i];
  double size = kn_plain_multiply(v->r, &v->after, NULL, d);
  for (int i = 0; i < n; i++) size = fmax(size, fabs(kn_plain_inertia(&v->after, i) * s->v_free[i]));
  take_contacts(v->r, &size, &v->after, s, ALL);
  take_limits(v->r, &size, v->model, s, s->q);
  int rows = loop_rows(v->J, &v->after, s->q);
  kn_verifier_report(v, s->step, KN_CHECK_MOMENTUM, momentum_error(v, s, size, rows), v->tolerance * 10.0);
}

/* The velocity at which the velocity-dependent forces were taken, v_b, is the engine's choice: somewhere
   between the velocities of the step, or so near to their mean that the motion of the step does not show it
   (1e-4 rad, src/step/time/forces.c), or the mean of an iteration before: in violent motions a twentieth, and where a step turns bodies by a
   tenth of a radian and more half of what they turn, by which accelerations change within it.
   */
static void check_bias(kn_verifier* v, const kn_recorded* s, bool soft) {
  int n = v->model->nv;
  double most = fmax(largest(s->v_before, n), fmax(largest(s->v_free, n), largest(s->v, n))), worst = 0.0,
         *x = v->spare; /* without the compliant contacts that v_free has */
  for (int i = 0; i < n; i++) x[i] = soft ? s->dt * (v->force.tau[i] - v->mid.c[i]) : 0.0;
  if (soft) kn_plain_solve(x, &v->mid, v->force.extra);
  for (int i = 0; i < n; i++) {
    double free = s->v_before[i] + x[i], low = fmin(fmin(s->v_before[i], free), fmin(s->v_free[i], s->v[i])),
           high = fmax(fmax(s->v_before[i], free), fmax(s->v_free[i], s->v[i]));
    worst = fmax(worst, fmax(low - s->v_bias[i], s->v_bias[i] - high));
  }
  /* limits that stand in one island with compliant contacts turn velocities round within a sub-step, which no guess foresees */
  kn_verifier_report(v, s->step, KN_CHECK_FREE, worst,
                     1e-4 / s->dt + (soft ? 1.0 : fmin(fmax(0.05, 0.5 * s->dt * most), 1.0)) * most);
}

/* A contact that becomes rigid again has its normal velocity taken, in the M-norm (src/step/compliant/hybrid.c): in that step the
   normals of the contacts are unknowns as the loops are. Their rows after those of the loops; how many there are then. */
static int returned_rows(kn_verifier* v, const kn_recorded* s, int rows) {
  bool returns = false;
  size_t n = (size_t)v->model->nv, all = (size_t)rows + (size_t)s->contacts;
  for (int i = 0; i < s->events; i++)
    returns |= s->event[i].kind == KN_EVENT_SWITCH && s->event[i].value < 0.0;
  if (!returns) return rows;
  double *J = realloc(v->J, (all * n + 1) * sizeof *J), *mu = realloc(v->mu, (3 * all + 1) * sizeof *mu),
         *H = realloc(v->H, (all * all + 1) * sizeof *H);
  if (J) v->J = J;
  if (mu) v->mu = mu;
  if (H) v->H = H;
  v->failed |= !J || !mu || !H;
  for (int i = 0; i < s->contacts && J && mu && H; i++, rows++) {
    const kn_contact* c = &s->contact[i];
    double* row = J + (size_t)rows * n;
    memset(row, 0, n * sizeof *row);
    kn_plain_push(row, &v->mid, c, c->frame);
  }
  return rows;
}

bool kn_verify_soft(const kn_recorded* s) {
  for (int i = 0; i < s->contacts; i++)
    if (s->contact[i].compliant) return true;
  return false;
}

/* Compliant contacts move their islands through the step before anything else looks: v_free has their impulses, and those of the
   limits, loops and dry joints that stand in the same islands. */
static double free_error(kn_verifier* v, const kn_recorded* s, const double* mid, bool soft, bool limits) {
  double size = impulse_left(v, s, s->v_free);
  if (soft) take_contacts(v->r, &size, &v->mid, s, SOFT);
  if (limits) take_limits(v->r, &size, v->model, s, mid);
  if (!soft) return largest(v->r, v->model->nv) / fmax(size, 1e-12);
  return momentum_error(v, s, size, loop_rows(v->J, &v->mid, mid));
}

void kn_verify_momentum(kn_verifier* v, const kn_recorded* s, const double* mid) {
  const kn_model* m = v->model;
  double limit = m->nloop ? 1e3 * v->tolerance : v->tolerance, size;
  bool soft = kn_verify_soft(s);
  check_bias(v, s, soft);
  double off = free_error(v, s, mid, soft, false);
  if (soft && off > limit) off = fmin(off, free_error(v, s, mid, soft, true));
  kn_verifier_report(v, s->step, KN_CHECK_FREE, off, limit);
  if (s->impact) {
    check_impact(v, s);
    return;
  }
  size = impulse_left(v, s, s->v);
  take_contacts(v->r, &size, &v->mid, s, ALL);
  take_limits(v->r, &size, m, s, mid);
  int rows = returned_rows(v, s, repair_rows(v, s, mid));
  kn_verifier_report(v, s->step, KN_CHECK_MOMENTUM, momentum_error(v, s, size, rows), limit);
}

/* ---- steps known by their ends ---- */

/* f = dt (τ − c) at a place, with the largest of its terms. */
static double place_force(double* f, kn_verifier* v, const kn_recorded* s, const kn_plain* P, const double* q,
                          const double* rates) {
  double size = s->dt * kn_verify_forces_at(v, s, P, q, rates);
  for (int i = 0; i < v->model->nv; i++) {
    f[i] = s->dt * (v->force.tau[i] - P->c[i]);
    size = fmax(size, s->dt * fabs(P->c[i]));
  }
  return size;
}

/* w += |a − b|. */
static void add_change(double* w, const double* a, const double* b, int n) {
  for (int i = 0; i < n; i++) w[i] += fabs(a[i] - b[i]);
}

bool kn_verify_rolled(double at[3], const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  int points = 0;
  kn_plain_gap g;
  for (int k = 0; k < s->contacts; k++)
    points += s->contact[k].geom_a == c->geom_a && s->contact[k].geom_b == c->geom_b &&
              s->contact[k].impulse[0] != 0.0;
  if (points != 1 || !kn_plain_gap_of(&g, &v->before, c->geom_a, c->geom_b)) return false;
  memcpy(at, g.point, sizeof g.point);
  return true;
}

/* r -= the contacts' impulses at P, `back` seconds before the end of the step, their points carried by the bodies, or rolled; slip: seconds
   for which points that are carried slipped over each body instead. */
static void take_carried(double* r, double* size, const kn_verifier* v, const kn_plain* P,
                         const kn_recorded* s, double back, double slip) {
  for (int k = 0; k < s->contacts; k++) {
    const kn_contact* c = &s->contact[k];
    double f[3], x[2][3] = {{0}}, at[3], from[3];
    bool rolls = kn_verify_rolled(from, v, s, c);
    in_world(f, c, c->impulse);
    take_moments(r, size, P, c);
    for (int side = 0; side < 2; side++)
      kn_plain_velocity(x[side], &v->after, side ? c->body_b : c->body_a, c->point, s->v);
    for (int side = 0; side < 2; side++) {
      for (int i = 0; i < 3; i++)
        at[i] = c->point[i] - back * x[side][i] + slip * (x[1 - side][i] - x[side][i]);
      for (int i = 0; i < 3 && rolls; i++) at[i] = c->point[i] + back / s->dt * (from[i] - c->point[i]);
      kn_plain_take(r, size, P, side ? c->body_b : c->body_a, at, f, side ? -1.0 : 1.0);
    }
  }
}

/* What collided did so at an instant of its own: its lever is off by the way of the point in a step. */
static void add_instants(double* w, const kn_verifier* v, const kn_recorded* s) {
  const kn_plain_plan* plan = &v->plan;
  for (int k = 0; k < s->contacts; k++) {
    const kn_contact* c = &s->contact[k];
    double p = hypot(hypot(c->impulse[0], c->impulse[1]), c->impulse[2]);
    for (int side = 0; side < 2 && c->impact; side++) {
      kn_body b = side ? c->body_b : c->body_a;
      double x[3], y[3];
      if (b == KN_WORLD) continue;
      kn_plain_velocity(x, &v->before, b, c->point, s->v_before);
      kn_plain_velocity(y, &v->after, b, c->point, s->v);
      double way = s->dt * (hypot(hypot(x[0], x[1]), x[2]) + hypot(hypot(y[0], y[1]), y[2]));
      for (int i = plan->chain_at[b]; i < plan->chain_at[b + 1]; i++)
        if (!v->mid.dof[plan->chain[i]].linear) w[plan->chain[i]] += p * way;
    }
  }
}

/* Seen from a body that turns by α in the step, a steady term changes by α²/8 in the middle although its ends may be alike: half the sagitta
   of a circle's arc, both ways. */
static void add_turns(double* w, const kn_verifier* v, const kn_recorded* s, double size) {
  for (int i = 0; i < v->model->nv; i++) {
    double x[3], y[3];
    if (v->mid.dof[i].linear) continue;
    kn_plain_spin(x, &v->before, v->mid.dof[i].body, s->v_before);
    kn_plain_spin(y, &v->after, v->mid.dof[i].body, s->v);
    double a = s->dt * fmax(hypot(hypot(x[0], x[1]), x[2]), hypot(hypot(y[0], y[1]), y[2]));
    w[i] += fmin(a * a / 8.0, 1.0) * size;
  }
}

/* m Δv = dt (m g + inputs) + Σ p of bodies by themselves: no instant and no turn is in it. */
static void check_free_bodies(kn_verifier* v, const kn_recorded* s, double* p) {
  const kn_model* m = v->model;
  double most = 1e-12;
  memset(p, 0, (size_t)m->nv * sizeof *p);
  take_contacts(p, &most, &v->after, s, ALL);
  for (int j = 0; j < m->njoint && !m->nloop && !m->nu; j++) {
    int aq, nq, av, nv;
    if (m->joint[j].type != KN_JOINT_FREE || kn_model_joint_address(&aq, &nq, &av, &nv, m, j) != KN_OK)
      continue;
    if (v->plan.size[v->plan.tree[av]] != 6) continue;
    double mass = 0.0, off = 0.0, moved[3] = {0};
    bool plain = true;
    for (int k = 0; k < 3; k++)
      plain &= m->damping[av + k] == 0.0 && m->stiffness[av + k] == 0.0 && m->friction[av + k] == 0.0;
    for (int b = 0; b < m->nbody && plain; b++) { /* and what is welded to it */
      double x[3], y[3];
      if (kn_plain_tree(&v->plan, b) != v->plan.tree[av]) continue;
      kn_plain_velocity(x, &v->before, b, v->before.body[b].com, s->v_before);
      kn_plain_velocity(y, &v->after, b, v->after.body[b].com, s->v);
      mass += m->body[b].mass;
      for (int k = 0; k < 3; k++) {
        moved[k] += m->body[b].mass * (y[k] - x[k]);
        most = fmax(most, m->body[b].mass * fabs(y[k]));
      }
    }
    for (int k = 0; k < 3 && plain; k++) {
      double given = s->dt * (mass * m->gravity[k] + v->after.carry[av + k] + v->force.input[av + k]);
      off = fmax(off, fabs(moved[k] - given + p[av + k]));
      most = fmax(most, fabs(given));
    }
    /* the velocities of held contacts are repaired by impulses that are not booked, of the integrator's tolerance */
    kn_verifier_report(v, s->step, KN_CHECK_MOMENTUM, off / most, 1e-6);
  }
}

void kn_verify_momentum_ends(kn_verifier* v, const kn_recorded* s, const double* mid) {
  const kn_model* m = v->model;
  int n = m->nv;
  double *first = v->ends, *last = first + n, *w = last + n, *a = w + n, *b = a + n, *d = b + n,
         *mean = v->spare, size, none = 0.0;
  for (int i = 0; i < n; i++) {
    d[i] = s->v[i] - s->v_before[i], mean[i] = 0.5 * (s->v[i] + s->v_before[i]);
    w[i] = v->r[i] = b[i] = 0.0;
  }
  size = fmax(place_force(first, v, s, &v->before, s->q_before, s->v_before),
              place_force(last, v, s, &v->after, s->q, s->v));
  size = fmax(size, place_force(a, v, s, &v->mid, mid, mean));
  add_change(w, first, last, n), add_change(w, a, first, n);
  size = fmax(size, kn_plain_multiply(v->r, &v->mid, NULL, d));
  for (int i = 0; i < n; i++) v->r[i] -= a[i], a[i] = 0.0;
  take_carried(v->r, &size, v, &v->mid, s, 0.5 * s->dt, 0.0);
  take_limits(v->r, &size, m, s, mid);
  kn_plain_multiply(a, &v->before, NULL, d), kn_plain_multiply(b, &v->after, NULL, d);
  take_carried(a, &none, v, &v->before, s, s->dt, s->dt), take_carried(b, &none, v, &v->after, s, 0.0, 0.0);
  add_change(w, a, b, n);
  add_instants(w, v, s);
  add_turns(w, v, s, size);
  momentum_error(v, s, size, loop_rows(v->J, &v->mid, mid));
  double off = 0.0, change = m->nloop ? largest(w, n) : 0.0; /* forces of loops spread it over the dofs */
  for (int i = 0; i < n; i++) off = fmax(off, fabs(v->left[i]) - 2.0 * fmax(w[i], change));
  /* the velocities of held contacts are repaired by impulses that are not booked */
  kn_verifier_report(v, s->step, KN_CHECK_MOMENTUM, off / fmax(size, 1e-12), 1e-6);
  check_free_bodies(v, s, a);
}

/* ---- positions and loops ---- */

void kn_verify_mean(double* mean, const kn_verifier* v, const kn_recorded* s, const double* end) {
  double theta = v->asked.moreau ? v->asked.theta : 0.5;
  for (int i = 0; i < v->model->nv; i++) mean[i] = theta * end[i] + (1.0 - theta) * s->v_before[i];
}

/* way += dt share |M⁻¹ x p|, x in v->spare. */
static void add_push(double* way, kn_verifier* v, const double* extra, double dt_share, double p) {
  kn_plain_solve(v->spare, &v->mid, extra);
  for (int i = 0; i < v->model->nv; i++) way[i] += dt_share * fabs(p * v->spare[i]);
}

void kn_verify_pushes(double* way, kn_verifier* v, const kn_recorded* s, const double* extra, bool all) {
  double* x = v->spare;
  size_t n = (size_t)v->model->nv * sizeof *x;
  for (int k = 0; k < s->contacts; k++) {
    const kn_contact* c = &s->contact[k];
    for (int j = 0; j < 3 && (all || c->compliant); j++) {
      memset(x, 0, n);
      kn_plain_push(x, &v->mid, c, c->frame + 3 * j);
      add_push(way, v, extra, s->dt * (j ? fmin(c->mu, 1e3) : 0.5), c->impulse[0]);
    }
  }
  for (int k = 0; k < v->model->nv; k++) {
    if (!(v->model->friction[k] > 0.0)) continue;
    memset(x, 0, n);
    x[k] = 1.0;
    add_push(way, v, extra, s->dt, s->dt * v->model->friction[k]);
  }
  for (int k = 0; k < v->model->nlimit; k++) {
    const kn_limit* l = &v->model->limit[k];
    for (int j = 0; j < (l->side ? 1 : 3) && s->limit_impulse[k] != 0.0; j++) {
      memset(x, 0, n);
      x[l->v + j] = 1.0;
      add_push(way, v, extra, 0.5 * s->dt, s->limit_impulse[k]);
    }
  }
}

double kn_verify_off(const kn_model* m, const double* a, const double* b, const double* way) {
  double worst = 0.0;
  for (int j = 0; j < m->njoint; j++) {
    int aq, nq, av, nv;
    double turn = 0.0;
    if (kn_model_joint_address(&aq, &nq, &av, &nv, m, j) != KN_OK) continue;
    int straight =
        nq == nv ? nq : nq - 4; /* a quaternion moves by half its angle, of any of its three dofs */
    for (int k = straight; k < nv; k++) turn += way[av + k];
    for (int k = 0; k < straight; k++) worst = fmax(worst, fabs(a[aq + k] - b[aq + k]) - way[av + k]);
    for (int k = straight; k < nq; k++) worst = fmax(worst, fabs(a[aq + k] - b[aq + k]) - turn);
  }
  return worst;
}

void kn_verify_position(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  double *mean = v->scratch, *q = v->scratch + m->nv, *way = v->ends, size = 1.0;
  kn_verify_mean(mean, v, s, s->impact ? s->v_free : s->v);
  kn_plain_advance(q, m, s->q_before, mean, s->dt);
  for (int i = 0; i < m->nq; i++) size = fmax(size, fabs(s->q[i]));
  /* the repair may move by its M-norm over the root of the least inertia; loops also turn the mean velocity
   */
  double least = INFINITY;
  for (int i = 0; i < m->nv; i++) least = fmin(least, kn_plain_inertia(&v->mid, i)), way[i] = 0.0;
  double allowed =
      1e-12 * size + (s->correction > 0.0 ? 10.0 * s->correction / sqrt(fmax(least, 1e-300)) : 0.0);
  if (m->nloop) allowed += 1e-5;
  if (kn_verify_soft(s)) kn_verify_pushes(way, v, s, v->force.extra, false);
  kn_verifier_report(v, s->step, KN_CHECK_POSITION, kn_verify_off(m, q, s->q, way), allowed);
}

static double coupling_open(const kn_model* m, const kn_loop_def* l, const double* q) {
  const kn_link *a = &m->link[m->joint_link[l->joint1]],
                *b = l->joint2 >= 0 ? &m->link[m->joint_link[l->joint2]] : NULL;
  double x = b ? q[b->q] - m->joint[l->joint2].ref[0] : 0.0, y = 0.0, power = 1.0;
  for (int i = 0; i < 5; i++, power *= x) y += l->coef[i] * power;
  return fabs(q[a->q] - m->joint[l->joint1].ref[0] - y);
}

static bool still(const kn_loop_def* l) { return !l->inactive && l->motion.kind == KN_MOTION_NONE; }

/* How far the loops at rest are open, m or rad, at P. */
static double loops_open(const kn_plain* P, const double* q) {
  const kn_model* m = P->model;
  double worst = 0.0;
  for (int k = 0; k < m->nloop; k++) {
    const kn_loop_def* l = &m->loop[k];
    double a[3], b[3], d = 0.0;
    if (!still(l)) continue;
    if (l->type == KN_LOOP_COUPLING) {
      worst = fmax(worst, coupling_open(m, l, q));
      continue;
    }
    anchor(a, P, l->a, l->pos_a), anchor(b, P, l->b, l->pos_b);
    for (int i = 0; i < 3; i++) d += (a[i] - b[i]) * (a[i] - b[i]);
    worst = fmax(worst, l->type == KN_LOOP_DISTANCE ? fabs(sqrt(d) - l->length) : sqrt(d));
  }
  return worst;
}

void kn_verify_loops(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  if (!m->nloop) return;
  double before = loops_open(&v->before, s->q_before), open = loops_open(&v->after, s->q), speed = 0.0;
  /* a model whose loops do not meet at the start is brought together over some steps */
  kn_verifier_report(v, s->step, KN_CHECK_LOOP, open, fmax(1e-6, before));
  bool moves = false;
  for (int k = 0; k < m->nloop; k++) moves |= !still(&m->loop[k]) && !m->loop[k].inactive;
  if (moves || v->off[KN_CHECK_MOMENTUM]) return; /* their velocity is U(t), or is not that of the scheme */
  int rows = loop_rows(v->J, &v->after, s->q), n = m->nv;
  double most = 1e-6;
  for (int k = 0; k < rows; k++) {
    double u = 0.0;
    for (int i = 0; i < n; i++) {
      u += v->J[(size_t)k * (size_t)n + (size_t)i] * s->v[i];
      most = fmax(most, fabs(v->J[(size_t)k * (size_t)n + (size_t)i] * s->v[i]));
    }
    speed = fmax(speed, fabs(u));
  }
  /* Redundant loops leave what the projection of velocities cannot take: rows of a model file with seven digits do not quite
     meet, and their directions differ by that gap over a lever, a centimetre or more. */
  kn_verifier_report(v, s->step, KN_CHECK_LOOP, speed / most, fmax(1e-9, 100.0 * open));
}
