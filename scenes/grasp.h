/* The planar whole-arm grasp of Song and Kumar: two fingers of two straight links hold an ellipse with one
   sliding contact per link. Geometry, planned motion, dynamics, contact problem and control in closed form,
   for the scenes grasp-1 and grasp-2, their controller, tests and `knuckle bench grasp`.

     q = (x, y, φ, θ1, θ2, θ3, θ4)   object pose; absolute angle of a proximal link, relative angle of a
   distal links 1, 2: finger at (-0.05, 0); links 3, 4: finger at (+0.05, 0); contact i is that of link i n:
   unit normal of a link towards the object,  t = (n_y, -n_x)

   All in the plane, SI units. Nothing here allocates or calls libm beyond sqrt. */
#ifndef KN_SCENES_GRASP_H
#define KN_SCENES_GRASP_H

#include <stdbool.h>

enum { KN_GRASP_N = 7, KN_GRASP_C = 4 };

/* Numbers of the paper, section 4.2. */
#define KN_GRASP_A       0.15 /* semi-axes, m */
#define KN_GRASP_B       0.11
#define KN_GRASP_MASS    1.69    /* object, kg */
#define KN_GRASP_INERTIA 1.46e-2 /* kg m², as printed (a uniform ellipse has 1.462e-2) */
#define KN_GRASP_LINK    0.20    /* length, m */
#define KN_GRASP_LINK_M  0.5     /* kg */
#define KN_GRASP_LINK_I  1.67e-3 /* as printed (a uniform rod has 1.667e-3); centre of mass at half length */
#define KN_GRASP_PALM    0.05    /* half its length, m */

typedef enum kn_grasp_path { KN_GRASP_CUBIC, KN_GRASP_QUINTIC } kn_grasp_path;
typedef enum kn_grasp_law { KN_GRASP_FEEDBACK, KN_GRASP_FEEDFORWARD } kn_grasp_law;

/* A task: the object goes from one pose to the other in one second, then stays. */
typedef struct kn_grasp {
  double from[3], to[3]; /* x, y, φ */
  double mu[KN_GRASP_C];
  double lmin;   /* least normal force asked for, N */
  double kp, kv; /* feedback gains, 1/s², 1/s */
  double drag;   /* N: friction of the ground against the planned motion of the centre, made up for */
  kn_grasp_path path;
  kn_grasp_law law;
} kn_grasp;

/* The paper's tasks: 1 rotates from 70° to 110° about a fixed centre at height y0; 2 moves from y = 0.12 to
   0.18. */
kn_grasp kn_grasp_task(int example);

/* Desired pose, velocity and acceleration of the object; direction: d pose / d path parameter. */
void kn_grasp_desired(double x[3], double xd[3], double xdd[3], double direction[3], const kn_grasp* g,
                      double t);

/* Joint angles that let all four links touch the object at pose x: q complete. False when a link cannot. */
bool kn_grasp_inverse(double q[KN_GRASP_N], const double x[3]);

typedef struct kn_grasp_contacts {
  double n[KN_GRASP_C][2];
  double point[KN_GRASP_C][2]; /* on the ellipse */
  double s[KN_GRASP_C];        /* abscissa on the link, within 0 … KN_GRASP_LINK */
  double gap[KN_GRASP_C];
  double WN[KN_GRASP_C][KN_GRASP_N]; /* ∂gap/∂q */
  double WT[KN_GRASP_C][KN_GRASP_N]; /* tangential velocity = WT q̇ */
  double bias[KN_GRASP_C];           /* ẆN q̇ */
} kn_grasp_contacts;
void kn_grasp_contacts_at(kn_grasp_contacts* c, const double q[KN_GRASP_N], const double v[KN_GRASP_N]);

/* M (7 x 7, row-major) and h of M q̈ + h = u. */
void kn_grasp_dynamics(double M[KN_GRASP_N * KN_GRASP_N], double h[KN_GRASP_N], const double q[KN_GRASP_N],
                       const double v[KN_GRASP_N]);

/* X := M⁻¹ X for X with `columns` columns, row-major; M must be positive definite, n <= 8. */
void kn_grasp_solve(double* X, const double* M, int n, int columns);

/* Motion of all joints when the object moves as given and the contacts are kept (gap̈ = 0). */
void kn_grasp_follow(double v[KN_GRASP_N], const kn_grasp_contacts* c, const double xd[3]);
void kn_grasp_follow_second(double a[KN_GRASP_N], const kn_grasp_contacts* c, const double xdd[3]);

typedef struct kn_grasp_plan {
  double q[KN_GRASP_N], v[KN_GRASP_N], a[KN_GRASP_N];
  double slip[KN_GRASP_C]; /* sign of the tangential velocity, of its direction where it vanishes */
  kn_grasp_contacts contact;
} kn_grasp_plan;
bool kn_grasp_plan_at(kn_grasp_plan* p, const kn_grasp* g, double t);

/* A = W_N^T M⁻¹ W_σ (row-major) with W_σ = W_N - W_T diag(mu slip). */
void kn_grasp_matrix(double A[KN_GRASP_C * KN_GRASP_C], const kn_grasp_contacts* c,
                     const double M[KN_GRASP_N * KN_GRASP_N], const double mu[KN_GRASP_C],
                     const double slip[KN_GRASP_C]);
/* b = W_N^T M⁻¹ (u - h) + ẆN q̇ with joint torques u. */
void kn_grasp_offset(double b[KN_GRASP_C], const kn_grasp_contacts* c,
                     const double M[KN_GRASP_N * KN_GRASP_N], const double h[KN_GRASP_N],
                     const double torque[4]);

/* The control law: joint torques (at most 10 N m, a dozen times the planned ones) and the normal forces they
 * are meant to cause. */
void kn_grasp_control(double torque[4], double lambda[KN_GRASP_C], const kn_grasp* g, double t,
                      const double q[KN_GRASP_N], const double v[KN_GRASP_N]);

#endif
