/* The rows of one step: contacts, joint limits, dry joint friction and loops as one list of row blocks with
   their sets.

   Row form:  u = J v⁺ + bias,  impulse λ on the row;  the set says how u and λ go together (comp.h).

     contact   (n, t1, t2):  bias_n = 2 max(gap, 0)/dt (Moreau midpoint), bias_t = 0
               frictionless: the normal row only
               two coefficients: t2 is scaled by mu2/mu, which makes the elliptic cone circular
     spin      the turning about n scaled by torsion/mu, about t1 and t2 by roll/mu: with the contact's rows one
               cone |(λ_t1, λ_t2, λ_spin, λ_roll1, λ_roll2)| <= mu λ_n of up to six rows
     limit     side (q - bound) = gap >= 0:  row side e_v, bias as for a contact
     friction  |λ| <= dt f on a dof, u = v⁺
     loop      u = J v⁺ - U(t) = 0 */
#pragma once

#include "dynamics/tree/dynamics.h"
#include "knuckle/comp.h"
#include "knuckle/contact.h"

typedef enum kn_row_kind {
  KN_ROW_CONTACT,
  KN_ROW_LIMIT,
  KN_ROW_FRICTION,
  KN_ROW_LOOP,
  KN_ROW_ANCHOR,
  KN_ROW_SPIN /* of the contact in the group before: relative turning by torsion and roll, in the same comp block */
} kn_row_kind;

typedef struct kn_row_tag {
  kn_row_kind kind;
  int32_t index; /* contact, limit, dof, first loop row */
  int32_t row;   /* first scalar row */
  int32_t rows;
  int32_t block, blocks; /* comp blocks */
  int32_t tree[2];       /* root links of the trees it acts on, -1: none */
  bool held;             /* position repair: closed from both sides (hold.c) */
} kn_row_tag;

/* The gap of a contact that travels (travel.c): where it would end but for its drift, m; the normal velocity asked of it against the drift, m/s; its last drift, and whether these are known. */
typedef struct kn_row_drift {
  double due, push, last;
  bool known, lasted;
} kn_row_drift;

typedef struct kn_constraints {
  int count, rows, blocks; /* row groups, scalar rows, comp blocks */
  int max_count, max_rows; /* capacities; comp blocks <= max_rows */
  kn_row_block* geometry;  /* count */
  kn_row_tag* tag;         /* count */
  kn_block* block;         /* blocks */
  double* bias;            /* rows */
  double* rate;            /* rows: U(t) of prescribed loops, 0 elsewhere */
  double* travel;      /* rows: change of J v since the last midpoint, of groups that are held (travel.c) */
  kn_row_drift* drift; /* count: of those groups */
  double *u_before, *u_free; /* rows: J v and J v_free, when the caller has filled them */
} kn_constraints;

void kn_constraints_carve(kn_constraints* set, kn_arena* arena, int max_count, int max_rows);
static inline void kn_constraints_clear(kn_constraints* set) { set->count = set->rows = set->blocks = 0; }

/* Geometry of the rows of a contact: normal, tangent 1, tangent 2. */
void kn_contact_rows(kn_row_block* g, const kn_model* model, const kn_contact* c, int rows);
/* Whether a contact's friction is more than one coefficient. */
static inline bool kn_contact_rich(const kn_contact* c) {
  return c->mu > 0.0 && (c->mu2 != c->mu || c->torsion > 0.0 || c->roll > 0.0);
}
/* Each adds a row group (a contact with torsion or rolling two); KN_NO_ROOM when full. mu = 0 makes a frictionless row, INFINITY sticks. */
kn_status kn_constraint_add_contact(kn_constraints* set, const kn_model* model, const kn_contact* contact,
                                    int index, double bias);
/* The same contact's tangential rows as equalities (a sticking anchor to be restored); bias = residual. */
kn_status kn_constraint_add_anchor(kn_constraints* set, const kn_model* model, const kn_contact* contact,
                                   int index, const double residual[2]);
kn_status kn_constraint_add_limit(kn_constraints* set, const kn_model* model, const double* q, int index,
                                  double bias);
kn_status kn_constraint_add_friction(kn_constraints* set, const kn_model* model, int dof, double bound);
/* All rows of a loop at the present poses. rate: nonzero U(t) enters as -U on its row; violation (may be
   NULL) gets the position error of each row; returns the number of rows through *rows. */
kn_status kn_constraint_add_loop(kn_constraints* set, const kn_model* model, const kn_data* data,
                                 const double* q, int loop, int first_row, double t, int* rows,
                                 double* violation);

/* Gap of a limit (>= 0 inside) at q. */
double kn_limit_gap(const kn_model* model, int limit, const double* q);
/* Number of rows of a loop. */
int kn_loop_rows(const kn_model* model, int loop);
