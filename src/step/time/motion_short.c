/* Pairs, two of them at a time; as motion_kernel.c. */
#include "step/time/motion.h"

#define PAIR(p)    (*(kn_two*)(p))
#define PAIR_OF(p) (*(const kn_two*)(p))
#define BITS(p)    (*(const kn_two_bits*)(p))

int kn_motion_begin_short(kn_sim* s, const kn_state* x) {
  kn_two_bits differ = {0, 0};
  kn_two zero = {0.0, 0.0};
  const double *q = x->q, *v = x->v, *q_last = s->q_last, *v_last = s->v_last, *force = x->force;
  double *q_safe = s->q_safe, *v_safe = s->v_safe;
  int nq = s->model->nq, nv = s->model->nv;
  for (int i = 0; i < nq; i += 4) {
    kn_two a = PAIR_OF(q + i), b = PAIR_OF(q + i + 2);
    differ |= ((kn_two_bits)a ^ BITS(q_last + i)) | ((kn_two_bits)b ^ BITS(q_last + i + 2));
    PAIR(q_safe + i) = a, PAIR(q_safe + i + 2) = b;
  }
  for (int i = 0; i < nv; i += 4) {
    kn_two a = PAIR_OF(v + i), b = PAIR_OF(v + i + 2);
    differ |= ((kn_two_bits)a ^ BITS(v_last + i)) | ((kn_two_bits)b ^ BITS(v_last + i + 2));
    PAIR(v_safe + i) = a, PAIR(v_safe + i + 2) = b;
    zero += 0.0 * PAIR_OF(force + i), zero += 0.0 * PAIR_OF(force + i + 2);
  }
  return ((differ[0] | differ[1]) == 0 ? KN_MOTION_CONTINUES : 0) |
         (zero[0] + zero[1] == 0.0 ? KN_MOTION_FORCES_FINITE : 0);
}

bool kn_motion_guess_short(kn_sim* s, const kn_state* x, double dt) {
  const double *q = x->q, *v = x->v, *rate = s->blocks.rate->data, *force = x->force, half = 0.5 * dt;
  double *q_mid = s->q_mid, *v_bias = s->v_bias, *tau = s->tau, *applied = s->tau_applied;
  kn_two most = {0.0, 0.0};
  for (int i = 0, nv = s->model->nv; i < nv; i += 2) {
    kn_two from = PAIR_OF(v + i), way = half * PAIR_OF(rate + i), f = PAIR_OF(force + i);
    PAIR(q_mid + i) = PAIR_OF(q + i) + half * from;
    PAIR(v_bias + i) = from + way;
    PAIR(tau + i) = f, PAIR(applied + i) = f;
    most = kn_two_larger(most, kn_two_size(from) + kn_two_size(way));
  }
  return dt * kn_max(most[0], most[1]) <= 0.05; /* rad */
}

bool kn_motion_free_short(kn_sim* s, const kn_state* x, double dt) {
  const double *v = x->v, *dv = s->dv, *guess = s->v_bias;
  double *v_free = s->v_free, *rate = s->blocks.rate->data;
  kn_two most = {0.0, 0.0};
  for (int i = 0, nv = s->model->nv; i < nv; i += 2) {
    kn_two from = PAIR_OF(v + i), d = kn_two_fresh(dv + i), w = from + dt * d;
    PAIR(v_free + i) = w, PAIR(rate + i) = d;
    most = kn_two_larger(most, kn_two_size(0.5 * (from + w) - PAIR_OF(guess + i)));
  }
  return dt * kn_max(most[0], most[1]) <= 1e-5;
}

/* a = b = x; 0 x of all. */
static inline kn_two settle(double* a, double* b, const double* x, int n) {
  kn_two zero = {0.0, 0.0};
  for (int i = 0; i < n; i += 4) {
    kn_two y = PAIR_OF(x + i), z = PAIR_OF(x + i + 2);
    PAIR(a + i) = y, PAIR(a + i + 2) = z;
    PAIR(b + i) = y, PAIR(b + i + 2) = z;
    zero += 0.0 * y, zero += 0.0 * z;
  }
  return zero;
}

bool kn_motion_end_short(kn_sim* s, kn_state* x, const double* q, const double* v) {
  kn_two zero = settle(s->q_last, x->q, q, s->model->nq) + settle(s->v_last, x->v, v, s->model->nv);
  return zero[0] + zero[1] == 0.0;
}
