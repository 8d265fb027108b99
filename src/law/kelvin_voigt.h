/* The compliant contact law: Kelvin-Voigt in the normal and the tangential plane, with Coulomb's cone between
   the deformable layer and the other body (song-kumar Eqs. 6, 7, 13); or a power law with damping in the normal
   (power_laws.c). A contact with a frame, no bodies. */
#pragma once

#include <stdbool.h>

typedef struct kn_soft_law { /* NULL: linear, or with an exponent n the normal force K δⁿ + C δⁿ δ̇ */
  double (*f)(double delta, double K, bool tangential, void* context);
  double (*g)(double delta, double rate, double C, bool tangential, void* context);
  void* context;
  double exponent; /* 0: linear */
} kn_soft_law;

typedef struct kn_soft_pair {
  double K, C, Kt, Ct; /* N/m, N s/m */
} kn_soft_pair;

/* Deformation in the contact frame: n > 0 compressed, n < 0 the distance to touch; t: force f(|t|) along t.
 */
typedef struct kn_soft_state {
  double n, t[2]; /* m */
  double n_rate, t_rate[2];
} kn_soft_state;

/* One sub-step of length h as a row of a cone problem (comp.h): with the impulse p of the sub-step and the
   mean velocity ū of A against B, the law is Coulomb's with  ũ = ū + R p + b,  R = diag(r_n, r_t, r_t). */
typedef struct kn_soft_row {
  double r_n, r_t, b[3];
  double k_t, c_t; /* secants used */
} kn_soft_row;

typedef struct kn_soft_energy {
  double normal, friction; /* lost in the normal damper; by slip and in the tangential damper; >= 0 */
} kn_soft_energy;

/* theta: 1/2 the midpoint (second order), 1 for sub-steps longer than the contact's own time. */
void kn_soft_row_of(kn_soft_row* row, const kn_soft_law* law, const kn_soft_pair* pair,
                    const kn_soft_state* s, double h, double theta);
/* Moves the deformation on with the solved p and ū, adds to the losses; true when the contact slipped. */
bool kn_soft_advance(kn_soft_state* s, kn_soft_energy* lost, const kn_soft_law* law, const kn_soft_pair* pair,
                     const kn_soft_row* row, const double p[3], const double u_mean[3], double mu, double h,
                     double theta);
/* Stiffness and damping that a sub-step over `way` m of deformation meets at most. */
void kn_soft_steepest(double* k, double* c, const kn_soft_law* law, const kn_soft_pair* pair,
                      const kn_soft_state* s, double way);

/* Laws with names, in the order of kn_compliant_law (knuckle/step.h). */
typedef struct kn_soft_name {
  const char *name, *doc, *citation;
  bool power; /* K δⁿ (1 + c δ̇) */
  /* c of a contact that closes with this speed, s/m; ratio: C/K of the pair. NULL: Kelvin-Voigt */
  double (*c)(double ratio, double e, double speed);
} kn_soft_name;
extern const kn_soft_name kn_soft_named[];

/* Energy stored in the layer, J. */
double kn_soft_stored(const kn_soft_law* law, const kn_soft_pair* pair, const kn_soft_state* s);
/* Deformation in which the law gives this force at these rates (song-kumar 4.1); n >= 0. */
void kn_soft_build(kn_soft_state* s, const kn_soft_law* law, const kn_soft_pair* pair, const double force[3],
                   double n_rate, const double t_rate[2]);
