/* The verifier's inside: plain mechanics of its own (dense, slow), and the checks of one step. Shares the
   data layout with the rest of the library and nothing else. */
#ifndef KN_RECORD_VERIFY_H
#define KN_RECORD_VERIFY_H

#include "knuckle/record.h"
#include "model/model.h"

typedef struct kn_plain_dof { /* what one dof does to its body and everything below it, world axes */
  kn_body body;
  bool linear;
  double u[3];     /* axis or direction */
  double point[3]; /* on the axis */
} kn_plain_dof;

typedef struct kn_plain_body {
  double R[9], o[3];   /* frame in the world */
  double w[3];         /* angular velocity */
  double al[3], ao[3]; /* angular acceleration, acceleration of the origin, all joint accelerations zero */
  double com[3], I[9]; /* centre of mass, inertia about it */
} kn_plain_body;

/* The mechanism at one (q, v). */
typedef struct kn_plain {
  const kn_model* model;
  kn_plain_body* body;
  kn_plain_dof* dof; /* nv */
  double *M, *c;     /* nv x nv; velocity and gravity terms */
  double kinetic, potential, spring;
} kn_plain;

kn_status kn_plain_create(kn_plain* p, const kn_model* model);
void kn_plain_destroy(kn_plain* p);
void kn_plain_place(kn_plain* p, const double* q,
                    const double* v); /* poses, dofs, velocities, accelerations */
void kn_plain_matrices(kn_plain* p, const double* q,
                       const double* v); /* M, c, energies; after kn_plain_place */
/* Velocity direction of a body's point in dof i: row of the Jacobian, linear part. */
void kn_plain_column(double out[3], const kn_plain* p, kn_body body, const double point[3], int dof);
void kn_plain_spin(double out[3], const kn_plain* p, kn_body body, int dof); /* angular part */
bool kn_plain_above(const kn_model* m, kn_body a, kn_body b);                /* does moving a move b? */
/* q ⊕ dt v by the exact rotation of every joint. */
void kn_plain_advance(double* out, const kn_model* m, const double* q, const double* v, double dt);
/* Signed distance of a world point from a geom's surface (negative inside); NAN when not known (meshes). */
double kn_plain_surface(const kn_plain* p, kn_geom geom, const double point[3]);

/* ---- checks ---- */
typedef struct kn_verifier {
  const kn_model* model;
  const char* stepper;
  bool full; /* all steps recorded */
  double tolerance;
  kn_plain mid, after, before, flight; /* flight: of an impact, before the repair */
  double *r, *scratch, *J, *L, *left, *mu, *H;
  void (*found)(void* context, int64_t step, const char* check, double value, double limit);
  void* context;
  kn_ledger total;
  bool started;
} kn_verifier;

kn_status kn_verifier_create(kn_verifier* v, const kn_model* model);
void kn_verifier_destroy(kn_verifier* v);
void kn_verifier_step(kn_verifier* v, const kn_recorded* step);

#endif
