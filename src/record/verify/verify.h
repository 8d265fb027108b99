/* The verifier's inside: plain mechanics of its own (dense, slow), shapes of its own, and the checks of one
   step. Shares the layout of kn_model and the recording's reader with the rest of the library and nothing
   else; the map is README.md in this folder. */
#pragma once

#include <math.h>

#include "knuckle/record.h"
#include "model/model.h"

static inline double kn_plain_dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline double kn_plain_length(const double a[3]) { return sqrt(kn_plain_dot(a, a)); }

/* ---- mechanism.c: the mechanism at one (q, v) ---- */

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

/* Who moves whom, found once: the dofs above a body, and the trees, whose dofs stand together. */
typedef struct kn_plain_plan {
  int *chain, *chain_at;    /* dofs that move body b: chain[chain_at[b]] … chain[chain_at[b + 1] - 1] */
  int trees, *first, *size; /* dofs first[t] … first[t] + size[t] - 1 */
  size_t* block;            /* where the matrix of tree t begins */
  int* tree;                /* nv: tree of a dof */
  size_t entries;           /* of all those matrices */
} kn_plain_plan;

/* The tree of a body; -1: nothing moves it. */
static inline int kn_plain_tree(const kn_plain_plan* p, kn_body body) {
  return body != KN_WORLD && p->chain_at[body + 1] > p->chain_at[body] ? p->tree[p->chain[p->chain_at[body]]]
                                                                       : -1;
}
kn_status kn_plain_plan_make(kn_plain_plan* plan, const kn_model* model);
void kn_plain_plan_free(kn_plain_plan* plan);

typedef struct kn_plain {
  const kn_model* model;
  const kn_plain_plan* plan;
  kn_plain_body* body;
  kn_plain_dof* dof; /* nv */
  double *M, *L;     /* a matrix per tree (plan->block); L its factor once kn_plain_solve asked for it */
  bool factored;
  double *c, *carry; /* nv: velocity and gravity terms; forces that carry the weight (gravcomp) */
  double *Jv, *Jw;   /* scratch */
  double kinetic, potential, spring;
} kn_plain;

kn_status kn_plain_create(kn_plain* p, const kn_model* model, const kn_plain_plan* plan);
void kn_plain_destroy(kn_plain* p);
/* Poses, dofs, velocities, accelerations; then M, c and energies. */
void kn_plain_place(kn_plain* p, const double* q, const double* v);
void kn_plain_matrices(kn_plain* p, const double* q, const double* v);
/* r += (M + extra) x; the largest term. x := (M + extra)⁻¹ x, with the same extra until the next place. */
double kn_plain_multiply(double* r, const kn_plain* p, const double* extra, const double* x);
void kn_plain_solve(double* x, kn_plain* p, const double* extra);
double kn_plain_inertia(const kn_plain* p, int dof); /* on the diagonal of M */
/* What dof i does to a point of its body or of one below; the angular part. */
void kn_plain_column(double out[3], const kn_plain* p, const double point[3], int dof);
/* Velocity of a body's point, and the body's spin, when the dofs move with v. */
void kn_plain_velocity(double out[3], const kn_plain* p, kn_body body, const double point[3],
                       const double* v);
void kn_plain_spin(double out[3], const kn_plain* p, kn_body body, const double* v);
/* r -= sign × (the force f at a body's point, seen by the dofs); the largest term grows *size. */
void kn_plain_take(double* r, double* size, const kn_plain* p, kn_body body, const double point[3],
                   const double f[3], double sign);
/* row += what a unit force f on A of the contact, and its reaction on B, do to the dofs. */
void kn_plain_push(double* row, const kn_plain* p, const kn_contact* c, const double f[3]);
/* r -= sign × (the moment n on a body), as above. */
void kn_plain_twist(double* r, double* size, const kn_plain* p, kn_body body, const double n[3], double sign);
/* q ⊕ dt v by the exact rotation of every joint, and back: v with from ⊕ v = q. */
void kn_plain_advance(double* out, const kn_model* m, const double* q, const double* v, double dt);
void kn_plain_way(double* v, const kn_model* m, const double* from, const double* q);
/* Gap of limit i of the model at q, and in axis[3] what it is along for a ball joint; its rate when the dofs move with v. */
double kn_plain_limit(double axis[3], const kn_model* m, int limit, const double* q);
double kn_plain_limit_rate(const kn_limit* l, const double axis[3], const double* v);

/* ---- shape.c ---- */

/* A frame on a body, and a geom, in the world. */
void kn_plain_frame(kn_pose* pose, const kn_plain* p, kn_body body, const double pos[3],
                    const double quat[4]);
void kn_plain_geom(kn_pose* pose, const kn_plain* p, kn_geom geom);
/* Signed distance of a world point from a geom's surface (negative inside); NAN when not known (meshes). */
double kn_plain_surface(const kn_plain* p, kn_geom geom, const double point[3]);
/* By how much the point is not `gap` away from the surface that looks along n there, m; NAN: a mesh. */
double kn_plain_off(const kn_plain* p, kn_geom geom, const double point[3], const double n[3], double gap);
/* Largest n·x over the shape; INFINITY for planes and meshes. */
double kn_plain_reach(const kn_shape* shape, const kn_pose* pose, const double n[3]);
/* A lower bound of the gap of two geoms that is the gap if the normal is right; NAN for pairs with meshes. */
double kn_plain_apart(const kn_plain* p, kn_geom a, kn_geom b, const double n[3]);
/* The gap: the normal and the points come from kn_distance, the number from the shapes' own reach along that
   normal, so that a wrong normal can only make the gap look too small. */
typedef struct kn_plain_gap {
  double gap, normal[3], point[3];
} kn_plain_gap;
bool kn_plain_gap_of(kn_plain_gap* out, const kn_plain* p, kn_geom a, kn_geom b);

/* ---- pairs.c ---- */

typedef struct kn_surface { /* of a pair of geoms, by the rules of types.h */
  double mu, e;
  double mu2, torsion, roll; /* along the second tangent; m, 0: none */
} kn_surface;

typedef struct kn_nearby kn_nearby; /* which geoms may touch, and scratch to look for those that are near */
kn_status kn_nearby_create(kn_nearby** sweep, const kn_model* model);
void kn_nearby_destroy(kn_nearby* sweep);
bool kn_may_collide(const kn_nearby* sweep, kn_geom a, kn_geom b);
kn_surface kn_surface_of(const kn_nearby* sweep, kn_geom a, kn_geom b);
/* Calls fn with every pair that may collide and whose boxes, each grown by grow[geom], meet. */
typedef void (*kn_pair_fn)(void* context, kn_geom a, kn_geom b);
void kn_nearby_pairs(kn_nearby* sweep, const kn_plain* p, const double* grow, kn_pair_fn fn, void* context);

/* ---- checks ---- */

/* X(NAME, name, doc, needs whole steps: left out where impacts split them). docs/recording.md has this table. */
#define KN_CHECKS(X)                                                                                         \
  X(FILE, "file", "checksums, index and footer are whole", false)                                            \
  X(CHAIN, "chain", "steps follow each other: numbers, hash chain over model, settings and steps", false)    \
  X(FINITE, "finite", "no NaN, no infinity", false)                                                          \
  X(TIME, "time", "t grows by dt, and dt is the settings' own", false)                                       \
  X(FOLLOWS, "follows", "a step starts where the one before ended, unless the caller moved the state",       \
    false)                                                                                                   \
  X(FORCES, "forces", "springs, dampers, actuators and inputs from the model give the forces used", true)    \
  X(FREE, "free-velocity", "(M + extra)(v_free - v) = dt (tau - c)", true)                                   \
  X(MOMENTUM, "momentum", "(M + extra)(v+ - v) = dt (tau - c) + J^T p, or M (v+ - v_free) = J^T p", true)    \
  X(POSITION, "position", "q+ = q + dt (v + v+)/2, up to the repair of overlaps and loops", true)            \
  X(SCALING, "scaling", "velocities changed after the solve were only slowed", true)                         \
  X(PAIR, "pair", "every contact joins two geoms that may touch, and the bodies that carry them", false)     \
  X(FRICTION_COEFFICIENT, "friction-coefficient",                                                            \
    "mu is the model's for this pair, and so are torsion and roll", false)                                   \
  X(RESTITUTION, "restitution", "e is the model's; what bounced did so with e, by the law that was set",     \
    true)                                                                                                    \
  X(POINT, "contact-point",                                                                                  \
    "the point lies between the two surfaces (of a capsule: of one of the balls along its axis)", true)      \
  X(GAP, "gap", "recorded gaps and normals are those of the shapes", true)                                   \
  X(MISSING, "missing-contact", "no pair that closes in the step is left out", true)                         \
  X(PULL, "pull", "no contact and no limit pulls", true)                                                     \
  X(CONE, "friction-cone", "|p_t| <= mu p_n, or |(p_1/mu, p_2/mu2, T/torsion, M/roll)| <= p_n", true)        \
  X(APPROACH, "approach", "closed contacts and limits do not approach after the step", true)                 \
  X(COMPLEMENTARITY, "complementarity", "what carries a force does not open", true)                          \
  X(SLIP, "slip", "friction acts against slip, and with all it has where there is slip", true)               \
  X(LIMIT, "limit", "no joint beyond its range", false)                                                      \
  X(LOOP, "loop", "loops are closed, and so are their velocities", false)                                    \
  X(OVERLAP, "overlap", "no pair of shapes overlaps by more than the step says", false)                      \
  X(SENSORS, "sensors", "sensors show what they do at the recorded state with the recorded forces", false)   \
  X(ENERGY, "energy", "kinetic, potential and spring energy are the mechanism's own", false)                 \
  X(LEDGER, "ledger", "the columns balance and add up", false)                                               \
  X(GAIN, "energy-gain", "contacts and impacts of a step create no energy", true)                            \
  X(RISE, "energy-rise", "the total energy never rises by a part in a thousand above what was put in", true) \
  X(RESIDUAL, "residual", "the residual the step reported for its contact problem", false)

typedef enum kn_check_id {
#define X(id, name, doc, time) KN_CHECK_##id,
  KN_CHECKS(X)
#undef X
      KN_CHECK_COUNT
} kn_check_id;

/* What was asked for, read once from the recording. */
typedef struct kn_asked {
  const char *stepper, *law;
  double dt, gtol, v_rest;
  double closed;                /* m or rad: gaps below this are what a repair of positions leaves */
  double theta;                 /* of the stepper `theta`, whose step is evaluated where it begins */
  bool moreau;                  /* that stepper */
  bool event;                   /* the stepper `event`: ends.c */
  int friction;                 /* directions of the polyhedron, 0: the cone */
  double K, C, Kt, eps, t0, m0; /* of compliant contacts; K is NAN where the law is not Kelvin-Voigt's */
  bool full;                    /* all steps recorded */
  bool varied;                  /* dt was given step by step, or e depends on the speed */
  bool guard, split, projection, keep_energy, any_e, sequential;
} kn_asked;

typedef struct kn_listed { /* a pair of the step, geoms ascending */
  kn_geom a, b;
  int contact, deepest; /* one of its contacts; the one with the least gap */
  double gap;
} kn_listed;

/* Forces by themselves, nv each. forces.c */
typedef struct kn_verify_force {
  double *tau, *extra, *actuator, *input, *drive_k, *drive_d;
} kn_verify_force;

/* What carried load in the step before: keys of contacts, and the limits' impulses. contacts.c */
typedef struct kn_verify_loaded {
  uint64_t feature;       /* key without its lowest bits, which number the points of a feature anew */
  double normal, slip[3]; /* velocities after the step; the slip in the world */
  double change[3];       /* by how much its rows had changed */
} kn_verify_loaded;

typedef struct kn_verify_load {
  kn_verify_loaded* contact; /* in the order of their features */
  int contacts;
  double* limit;
} kn_verify_load;

/* The step before. verify.c */
typedef struct kn_verify_last {
  bool started;
  double *q, *v, t;
} kn_verify_last;

/* Energy over the steps. energy.c */
typedef struct kn_verify_climb {
  double work, lowest; /* put in so far; least energy less work so far, J */
  double most;         /* the most that energy less work rose above `lowest`, in `step` */
  int64_t step;
  double kinetic_most, potential_least, potential_most;
  bool newton; /* some step had contacts that create energy by their law */
} kn_verify_climb;

/* Compliant contacts that returned. soft.c */
typedef struct kn_verify_returns {
  double deepest, offset, until; /* m: in the step before; that counts as closed; s */
} kn_verify_returns;

typedef struct kn_verifier {
  const kn_model* model;
  kn_asked asked;
  bool off[KN_CHECK_COUNT]; /* not to be checked */
  double tolerance;
  kn_plain_plan plan;
  kn_plain mid, after, before, flight; /* flight: where the step ends before the repair of positions */
  kn_nearby* sweep;
  struct kn_sensors* sensors; /* sensing.c; NULL: the model has none */
  kn_state* state;
  double* sensed;
  double *r, *scratch, *J, *left, *mu, *H, *grow, *spare;
  kn_verify_force force;
  void (*found)(void* context, int64_t step, const char* check, double value, double limit);
  void* context;
  kn_listed* listed;
  int listeds, listed_capacity;
  kn_verify_load loaded;
  bool failed;     /* no memory */
  double stiffest; /* of the step's contacts, -1: not known yet (contacts.c) */
  kn_ledger total;
  kn_verify_last last;
  kn_verify_climb climb;
  kn_verify_returns soft;
  double* ends; /* 6 nv: scratch of steps that are known by their ends (ends.c) */
} kn_verifier;

kn_status kn_verifier_create(kn_verifier* v, const kn_model* model);
void kn_verifier_destroy(kn_verifier* v);
void kn_verifier_step(kn_verifier* v, const kn_recorded* recorded);
/* Adds a violation of the check unless value <= limit. */
void kn_verifier_report(kn_verifier* v, int64_t step, kn_check_id check, double value, double limit);

/* The parts of a step's check, each in its file. s->v is the velocity of the solve (before scaling). */
void kn_verify_forces(kn_verifier* v, const kn_recorded* s, const double* mid); /* forces.c */
/* Leaves the forces of the model at (q, rates), P placed there, in v->force; the largest term. */
double kn_verify_forces_at(kn_verifier* v, const kn_recorded* s, const kn_plain* P, const double* q,
                           const double* rates);
void kn_verify_momentum(kn_verifier* v, const kn_recorded* s, const double* mid); /* momentum.c */
void kn_verify_position(kn_verifier* v, const kn_recorded* s);
bool kn_verify_soft(const kn_recorded* s); /* has the step compliant contacts? */
/* Impulses that come at instants within the step that are not recorded take dofs the way M⁻¹Jᵀ Q with 0 <= Q_n <= dt P_n and |Q_t| <= mu Q_n,
   for dt P/2 of the mean of the ends. way[nv] += the most that makes of a dof, m or rad: of compliant contacts or of all contacts, and of the
   limits and dry joints that may stand in one island with them. extra: on the diagonal of M. */
void kn_verify_pushes(double* way, kn_verifier* v, const kn_recorded* s, const double* extra, bool all);
/* The velocity that takes the positions through the step, when it ends with `end`. */
void kn_verify_mean(double* mean, const kn_verifier* v, const kn_recorded* s, const double* end);
void kn_verify_loops(kn_verifier* v, const kn_recorded* s);
void kn_verify_contacts(kn_verifier* v, const kn_recorded* s, const double* mid); /* contacts.c */
void kn_verify_bounces(kn_verifier* v, const kn_recorded* s);                     /* bounces.c */
bool kn_verify_alone(const kn_verifier* v, const kn_recorded* s,
                     const kn_contact* c);    /* nothing else pushes its bodies */
bool kn_verify_lowered(const kn_recorded* s); /* may restitution be less than e? */
typedef struct kn_spring {
  double K, C, Kt; /* N/m, N s/m, N/m */
} kn_spring;
void kn_verify_compliant(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double p_scale);
void kn_verify_returned(kn_verifier* v, const kn_recorded* s); /* v->soft */
double kn_verify_stored(const kn_verifier* v,
                        const kn_recorded* s);              /* J in compliant contacts after the step */
void kn_verify_pairs(kn_verifier* v, const kn_recorded* s); /* gaps.c */
void kn_verify_gaps(kn_verifier* v, const kn_recorded* s);
void kn_verify_overlaps(kn_verifier* v, const kn_recorded* s);
void kn_verify_limits(kn_verifier* v, const kn_recorded* s);
/* Does the step start with overlaps or joints beyond their range? Then its repair is what the caller asked
   for. */
bool kn_verify_start_broken(kn_verifier* v, const kn_recorded* s);
kn_status kn_verify_sensors_create(kn_verifier* v); /* sensing.c */
void kn_verify_sensors_destroy(kn_verifier* v);
void kn_verify_sensors(kn_verifier* v, const kn_recorded* s);
void kn_verify_energy(kn_verifier* v, const kn_recorded* s); /* energy.c */
bool kn_verify_newton(const kn_verifier* v,
                      const kn_recorded* s); /* may its contacts create energy by their law? */
void kn_verify_gain(kn_verifier* v, const kn_recorded* s);
double kn_verify_travelled(const kn_verifier* v,
                           const kn_recorded* s); /* contacts.c: Σ |p||δ|, before kn_verify_contacts */
void kn_verify_rise(kn_verifier* v, const kn_recorded* s);
void kn_verify_rise_end(kn_verifier* v);

/* ends.c: a step of `event` by its ends; left to `time`? */
bool kn_verify_handed(const kn_recorded* s);
void kn_verify_ends(kn_verifier* v, const kn_recorded* s, const double* mid);
/* momentum.c: of such a step; leaves dt (τ − c) at its two ends in v->ends. gaps.c: gaps and missing contacts at its end. */
void kn_verify_momentum_ends(kn_verifier* v, const kn_recorded* s, const double* mid);
/* Does the pair touch in one point, which may roll over both bodies? Then where it was when the step began. */
bool kn_verify_rolled(double at[3], const kn_verifier* v, const kn_recorded* s, const kn_contact* c);
/* By how much two positions differ, a coordinate at a time, beyond way[nv]; m, rad. */
double kn_verify_off(const kn_model* m, const double* a, const double* b, const double* way);
void kn_verify_gaps_end(kn_verifier* v, const kn_recorded* s);
/* contacts.c: how much farther than half the gap the contact point is from one of its surfaces. */
double kn_off_surface(const kn_plain* P, const kn_contact* c);

/* Velocity of the contact's point on A relative to B, in the contact's frame. */
void kn_contact_relative(double u[3], const kn_plain* p, const kn_contact* c, const double* v);
/* Friction with all its coefficients c = (mu, mu2, torsion, roll, roll): velocities times c/mu, and forces and moments over
   c/mu, obey the law of one coefficient mu. Of the step's impulses, and of the velocities u (in the frame) and w (about it). */
typedef struct kn_slip {
  double u[5], p[5];
  double speed, force; /* their lengths; INFINITY: a moment without a coefficient */
  bool spins;          /* has torsion or roll */
} kn_slip;
kn_slip kn_slip_of(const kn_verifier* v, const kn_contact* c, const double u[3], const double w[3]);
/* Spin of A relative to B in the contact's frame when the dofs move with v. */
void kn_contact_spin(double w[3], const kn_plain* p, const kn_contact* c, const double* v);
/* Speeds below this are small in this step, m/s. */
double kn_speed_scale(const kn_verifier* v, const kn_recorded* s);
/* Compliance J M⁻¹ Jᵀ of a contact's three rows. */
void kn_contact_compliance(double W[9], kn_verifier* v, const kn_recorded* s, kn_plain* p,
                           const kn_contact* c);
