/* Free bodies and hinge rows made from the tree: what the non-minimal formulations share (maximal.c). */
#pragma once

#include "contact/formulation/formulation.h"

/* A link with its own mass, and the joint that leads to it (massless links of compound joints included). */
typedef struct kn_unit {
  int link, parent; /* parent unit, -1: world */
  int dofs, dof[6]; /* of the joint that leads to it */
  bool thin;        /* its own inertia is singular: a rod, a point */
  double held[2];   /* the joint's rows weigh this much, kg m² and kg, in M too (0: not at all) */
  double o[3], l[3];
  double M[36];     /* inertia at the origin, world axes */
  double S[36];     /* 6 x dofs */
  double Splus[36]; /* dofs x 6 */
  double N[36];     /* (6 - dofs) x 6, orthonormal rows */
} kn_unit;

/* A hinge or a contact is a matter of two bodies; rows of more (coupled joints) count as full: first entry -2. */
enum { KN_ROW_BODIES = 4 };

typedef struct kn_maximal {
  int units, hinge_rows, n; /* n = 6 units */
  bool coupled;             /* armature, implicit terms or thin bodies couple the bodies */
  int* unit_of;             /* nlink: the unit a link belongs to */
  kn_unit* unit;
  double* G;         /* rows x n: hinge rows first (dense variants), then those of the problem */
  double* X;         /* M⁻¹ Gᵀ, stored by rows, as G */
  int* on;           /* dense variants: the bodies of each row of G, KN_ROW_BODIES of them, -1: no more */
  double* Minv;      /* dense variants: n x n Cholesky factor when coupled, else 36 per unit */
  double *V, *f, *t; /* n: velocities, impulses of the smooth forces, scratch */
  double* bias;      /* n */
  double *V_begin, *V_end;  /* n: of the step under way, before and after */
  double *q, *d;            /* nq, nq, nv: bodies.c */
  bool refined;             /* V_end holds the velocities of the solve under way (refine.c) */
  kn_row_block* probe;      /* 2 units: angular and linear velocity of each origin */
  struct kn_branch* branch; /* units: sparse variant */
} kn_maximal;

/* Units and hinge rows of a model. */
int kn_maximal_units(const kn_model* model, int* hinge_rows);
/* Room for the bodies; branch_bytes (per unit) > 0: the sparse variant, without dense hinge rows. */
size_t kn_maximal_bytes(const kn_model* model, int max_rows, size_t branch_bytes);
kn_status kn_maximal_init(kn_contact_work* w, void* memory, size_t bytes, size_t branch_bytes);

/* Origins and inertias at the present poses. */
void kn_maximal_inertias(kn_contact_work* w);
/* The same and the hinges; decides whether the bodies are coupled. */
void kn_maximal_place(kn_contact_work* w);
/* a (6) on unit u and, carried over, with the opposite sign on its parent: the joint's relative velocity. */
void kn_maximal_relative(double* row, const kn_maximal* x, int u, const double a[6]);
/* What the held rows of a unit's joint add to M: blocks own, own-parent and parent-parent. */
void kn_maximal_hold(double own[36], double cross[36], double parent[36], const kn_unit* unit);
/* out = -Xᵀ a: what a row a on the unit says about its parent. */
void kn_maximal_carry(double out[6], const kn_unit* unit, const double a[6]);
/* The rows of the problem, w->rows x n, at G. */
void kn_maximal_rows(double* G, kn_contact_work* w);
/* row += scale times the row of a degree of freedom. */
void kn_maximal_dof(double* row, const kn_maximal* x, const kn_model* model, int dof, double scale);
/* Velocities of all origins for minimal velocities v. */
void kn_maximal_velocity(double* V, kn_contact_work* w, const double* v);
/* x->V: the bodies' velocities before the step, x->f: dt times the forces on them; an impact: V of v_free, 0.
 */
void kn_maximal_forces(kn_contact_work* w, const double* v_free);
/* Minimal velocities of V; without hinge_bias the bodies keep V for the next step. */
void kn_maximal_motion(double* v, kn_contact_work* w, const double* V);

/* Fills x->probe for the present origins. */
void kn_maximal_probes(kn_maximal* x);

/* ---- refinement (refine.c) ---- */
typedef struct kn_refinement {
  int n, rows;             /* velocities; hinge rows and those of the problem */
  const double *G, *X, *W; /* rows x n, M⁻¹ Gᵀ by rows, rows x rows */
  const double *V_0, *q;   /* n (or NULL: 0), rows: u = G (V - V_0) + q */
  const kn_block* block;
  int nblock;
  double *V, *p; /* n, rows: the solution, improved */
} kn_refinement;

size_t kn_refine_doubles(int total, int max_rows);
/* Until the equality rows are closed to `tolerance` of what is added up in them and the others obey their sets to
   it. */
void kn_refine(const kn_refinement* r, kn_contact_work* w, double tolerance);

/* V = x->V + X r. */
void kn_maximal_advance(double* V, const kn_contact_work* w, const double* r);
/* Formulations whose unknowns are impulses only: w->r, and the velocities in x->V_end. */
void kn_maximal_refine(kn_contact_work* w, double tolerance);

/* ---- the bodies as state (bodies.c) ---- */
size_t kn_bodies_bytes(const kn_model* model);
/* Whether the block's poses and velocities belong to this state. */
bool kn_bodies_current(double* block, const kn_contact_work* w, const double* q, const double* v);
/* After the solve of a step: moves the bodies by themselves from q_before and brings them back onto the
   hinges (unless control is off); q: the joints' guess on entry, the bodies' closed position on return (with
   hinge_bias: unchanged). drift: how far they were from it, m or rad. Writes poses and factors of the data.
 */
kn_status kn_bodies_advance(double* q, double* drift, double* block, bool current, kn_contact_work* w,
                            const double* q_before, double dt, bool hinge_bias, bool control);
/* At the end of a step at (q, v): what the next one starts from. moved: poses are read from the data, which
   must be at q. */
void kn_bodies_keep(double* block, kn_contact_work* w, const double* q, const double* v, bool moved);
