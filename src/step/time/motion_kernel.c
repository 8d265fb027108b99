/* The passes of motion.h, KN_W numbers side by side, of mechanisms of eight dofs and more; all arrays have
   room for whole eights and zeros behind their end. */
#include "base/isa.h"

#if KN_W > 2
#include <immintrin.h>
#endif

#include "dynamics/tree/data.h"
#include "step/time/motion.h"

typedef double vec __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));
typedef int64_t bits __attribute__((vector_size(8 * KN_W), aligned(8), may_alias));

#define AT(p)   (*(vec*)((p) + i))
#define OF(p)   (*(const vec*)((p) + i))
#define SIZE(x) ((vec)((bits)(x)&INT64_MAX))

/* as a > b ? a : b */
static inline vec larger(vec a, vec b) {
#if KN_W == 8
  return (vec)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif KN_W == 4
  return (vec)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
  bits m = a > b;
  return (vec)(((bits)a & m) | ((bits)b & ~m));
#endif
}
static inline double largest(vec a) {
  double most = a[0];
  for (int k = 1; k < KN_W; k++) most = kn_max(most, a[k]);
  return most;
}
static inline bool none(bits a) {
  int64_t any = 0;
  for (int k = 0; k < KN_W; k++) any |= a[k];
  return any == 0;
}
/* Of 0 x: 0 unless x is infinite or not a number. */
static inline bool nothing(vec a) {
  double sum = a[0];
  for (int k = 1; k < KN_W; k++) sum += a[k];
  return sum == 0.0;
}

int KN_NAME(kn_motion_begin)(kn_sim* s, const kn_state* x) {
  bits differ = {0};
  vec zero = {0.0};
  for (int i = 0; i < s->model->nq; i += KN_W) {
    vec q = OF(x->q);
    differ |= (bits)q ^ (bits)OF(s->past.q);
    AT(s->past.q_safe) = q;
  }
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec v = OF(x->v);
    differ |= (bits)v ^ (bits)OF(s->past.v);
    zero += 0.0 * OF(x->force);
    AT(s->past.v_safe) = v;
  }
  return (none(differ) ? KN_MOTION_CONTINUES : 0) | (nothing(zero) ? KN_MOTION_FORCES_FINITE : 0);
}

double KN_NAME(kn_motion_guess)(kn_sim* s, const kn_state* x, double dt) {
  const double *q = x->q, *v = x->v, *force = x->force, half = 0.5 * dt;
  double *rate = s->blocks.rate->data, *last = rate + kn_rate_stride(s->model),
         *contact = last + kn_rate_stride(s->model);
  double *q_mid = s->frame.q_mid, *v_bias = s->frame.v_bias, *tau = s->force.tau,
         *applied = s->force.tau_applied;
  vec most = {0.0};
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec from = OF(v), now = OF(rate), way = half * (((now + now) - OF(last)) + OF(contact)), f = OF(force);
    AT(last) = now;
    AT(q_mid) = OF(q) + half * from;
    AT(v_bias) = from + way;
    AT(tau) = f, AT(applied) = f;
    most = larger(most, SIZE(from) + SIZE(way));
  }
  return dt * largest(most);
}

double KN_NAME(kn_motion_mean)(kn_sim* s, const kn_state* x, double dt) {
  double *rate = s->blocks.rate->data, *last = rate + kn_rate_stride(s->model),
         *contact = last + kn_rate_stride(s->model), half = 0.5 * dt;
  vec most = {0.0};
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec from = OF(x->v), now = OF(rate), way = half * (((now + now) - OF(last)) + OF(contact));
    AT(last) = now;
    most = larger(most, SIZE(from) + SIZE(way));
    AT(s->frame.v_bias) = from + way;
  }
  return dt * largest(most);
}

void KN_NAME(kn_motion_calm)(kn_sim* s) {
  const kn_sim_force* f = &s->force;
  for (int i = 0; i < s->model->nv; i += KN_W)
    AT(f->tau_act) = AT(f->tau_applied) = AT(f->implicit_k) = AT(f->implicit_d) = AT(f->tau_spring) =
        (vec){0};
}

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t four_bits __attribute__((vector_size(32), aligned(8), may_alias));

static inline four chosen(four_bits when, four a, four b) {
  return (four)(((four_bits)a & when) | ((four_bits)b & ~when));
}
/* kn_clamp */
static inline four clamped(four x, four lo, four hi) { return chosen(x < lo, lo, chosen(x > hi, hi, x)); }

static inline four four_of(const double* x, const int32_t k[4], bool beside) {
  return beside ? *(const four*)(x + k[0]) : (four){x[k[0]], x[k[1]], x[k[2]], x[k[3]]};
}
static inline void add_four(double* to, const int32_t k[4], bool beside, four x) {
  if (beside)
    *(four*)(to + k[0]) += x;
  else
    to[k[0]] += x[0], to[k[1]] += x[1], to[k[2]] += x[2], to[k[3]] += x[3];
}

int KN_NAME(kn_motion_drive)(kn_sim* s, const double* q, const double* v, const double* ctrl, int a) {
#define FOUR(p) (*(const four*)(p))
  for (const kn_motor_four* c = &s->data->layout->four[a / 4]; a + 4 <= s->model->nu && c->alike;
       c++, a += 4) {
    bool beside = c->beside;
    four gear = FOUR(c->gear), length = 0.0 + gear * four_of(q, c->q, beside),
         rate = 0.0 + gear * four_of(v, c->v, beside);
    four f = FOUR(c->gain) * clamped(FOUR(ctrl + a), FOUR(c->ctrl[0]), FOUR(c->ctrl[1])) + FOUR(c->bias[0]) +
             FOUR(c->bias[1]) * length + FOUR(c->bias[2]) * rate;
    four_bits inside = (f > FOUR(c->force[0])) & (f < FOUR(c->force[1]));
    add_four(s->force.tau_act, c->v, beside, gear * clamped(f, FOUR(c->force[0]), FOUR(c->force[1])));
    add_four(s->force.implicit_k, c->v, beside, (four)((four_bits)FOUR(c->stiffness) & inside));
    add_four(s->force.implicit_d, c->v, beside, (four)((four_bits)FOUR(c->damping) & inside));
  }
#undef FOUR
  return a;
}

void KN_NAME(kn_motion_combine)(kn_sim* s, const double* force, const double* v, double dt) {
  const kn_model* m = s->model;
  const kn_sim_force* f = &s->force;
  double kv = f->implicit.kv, wd = f->implicit.d, wk = f->implicit.kdv;
  for (int i = 0; i < m->nv; i += KN_W) {
    vec D = OF(m->damping), K = OF(m->stiffness), u = OF(v), k = OF(f->implicit_k);
    vec spring = OF(f->tau_spring) - K * kv * u, damp = -D * u, act = OF(f->tau_act) - k * kv * u,
        applied = OF(f->tau_applied) + OF(force);
    AT(f->tau_spring) = spring, AT(f->tau_damp) = damp, AT(f->tau_act) = act, AT(f->tau_applied) = applied;
    AT(f->tau) = spring + damp + act + applied;
    AT(f->extra) = dt * (wd * (D + OF(f->implicit_d)) + wk * (K + k));
  }
}

bool KN_NAME(kn_motion_free)(kn_sim* s, const kn_state* x, double dt) {
  const double *v = x->v, *dv = s->frame.dv, *guess = s->frame.v_bias;
  double *v_free = s->frame.v_free, *rate = s->blocks.rate->data, half = 0.5 * dt;
  const double* contact = rate + 2 * kn_rate_stride(s->model);
  vec most = {0.0};
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec from = OF(v), d = OF(dv), w = from + dt * d;
    AT(v_free) = w, AT(rate) = d;
    most = larger(most, SIZE((0.5 * (from + w) + half * OF(contact)) - OF(guess)));
  }
  return dt * largest(most) <= 1e-5;
}

/* Columns of four rows of numbers: dof by dof. */
static inline void turn(four of[4], four a, four b, four c, four d) {
  four x = __builtin_shufflevector(a, b, 0, 4, 2, 6), y = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  four z = __builtin_shufflevector(c, d, 0, 4, 2, 6), w = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  of[0] = __builtin_shufflevector(x, z, 0, 1, 4, 5), of[1] = __builtin_shufflevector(y, w, 0, 1, 4, 5);
  of[2] = __builtin_shufflevector(x, z, 2, 3, 6, 7), of[3] = __builtin_shufflevector(y, w, 2, 3, 6, 7);
}

/* Written number by number a moment ago (kn_apart). */
static inline four fresh(const double* x) { return (four){kn_apart(x[0]), x[1], kn_apart(x[2]), x[3]}; }

double KN_NAME(kn_motion_missed)(const kn_sim* s, const double* rate, double dt) {
  vec most = {0.0};
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec c = OF(rate), off = SIZE(dt * c - (OF(s->frame.v_plus) - OF(s->frame.v_free)));
    most = larger((vec)((bits)off & (c != 0.0)), most);
  }
  return dt * largest(most);
}

void KN_NAME(kn_motion_rates)(double* rate, const kn_sim* s, double dt) {
  for (int i = 0; i < s->model->nv; i += KN_W) AT(rate) = (OF(s->frame.v_plus) - OF(s->frame.v_free)) / dt;
}

void KN_NAME(kn_motion_works)(kn_works* out, const kn_sim* s, const double* v, const double* v_end,
                              double dt) {
#define FOUR(p) (*(const four*)((p) + i))
  const kn_sim_force* f = &s->force;
  const double wd = f->implicit.d, wk = f->implicit.kdv;
  four sum = {0.0}, of[4];
  double inertia = 0.0;
  for (int i = 0; i < s->model->nv; i += 4) {
    four from = FOUR(v), dv = fresh(v_end + i) - from, mean = from + 0.5 * dv, w = dt * mean;
    four act = FOUR(f->tau_act) - wd * FOUR(f->implicit_d) * dv - wk * FOUR(f->implicit_k) * dv;
    four still = w * fresh(f->bias + i);
    turn(of, dt * FOUR(s->model->damping) * (from + wd * dv) * mean, w * act, w * FOUR(f->tau_applied),
         w * (FOUR(f->tau_spring) - wk * FOUR(s->model->stiffness) * dv));
    sum = (((sum + of[0]) + of[1]) + of[2]) + of[3];
    inertia = (((inertia + still[0]) + still[1]) + still[2]) + still[3];
  }
#undef FOUR
  *out = (kn_works){sum[0], sum[1], sum[2], sum[3], inertia};
}

double KN_NAME(kn_motion_balance)(const kn_sim* s, const double* v, const double* v_end, const double* Jp,
                                  double dt) {
  const kn_sim_force* f = &s->force;
  vec worst = {0.0};
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec off = OF(f->extra) * (OF(v_end) - OF(v)) + dt * (OF(f->bias) - OF(f->tau));
    if (Jp) off -= OF(Jp);
    worst = larger(SIZE(off), worst);
  }
  return largest(worst);
}

bool KN_NAME(kn_motion_end)(kn_sim* s, kn_state* x, const double* q, const double* v) {
  vec zero = {0.0};
  for (int i = 0; i < s->model->nq; i += KN_W) {
    vec a = OF(q);
    AT(s->past.q) = a, AT(x->q) = a;
    zero += 0.0 * a;
  }
  for (int i = 0; i < s->model->nv; i += KN_W) {
    vec a = OF(v);
    AT(s->past.v) = a, AT(x->v) = a;
    zero += 0.0 * a;
  }
  return nothing(zero);
}

double KN_NAME(kn_motion_beyond)(const kn_sim* s, const double* q) {
  const double *lower = s->data->layout->lower, *upper = s->data->layout->upper;
  vec most = {0.0};
  most -= INFINITY;
  for (int i = 0; i < s->model->nq; i += KN_W)
    most = larger(larger(OF(lower) - OF(q), OF(q) - OF(upper)), most);
  return largest(most);
}

/* `vectors` fours of u, in registers. */
static inline __attribute__((always_inline)) void some_rows(double* restrict u, const double* u_free,
                                                            const double* W, const double* lambda, int n,
                                                            int vectors) {
  four sum[6];
  for (int v = 0; v < vectors; v++) sum[v] = *(const four*)(u_free + 4 * v);
  for (int k = 0; k < n; k++, W += n) {
    if (lambda[k] == 0.0) continue;
    for (int v = 0; v < vectors; v++) sum[v] += lambda[k] * *(const four*)(W + 4 * v);
  }
  for (int v = 0; v < vectors; v++) *(four*)(u + 4 * v) = sum[v];
}

void KN_NAME(kn_motion_rows)(double* restrict u, const double* u_free, const double* W, const double* lambda,
                             int n) {
  int i = 0;
  for (; i + 24 <= n; i += 24) some_rows(u + i, u_free + i, W + i, lambda, n, 6);
  for (; i + 12 <= n; i += 12) some_rows(u + i, u_free + i, W + i, lambda, n, 3);
  for (; i + 4 <= n; i += 4) some_rows(u + i, u_free + i, W + i, lambda, n, 1);
  for (; i < n; i++) {
    u[i] = u_free[i];
    for (int k = 0; k < n; k++)
      if (lambda[k] != 0.0) u[i] += lambda[k] * W[(size_t)k * (size_t)n + (size_t)i];
  }
}
