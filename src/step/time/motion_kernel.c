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
