/* Checking a recording step by step.

   Stepper `time` (src/step/time/time.c), with q_m = q ⊕ dt/2 v, contacts given at their recorded points and
   frames: momentum   (M(q_m) + extra)(v⁺ − v) = dt (τ − c(q_m, v_b)) + Jᵀp     in a step without impacts
                (M(q_m) + extra)(v_f − v) = dt (τ − c(q_m, v_b)),  M(q⁺)(v⁺ − v_f) = Jᵀp   with impacts
     position   q⁺ = q ⊕ dt (v + v⁺)/2, up to the position repair
   and for every contact: p_n >= 0, |p_t| <= μ p_n, the approach velocity and p_n complementary, friction
   against slip, the contact point on both surfaces (of an impact: where the flight ended or where the repair
   put the bodies down, since contacts that the repair parted collide all the same); loops closed; the
   ledger's columns sum to zero and its energies are the mechanism's own. Dry joint friction is not reported,
   so that a dof with friction f may miss momentum by dt f. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "record/frame.h"
#include "record/verify/verify.h"

static void report(kn_verifier* v, int64_t step, const char* check, double value, double limit) {
  if (!(value <= limit)) v->found(v->context, step, check, value, limit);
}

/* ---- momentum ---- */

/* r -= Jᵀ p of the contacts at mechanism state P; *size gathers the largest impulse. */
static void take_contacts(double* r, double* size, const kn_plain* P, const kn_recorded* s) {
  for (int k = 0; k < s->contacts; k++) {
    const kn_contact* c = &s->contact[k];
    double f[3] = {0, 0, 0}, a[3], b[3];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) f[i] += c->frame[3 * j + i] * c->impulse[j];
    for (int d = 0; d < P->model->nv; d++) {
      kn_plain_column(a, P, c->body_a, c->point, d);
      kn_plain_column(b, P, c->body_b, c->point, d);
      double x = 0.0;
      for (int i = 0; i < 3; i++) x += (a[i] - b[i]) * f[i];
      r[d] -= x;
      *size = fmax(*size, fabs(x));
    }
  }
}

/* Limits act on their own coordinate: +p at the lower bound, −p at the upper. Ball limits are left to the
 * loop space. */
static void take_limits(double* r, double* size, const kn_model* m, const kn_recorded* s) {
  for (int i = 0; i < m->nlimit; i++) {
    double x = m->limit[i].side * s->limit_impulse[i];
    r[m->limit[i].v] -= x;
    *size = fmax(*size, fabs(x));
  }
}

/* Rows of the loops' Jacobian at P; the number of rows. */
static int loop_rows(double* J, const kn_plain* P) {
  const kn_model* m = P->model;
  int rows = 0, n = m->nv;
  for (int k = 0; k < m->nloop; k++) {
    const kn_loop_def* l = &m->loop[k];
    if (l->inactive) continue;
    if (l->type == KN_LOOP_COUPLING) {
      double* row = J + (size_t)rows++ * (size_t)n;
      memset(row, 0, (size_t)n * sizeof *row);
      row[m->link[m->joint_link[l->joint1]].v] = 1.0;
      if (l->joint2 >= 0)
        row[m->link[m->joint_link[l->joint2]].v] = NAN; /* slope depends on q: filled by the caller */
      continue;
    }
    double pa[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
      pa[i] = l->pos_a[i];
      if (l->a != KN_WORLD) {
        const kn_plain_body* f = &P->body[l->a];
        pa[i] = f->o[i] + f->R[3 * i] * l->pos_a[0] + f->R[3 * i + 1] * l->pos_a[1] +
                f->R[3 * i + 2] * l->pos_a[2];
      }
    }
    int turn = l->type == KN_LOOP_WELD ? 3 : 0;
    for (int i = 0; i < 3 + turn; i++) {
      double* row = J + (size_t)rows++ * (size_t)n;
      for (int d = 0; d < n; d++) {
        double a[3], b[3];
        if (i < 3)
          kn_plain_column(a, P, l->a, pa, d), kn_plain_column(b, P, l->b, pa, d);
        else
          kn_plain_spin(a, P, l->a, d), kn_plain_spin(b, P, l->b, d);
        row[d] = a[i % 3] - b[i % 3];
      }
    }
  }
  return rows;
}

static void couplings(double* J, int rows, const kn_model* m, const double* q) {
  int row = 0;
  static const int size[] = {
      [KN_LOOP_CONNECT] = 3, [KN_LOOP_WELD] = 6, [KN_LOOP_DISTANCE] = 3, [KN_LOOP_COUPLING] = 1};
  for (int k = 0; k < m->nloop && row < rows; k++) {
    const kn_loop_def* l = &m->loop[k];
    if (l->inactive) continue;
    if (l->type == KN_LOOP_COUPLING && l->joint2 >= 0) {
      const kn_link* b = &m->link[m->joint_link[l->joint2]];
      double x = q[b->q] - m->joint[l->joint2].ref[0], slope = 0.0, power = 1.0;
      for (int i = 1; i < 5; i++, power *= x) slope += i * l->coef[i] * power;
      J[(size_t)row * (size_t)m->nv + (size_t)b->v] = -slope;
    }
    row += size[l->type];
  }
}

/* x := A⁻¹ x for a symmetric positive definite A = M + diag(extra); L is scratch. */
static void solve(double* x, int columns, const double* M, const double* extra, double* L, int n) {
  memcpy(L, M, (size_t)n * (size_t)n * sizeof *L);
  for (int i = 0; extra && i < n; i++) L[i * n + i] += extra[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = L[i * n + j];
      for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / L[j * n + j];
    }
  for (int c = 0; c < columns; c++, x += n) {
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
      x[i] /= L[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
      for (int k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
      x[i] /= L[i * n + i];
    }
  }
}

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

static double clipped(double x, double most) { return x > most ? most : x < -most ? -most : x; }

static double largest(const double* x, int n) {
  double most = 0.0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
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
  solve(step, 1, H, NULL, H + (size_t)rows * (size_t)rows, rows);
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

static double multiply(double* r, const kn_plain* P, const double* extra, const double* x) {
  int n = P->model->nv;
  double size = 0.0;
  for (int i = 0; i < n; i++) {
    double sum = extra ? extra[i] * x[i] : 0.0;
    for (int k = 0; k < n; k++) {
      sum += P->M[i * n + k] * x[k];
      size = fmax(size, fabs(P->M[i * n + k] * x[k]));
    }
    r[i] += sum;
  }
  return size;
}

static void forces(double* r, double* size, const kn_plain* P, const kn_recorded* s) {
  for (int i = 0; i < P->model->nv; i++) {
    r[i] -= s->dt * (s->tau[i] - P->c[i]);
    *size = fmax(*size, s->dt * fmax(fabs(s->tau[i]), fabs(P->c[i])));
  }
}

static bool ball_limits(const kn_model* m, const kn_recorded* s) {
  for (int i = 0; i < m->nlimit; i++)
    if (m->limit[i].side == 0 && s->limit_impulse[i] != 0.0) return true;
  return false;
}

static void check_momentum(kn_verifier* v, const kn_recorded* s, const double* mid) {
  const kn_model* m = v->model;
  int n = m->nv;
  double *d = v->scratch, size = 0.0;
  if (ball_limits(m, s)) return;
  memset(v->r, 0, (size_t)n * sizeof(double));
  const double* end = s->impact ? s->v_free : s->v;
  for (int i = 0; i < n; i++) d[i] = end[i] - s->v_before[i];
  size = multiply(v->r, &v->mid, s->extra, d);
  forces(v->r, &size, &v->mid, s);
  if (!s->impact) {
    take_contacts(v->r, &size, &v->mid, s);
    take_limits(v->r, &size, m, s);
  }
  int rows = loop_rows(v->J, &v->mid);
  if (rows) {
    /* the velocity repair at the end of the step, dv = M(q⁺)⁻¹ J(q⁺)ᵀ μ, seen through the step's own matrix
     */
    rows += loop_rows(v->J + (size_t)rows * (size_t)n, &v->after);
    double* end_rows = v->J + (size_t)(rows / 2) * (size_t)n;
    couplings(end_rows, rows / 2, m, s->q);
    solve(end_rows, rows / 2, v->after.M, NULL, v->L, n);
    for (int k = 0; k < rows / 2; k++) {
      memset(d, 0, (size_t)n * sizeof *d);
      multiply(d, &v->mid, s->extra, end_rows + (size_t)k * (size_t)n);
      memcpy(end_rows + (size_t)k * (size_t)n, d, (size_t)n * sizeof *d);
    }
    rows = loop_rows(v->J, &v->mid);
    couplings(v->J, rows, m, mid);
  }
  report(v, s->step, s->impact ? "momentum in flight" : "momentum", momentum_error(v, s, size, 2 * rows),
         m->nloop ? 1e3 * v->tolerance : v->tolerance);
  if (!s->impact) return;
  memset(v->r, 0, (size_t)n * sizeof(double));
  for (int i = 0; i < n; i++) d[i] = s->v[i] - s->v_free[i];
  size = multiply(v->r, &v->after, NULL, d);
  for (int i = 0; i < n; i++) size = fmax(size, fabs(v->after.M[i * n + i] * s->v_free[i]));
  take_contacts(v->r, &size, &v->after, s);
  take_limits(v->r, &size, m, s);
  rows = loop_rows(v->J, &v->after);
  couplings(v->J, rows, m, s->q);
  report(v, s->step, "momentum of the impact", momentum_error(v, s, size, rows), v->tolerance * 10.0);
}

/* ---- contacts ---- */

static void relative(double u[3], const kn_plain* P, const kn_contact* c, const double* v) {
  double w[3] = {0, 0, 0}, a[3], b[3];
  for (int d = 0; d < P->model->nv; d++) {
    kn_plain_column(a, P, c->body_a, c->point, d);
    kn_plain_column(b, P, c->body_b, c->point, d);
    for (int i = 0; i < 3; i++) w[i] += (a[i] - b[i]) * v[d];
  }
  for (int j = 0; j < 3; j++)
    u[j] = c->frame[3 * j] * w[0] + c->frame[3 * j + 1] * w[1] + c->frame[3 * j + 2] * w[2];
}

/* How much farther than half the gap the contact point is from one of its surfaces. */
static double off_surface(const kn_plain* P, const kn_contact* c) {
  double most = 0.0;
  for (int side = 0; side < 2; side++) {
    double d = kn_plain_surface(P, side ? c->geom_b : c->geom_a, c->point);
    if (isfinite(d)) most = fmax(most, fabs(d) - 0.5 * fabs(c->gap));
  }
  return most;
}

/* Root of the largest compliance J M⁻¹ Jᵀ of the contact's rows: velocity per unit of the solver's scaled
   residual. */
static double root_compliance(kn_verifier* v, const kn_recorded* s, const kn_plain* P, const kn_contact* c) {
  int n = v->model->nv;
  double *g = v->left, *x = v->r, a[3], b[3], most = 0.0;
  for (int j = 0; j < 3; j++) {
    for (int d = 0; d < n; d++) {
      kn_plain_column(a, P, c->body_a, c->point, d);
      kn_plain_column(b, P, c->body_b, c->point, d);
      g[d] = 0.0;
      for (int i = 0; i < 3; i++) g[d] += c->frame[3 * j + i] * (a[i] - b[i]);
      x[d] = g[d];
    }
    solve(x, 1, P->M, s->impact ? NULL : s->extra, v->L, n);
    double W = 0.0;
    for (int d = 0; d < n; d++) W += g[d] * x[d];
    most = fmax(most, W);
  }
  return sqrt(most);
}

/* What the step's residual allows a contact's velocity to miss, m/s: it is relative to the largest impulse in
   these units, or to that of a limit or a dry joint, which is not looked for (100). */
static double allowance(kn_verifier* v, const kn_recorded* s, const kn_plain* P, const kn_contact* c) {
  double most = 0.0;
  for (int i = 0; i < s->contacts; i++)
    most = fmax(most, fabs(s->contact[i].impulse[0]) * root_compliance(v, s, P, &s->contact[i]));
  return 100.0 * s->residual * most * root_compliance(v, s, P, c);
}

static void check_contact(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double p_scale,
                          double u_scale) {
  const kn_plain* P = s->impact ? &v->after : &v->mid;
  double u[3], p_n = c->impulse[0], p_t = hypot(c->impulse[1], c->impulse[2]);
  /* a step that says so may be 1e-8 off, in an island whose joint limits carry a hundred times as much */
  double eps = fmin(fmax(1e-7, 100.0 * s->residual), 1e-6);
  relative(u, P, c, s->v);
  if (v->model->nloop)
    memcpy(u, c->velocity, sizeof u); /* before the velocity repair of the loops, as reported */
  report(v, s->step, "normal impulse pulls", -p_n / p_scale, eps);
  if (isfinite(c->mu)) report(v, s->step, "friction cone", (p_t - c->mu * fmax(p_n, 0.0)) / p_scale, eps);
  if (!s->impact) {
    double approach = u[0] + 2.0 * fmax(c->gap, 0.0) / s->dt, slip = hypot(u[1], u[2]);
    double both = fmin(fmax(approach, 0.0) / u_scale, p_n / p_scale);
    double against = (u[1] * c->impulse[1] + u[2] * c->impulse[2] + slip * p_t) / (u_scale * p_scale);
    double inside = isfinite(c->mu) ? fmin(slip / u_scale, (c->mu * p_n - p_t) / p_scale) : 0.0;
    /* a fingertip of a gram gives way a hundred times as easily as the robot it belongs to */
    if (fmax(fmax(-approach / u_scale, both), fmax(against, inside)) > eps)
      eps = fmin(fmax(eps, allowance(v, s, P, c) / u_scale), 1e-4);
    report(v, s->step, "contacts approach", -approach / u_scale, eps);
    report(v, s->step, "complementarity", both, eps);
    report(v, s->step, "friction along slip", against, eps);
    report(v, s->step, "slip inside the cone", inside, eps);
  }
  double off = off_surface(P, c);
  if (s->impact) off = fmin(off, off_surface(&v->flight, c));
  report(v, s->step, "contact point off the surface", off, 1e-6);
}

static void check_contacts(kn_verifier* v, const kn_recorded* s) {
  double p = 1e-12, u = 1e-6;
  for (int i = 0; i < s->contacts; i++) p = fmax(p, fabs(s->contact[i].impulse[0]));
  double held = p; /* limits and loops stand in one problem with the contacts: one scale of rounding */
  for (int i = 0; i < v->model->nlimit; i++) held = fmax(held, fabs(s->limit_impulse[i]));
  for (int i = 0; i < s->loops; i++) held = fmax(held, fabs(s->loop_impulse[i]));
  for (int i = 0; i < v->model->nv; i++) held = fmax(held, 1e-3 * s->dt * fabs(v->mid.c[i]));
  for (int i = 0; i < v->model->nv; i++) u = fmax(u, fmax(fabs(s->v[i]), fabs(s->v_before[i])));
  double g = sqrt(v->model->gravity[0] * v->model->gravity[0] + v->model->gravity[1] * v->model->gravity[1] +
                  v->model->gravity[2] * v->model->gravity[2]);
  u = fmax(u, g * s->dt);
  for (int i = 0; i < s->contacts; i++) check_contact(v, s, &s->contact[i], p, u);
  for (int i = 0; i < v->model->nlimit; i++)
    report(v, s->step, "limit pulls", -s->limit_impulse[i] / held, 1e-6);
}

/* ---- position, closure, energy ---- */

static void check_position(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  double *mean = v->scratch, *q = v->scratch + m->nv, worst = 0.0, size = 1.0;
  const double* end = s->impact ? s->v_free : s->v;
  for (int i = 0; i < m->nv; i++) mean[i] = 0.5 * (s->v_before[i] + end[i]);
  kn_plain_advance(q, m, s->q_before, mean, s->dt);
  for (int i = 0; i < m->nlink; i++) {
    const kn_link* l = &m->link[i];
    for (int k = 0; k < l->nq; k++) {
      worst = fmax(worst, fabs(q[l->q + k] - s->q[l->q + k]));
      size = fmax(size, fabs(s->q[l->q + k]));
    }
  }
  /* the repair may move by its M-norm over the root of the least inertia; loops also turn the mean velocity
   */
  double least = INFINITY;
  for (int i = 0; i < m->nv; i++) least = fmin(least, v->mid.M[i * (m->nv + 1)]);
  double allowed =
      1e-12 * size + (s->correction > 0.0 ? 10.0 * s->correction / sqrt(fmax(least, 1e-300)) : 0.0);
  if (m->nloop) allowed += 1e-5;
  report(v, s->step, "position update", worst, allowed);
}

static void check_closure(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  double worst = 0.0;
  for (int k = 0; k < m->nloop; k++) {
    const kn_loop_def* l = &m->loop[k];
    if (l->inactive || l->motion.kind != KN_MOTION_NONE) continue;
    if (l->type == KN_LOOP_COUPLING) {
      const kn_link *a = &m->link[m->joint_link[l->joint1]],
                    *b = l->joint2 >= 0 ? &m->link[m->joint_link[l->joint2]] : NULL;
      double x = b ? s->q[b->q] - m->joint[l->joint2].ref[0] : 0.0, y = 0.0, power = 1.0;
      for (int i = 0; i < 5; i++, power *= x) y += l->coef[i] * power;
      worst = fmax(worst, fabs(s->q[a->q] - m->joint[l->joint1].ref[0] - y));
    } else if (l->type != KN_LOOP_DISTANCE) {
      double d = 0.0;
      for (int i = 0; i < 3; i++) {
        double p[2];
        for (int side = 0; side < 2; side++) {
          kn_body body = side ? l->b : l->a;
          const double* at = side ? l->pos_b : l->pos_a;
          const kn_plain_body* f = body == KN_WORLD ? NULL : &v->after.body[body];
          p[side] =
              f ? f->o[i] + f->R[3 * i] * at[0] + f->R[3 * i + 1] * at[1] + f->R[3 * i + 2] * at[2] : at[i];
        }
        d += (p[0] - p[1]) * (p[0] - p[1]);
      }
      worst = fmax(worst, sqrt(d));
    }
  }
  report(v, s->step, "loop open", worst, fmax(1e-6, 1.5 * s->closure));
}

static void check_energy(kn_verifier* v, const kn_recorded* s) {
  const kn_ledger* l = &s->ledger;
  double stored = l->kinetic + l->potential + l->spring, spent = 0.0, size = 1e-12;
  const double* column = (const double*)l;
  for (size_t i = 3; i < sizeof *l / sizeof(double); i++)
    spent += column[i], size = fmax(size, fabs(column[i]));
  size = fmax(size, fmax(fabs(s->energy.kinetic), fabs(s->energy.potential)));
  report(v, s->step, "ledger does not balance", fabs(stored - spent) / size, 1e-9);
  report(v, s->step, "kinetic energy", fabs(v->after.kinetic - s->energy.kinetic) / size, 1e-9);
  report(v, s->step, "kinetic energy of the step",
         fabs(v->after.kinetic - v->before.kinetic - l->kinetic) / size, 1e-9);
  report(v, s->step, "potential energy of the step",
         fabs(v->after.potential - v->before.potential - l->potential) / size, 1e-9);
  report(v, s->step, "energy created", s->gain_rel, 1e-9);
  double* total = (double*)&v->total;
  const double* given = (const double*)&s->total;
  if (!v->started || !v->full)
    v->total = s->total;
  else
    for (size_t i = 0; i < sizeof *l / sizeof(double); i++) {
      total[i] += column[i];
      report(v, s->step, "cumulative ledger", fabs(total[i] - given[i]) / fmax(size, fabs(given[i])), 1e-9);
    }
  v->started = true;
}

static bool finite_step(const kn_verifier* v, const kn_recorded* s) {
  double sum = s->t + s->dt;
  for (int i = 0; i < v->model->nq; i++) sum += s->q[i] + s->q_before[i];
  for (int i = 0; i < v->model->nv; i++) sum += s->v[i] + s->v_before[i] + s->tau[i] + s->v_free[i];
  return isfinite(sum);
}

/* Energy that a forced repair added is taken back by scaling the velocities of trees at the very end; the
   equations hold for what they were before. */
static void check_motion(kn_verifier* v, const kn_recorded* s, const double* mid) {
  kn_recorded solved = *s;
  double up = 0.0, back = 0.0;
  for (int i = 0; i < v->model->nv; i++) {
    up = fmax(up, fabs(s->v[i]) - 1.002 * fabs(s->v_solved[i]));
    back = fmax(back, -s->v[i] * s->v_solved[i]);
  }
  report(v, s->step, "velocities scaled up", up, 0.0);
  report(v, s->step, "velocities reversed", back, 0.0);
  solved.v = s->v_solved;
  check_momentum(v, &solved, mid);
  check_position(v, &solved);
  check_contacts(v, &solved);
}

void kn_verifier_step(kn_verifier* v, const kn_recorded* s) {
  const kn_model* m = v->model;
  if (!finite_step(v, s)) {
    v->found(v->context, s->step, "not finite", NAN, 0.0);
    return;
  }
  double* mid = v->scratch + m->nv + m->nq;
  kn_plain_advance(mid, m, s->q_before, s->v_before, 0.5 * s->dt);
  if (s->impact) {
    double *mean = v->scratch, *end = v->scratch + m->nv;
    for (int i = 0; i < m->nv; i++) mean[i] = 0.5 * (s->v_before[i] + s->v_free[i]);
    kn_plain_advance(end, m, s->q_before, mean, s->dt);
    kn_plain_place(&v->flight, end, s->v_free);
  }
  kn_plain_place(&v->mid, mid, s->v_bias);
  kn_plain_matrices(&v->mid, mid, s->v_bias);
  kn_plain_place(&v->before, s->q_before, s->v_before);
  kn_plain_matrices(&v->before, s->q_before, s->v_before);
  kn_plain_place(&v->after, s->q, s->v);
  kn_plain_matrices(&v->after, s->q, s->v);
  if (strcmp(v->stepper, "time") == 0) check_motion(v, s, mid);
  check_closure(v, s);
  check_energy(v, s);
  report(v, s->step, "solver residual", s->residual, 1e-6);
}

kn_status kn_verifier_create(kn_verifier* v, const kn_model* m) {
  *v = (kn_verifier){.model = m, .tolerance = 1e-8, .stepper = "time", .full = true};
  for (int i = 0; i < m->njoint; i++)
    if (m->joint[i].type == KN_JOINT_SCREW)
      return kn_fail(KN_UNSUPPORTED, "joint %d is a screw, which the verifier does not know", i);
  size_t n = (size_t)m->nv, rows = 12 * (size_t)m->nloop;
  kn_status status = kn_plain_create(&v->mid, m);
  if (status == KN_OK) status = kn_plain_create(&v->after, m);
  if (status == KN_OK) status = kn_plain_create(&v->before, m);
  if (status == KN_OK) status = kn_plain_create(&v->flight, m);
  v->r = calloc(n + 1, sizeof(double));
  v->scratch = calloc(n + 2 * (size_t)m->nq + 1, sizeof(double));
  v->J = calloc(rows * n + 1, sizeof(double));
  v->L = calloc(n * n + 1, sizeof(double));
  v->left = calloc(n + 1, sizeof(double));
  v->mu = calloc(3 * rows + 1, sizeof(double));
  v->H = calloc(2 * rows * rows + 1, sizeof(double));
  if (status == KN_OK && !(v->mu && v->H && v->r && v->scratch && v->J && v->L && v->left))
    status = kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d dofs", m->nv);
  if (status != KN_OK) kn_verifier_destroy(v);
  return status;
}

void kn_verifier_destroy(kn_verifier* v) {
  kn_plain_destroy(&v->mid);
  kn_plain_destroy(&v->after);
  kn_plain_destroy(&v->before);
  kn_plain_destroy(&v->flight);
  free(v->r);
  free(v->scratch);
  free(v->J);
  free(v->L);
  free(v->left);
  free(v->mu);
  free(v->H);
  *v = (kn_verifier){0};
}

/* ---- a whole recording ---- */

static void collect(void* context, int64_t step, const char* check, double value, double limit) {
  kn_verification* out = context;
  out->violations++;
  if (out->listed < KN_VIOLATIONS_MAX)
    out->violation[out->listed++] = (kn_violation){step, check, value, limit};
}

static void skip(kn_verification* out, const char* what) {
  if (out->skips < KN_SKIPS_MAX) out->skipped[out->skips++] = what;
}

kn_status kn_verify(kn_verification* out, kn_recording* recording) {
  KN_REQUIRE(out != NULL && recording != NULL);
  *out = (kn_verification){0};
  kn_verifier v;
  KN_TRY(kn_verifier_create(&v, kn_recording_model(recording)));
  const char* stepper = kn_recording_setting(recording, "stepper");
  v.found = collect;
  v.context = out;
  v.full = kn_recording_every(recording) == 1;
  const char* split = kn_recording_setting(recording, "split_impacts");
  v.stepper = !stepper ? "" : split && strcmp(split, "1") == 0 ? "time with split steps" : stepper;
  if (!v.full)
    skip(out, "the recording is thinned: that every step follows from the one before, and the cumulative "
              "ledger, are not checked");
  if (strcmp(v.stepper, "time") != 0)
    skip(out, "momentum, positions and contact conditions are checked for the stepper `time` only");
  if (kn_recording_model(recording)->nloop)
    skip(out, "momentum along the directions that loops hold is left out; contact velocities are the "
              "reported ones");
  for (int i = 0; i < kn_recording_problems(recording); i++) collect(out, 0, "file", (double)i + 1, 0.0);
  kn_status status = KN_OK;
  int64_t last = 0;
  for (int i = 0; i < kn_recording_steps(recording) && status == KN_OK; i++) {
    kn_recorded step;
    status = kn_recording_read(&step, recording, i);
    if (status != KN_OK) break;
    if (v.full && i > 0 && (uint64_t)step.step != (uint64_t)last + 1) /* any number may stand there */
      collect(out, step.step, "steps are missing", (double)step.step - (double)last - 1.0, 0.0);
    last = step.step;
    kn_verifier_step(&v, &step);
    out->steps++;
  }
  kn_verifier_destroy(&v);
  return status;
}
