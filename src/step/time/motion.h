/* What a step does with q and v dof by dof, in as few passes as there are moments. Vectors as wide as the
   machine's. Elementwise: the same bits. */
#pragma once

#include "base/isa.h"
#include "step/sim.h"

enum { KN_MOTION_CONTINUES = 1, KN_MOTION_FORCES_FINITE = 2 };

typedef struct kn_works { /* of the forces in a flight, J */
  double damping, actuator, applied, spring, inertia;
} kn_works;

KN_KERNEL(int, kn_motion_begin, (kn_sim * s, const kn_state* x));
KN_KERNEL(double, kn_motion_guess, (kn_sim * s, const kn_state* x, double dt));
KN_KERNEL(bool, kn_motion_free, (kn_sim * s, const kn_state* x, double dt));
KN_KERNEL(bool, kn_motion_end, (kn_sim * s, kn_state* x, const double* q, const double* v));
KN_KERNEL(double, kn_motion_beyond, (const kn_sim* s, const double* q));
KN_KERNEL(void, kn_motion_rows,
          (double* restrict u, const double* u_free, const double* W, const double* lambda, int n));
KN_KERNEL(void, kn_motion_calm, (kn_sim * s));
KN_KERNEL(int, kn_motion_drive, (kn_sim * s, const double* q, const double* v, const double* ctrl, int a));
KN_KERNEL(void, kn_motion_combine, (kn_sim * s, const double* force, const double* v, double dt));
KN_KERNEL(double, kn_motion_mean, (kn_sim * s, const kn_state* x, double dt));
KN_KERNEL(double, kn_motion_missed, (const kn_sim* s, const double* rate, double dt));
KN_KERNEL(void, kn_motion_rates, (double* rate, const kn_sim* s, double dt));
KN_KERNEL(void, kn_motion_works,
          (kn_works * out, const kn_sim* s, const double* v, const double* v_end, double dt));
KN_KERNEL(double, kn_motion_balance,
          (const kn_sim* s, const double* v, const double* v_end, const double* Jp, double dt));
#define KN_MOTION(name, s, ...) KN_BEST(kn_motion_##name)(s, __VA_ARGS__)

/* q and v are kept in case the step fails. Does the state continue where the last step ended (bits), are its
   forces finite? */
static inline int kn_motion_begin(kn_sim* s, const kn_state* x) { return KN_MOTION(begin, s, x); }
/* One coordinate per dof and no forces but applied ones: q_mid = q + dt/2 v, tau and tau_applied, and v_bias,
   the guess of kn_stage_free_motion. Returns the angle of the step, rad. */
static inline double kn_motion_guess(kn_sim* s, const kn_state* x, double dt) {
  return KN_MOTION(guess, s, x, dt);
}
/* All parts of the forces but those from outside are zero, and their implicit diagonal. */
static inline void kn_motion_calm(kn_sim* s) { KN_BEST(kn_motion_calm)(s); }
/* Forces of actuators from number a on, a multiple of four, as long as four and four of them are motors of one coordinate;
   returns the first that is none of these. */
static inline int kn_motion_drive(kn_sim* s, const double* q, const double* v, const double* ctrl, int a) {
  return KN_MOTION(drive, s, q, v, ctrl, a);
}
/* What stiffness and damping take from v, all parts in tau, and the implicit diagonal; force: from outside. */
static inline void kn_motion_combine(kn_sim* s, const double* force, const double* v, double dt) {
  KN_MOTION(combine, s, force, v, dt);
}
/* v_bias = v + dt/2 (a + a_c), a guess for v̄ unless things are violent: a the free acceleration as the last two
   steps continue, a_c that of contacts which stayed loaded. What an error of v̄ makes of v_free grows by 6 dt ω
   each time, and c with the square of a wrong guess. Returns the angle of the step, rad. */
static inline double kn_motion_mean(kn_sim* s, const kn_state* x, double dt) {
  return KN_MOTION(mean, s, x, dt);
}
/* v_free = v + dt dv, and dv is kept for the next guess. Was v_bias near (v + v_free)/2: off by δ it changes
   v_free by about 2 dt ω δ, by 2e-5 of ω at most, no more than the midpoint rule itself leaves at the speeds
   where it matters. */
static inline bool kn_motion_free(kn_sim* s, const kn_state* x, double dt) {
  return KN_MOTION(free, s, x, dt);
}
/* x and where the last step ended become q and v; are these finite? */
static inline bool kn_motion_end(kn_sim* s, kn_state* x, const double* q, const double* v) {
  return KN_MOTION(end, s, x, q, v);
}
/* max dt |dt rate - (v_plus - v_free)| where there is a rate. */
static inline double kn_motion_missed(const kn_sim* s, const double* rate, double dt) {
  return KN_MOTION(missed, s, rate, dt);
}
/* (v_plus - v_free) / dt */
static inline void kn_motion_rates(double* rate, const kn_sim* s, double dt) {
  KN_BEST(kn_motion_rates)(rate, s, dt);
}
/* Works of springs, dampers, actuators and applied forces between v and v_end, and of M dv/dt + c, which is s->force.bias;
   dof by dof, one after the other. */
static inline void kn_motion_works(kn_works* out, const kn_sim* s, const double* v, const double* v_end,
                                   double dt) {
  KN_BEST(kn_motion_works)(out, s, v, v_end, dt);
}
/* max |extra (v_end - v) + dt (bias - tau) - Jp|; Jp may be NULL. */
static inline double kn_motion_balance(const kn_sim* s, const double* v, const double* v_end,
                                       const double* Jp, double dt) {
  return KN_MOTION(balance, s, v, v_end, Jp, dt);
}
/* How far a coordinate is beyond its bounds, at most (layout.h). */
static inline double kn_motion_beyond(const kn_sim* s, const double* q) { return KN_MOTION(beyond, s, q); }
/* As below, of few rows; a constant number is unrolled. */
static inline __attribute__((always_inline)) void kn_motion_few_rows(double* restrict u, const double* u_free,
                                                                     const double* W, const double* lambda,
                                                                     const int n) {
  for (int i = 0; i < n; i++) u[i] = u_free[i];
  for (int k = 0; k < n; k++, W += n) {
    if (lambda[k] == 0.0) continue;
    for (int i = 0; i < n; i++) u[i] += lambda[k] * W[i];
  }
}
/* u = J v_free + Λ λ of n rows, Λ symmetric: rows of impulses that are zero are left out. */
static inline void kn_motion_rows(double* restrict u, const double* u_free, const double* W,
                                  const double* lambda, int n) {
  switch (n < 12 ? n : 12) {
  case 3: kn_motion_few_rows(u, u_free, W, lambda, 3); break;
  case 6: kn_motion_few_rows(u, u_free, W, lambda, 6); break;
  case 9: kn_motion_few_rows(u, u_free, W, lambda, 9); break;
  case 12: KN_MOTION(rows, u, u_free, W, lambda, n); break;
  default: kn_motion_few_rows(u, u_free, W, lambda, n);
  }
}
