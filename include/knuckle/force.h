/* Forces of contacts. A contact that carries a load over a step has a force, in N: its impulse over the step
   divided by its length. A contact that collides has an impulse, in N s, and no force: the blow takes no
   time. So have those that are joined to it in its island, since one blow goes through all of them, and, with
   kn_loads_land, what lands without bouncing. Neither is ever written as the other. From a report or a recording alike. */
#ifndef KNUCKLE_FORCE_H
#define KNUCKLE_FORCE_H

#include "knuckle/contact.h"
#include "knuckle/dynamics.h"

KN_BEGIN_DECLS

/* What one contact carried in a step, as force or impulse. */
typedef struct kn_contact_load {
  bool impulse;              /* N s: the island collided in this step; otherwise N */
  double local[3];           /* on A in the contact's frame: normal, tangent 1, tangent 2 */
  double world[3];           /* on A in world axes */
  double normal, tangential; /* sizes */
  kn_answer determinate;     /* by the motion; kn_loads_judge, or the contact's own */
} kn_contact_load;

/* In place of a body: all of them. */
#define KN_ANY_BODY (-2)

/* The load that one body exerts on another, all contacts between them together, or all on one body. */
typedef struct kn_load_sum {
  kn_body a, b;                /* on a from b; b = KN_ANY_BODY: from all */
  int contacts;                /* that carry something */
  double force[3], impulse[3]; /* world axes, on a; N, N s */
  double normal, tangential;   /* N: sums of the sizes, so not smaller than |force| */
  double impulse_normal;       /* N s */
  kn_answer determinate;       /* of the sum: yes where its parts are not, if they can only trade load among
                            themselves (four feet of a table that is one body) */
} kn_load_sum;

/* "open", "sticking", "slipping" or "rolling". */
KN_API const char* kn_contact_mode_name(const kn_contact* contact);

/* Of every contact of a step that took dt. */
KN_API kn_status kn_contact_loads(kn_contact_load* load, const kn_contact* contact, int contacts, double dt);
/* After it: contacts that land count as blows too. One that closes faster than v_rest (m/s, the settings' own; negative: 2 g dt)
   has its momentum taken within one step, whatever its restitution: as a force it would grow as the step shrinks. data:
   kinematics in the middle of the step with the velocities before it. */
KN_API kn_status kn_loads_land(kn_contact_load* load, const kn_model* model, const kn_data* data,
                               const kn_contact* contact, int contacts, double v_rest, double dt);
/* Sums by pair of bodies in the order in which they appear, then by body (without the world). *count is what
   there is, at most room are written: at most 3 contacts are enough for all. */
KN_API kn_status kn_load_sums(kn_load_sum* sum, int* count, int room, const kn_contact* contact,
                              const kn_contact_load* load, int contacts);
/* Which loads and sums does the motion determine? Those that every change of the forces which leaves the
   motion alone leaves alone too: the null space of Jᵀ over the closed contacts (sliding ones along their
   friction cone), limits that carry a load, loops and dry joint friction at rest. data: kinematics of the
   model at the step. limit_impulse: of the report or the recording, or NULL; v: nv velocities. Allocates. */
KN_API kn_status kn_loads_judge(kn_contact_load* load, kn_load_sum* sum, int sums, const kn_model* model,
                                const kn_data* data, const kn_contact* contact, int contacts,
                                const double* limit_impulse, const double* v);

/* Of all forces that give the same motion, which are reported? */
typedef enum kn_force_choice {
  KN_FORCES_NEAREST, /* the nearest to those reported for the step before; of a new contact, to none */
  KN_FORCES_LEAST,   /* the smallest: least sum of squares */
  KN_FORCES_SOLVED   /* those that the solver found */
} kn_force_choice;

/* Remembers what was reported for the step before. One per run; not for two threads at once. */
typedef struct kn_force_chooser kn_force_chooser;

/* For a run of this model; *out is NULL on failure. */
KN_API kn_status kn_force_chooser_create(kn_force_chooser** out, const kn_model* model,
                                         kn_force_choice choice);
/* NULL is fine. */
KN_API void kn_force_chooser_destroy(kn_force_chooser* chooser);
/* After kn_contact_loads, step by step: changes the loads that the motion does not determine. They stay within
   their friction cones and give the same motion; forces that it determines keep every bit, and so do blows,
   compliant contacts and islands of more than 96 contacts. Neither the state nor the simulator is touched.
   data: kinematics of the model where the step evaluates its contacts, half a step from its beginning (stepper
   time). Allocates when a step has more contacts than any before. */
KN_API kn_status kn_forces_choose(kn_contact_load* load, kn_force_chooser* chooser, const kn_data* data,
                                  const kn_contact* contact, int contacts);

KN_END_DECLS
#endif
