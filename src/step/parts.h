/* The parts of a simulator (sim.h), each with the files that write it. A stage reads the parts of the stages
   before it; only the owner writes a part. Arrays live in the simulator's arena (sim.c). */
#pragma once

#include "contact/detect/detect.h"
#include "contact/formulation/formulation.h"
#include "knuckle/step.h"
#include "model/state.h"

/* Impulse of a row of the last step, kept in the state for the warm start. Keys of limits, dofs and loop rows
   have the top bits set. f: contact impulse in world axes, or (λ, 0, 0). */
typedef struct kn_warm_entry {
  uint64_t key;
  double f[3];
} kn_warm_entry;

/* A sticking contact. Fixed: material points a, b of the two links (link frames) that must stay together
   tangentially. Rolling (a round surface takes part): a = slip since sticking began, world axes. */
typedef struct kn_anchor {
  uint64_t key;
  int64_t rolling;
  double a[3], b[3];
} kn_anchor;

/* Row velocities J_m v⁺ of a group at the end of a step, beside its kn_warm_entry (travel.c). */
typedef struct kn_travel_entry {
  double dt;                    /* of that step */
  double normal, slip[3];       /* slip in world axes */
  double by_normal, by_slip[3]; /* J_m v less that of the midpoint before */
  int64_t known;                /* whether there was one */
  double gap;                   /* where the step ended */
  double push, drift, last; /* asked of the normal; drift of the gap in this step and the one before, m/s */
  int64_t measured;         /* 1: the gap, 2: and a drift, 3: and the last */
} kn_travel_entry;
typedef struct kn_travel { /* of the last step, in this one; no entries: not known */
  const kn_travel_entry* entry;
  int count;
  double share;   /* of the change between two midpoints that is left to the end of the step */
  double between; /* s, from the midpoint before to this one */
} kn_travel;

/* Energy at the end of a step, in the block "energy": that of the q and v with the mark (commit.c). */
typedef struct kn_energy_entry {
  uint64_t mark;
  kn_energy energy;
} kn_energy_entry;

/* Accelerations of the last steps in the block "rate", for the guess of the mean velocity (forces.c): free, the
   free one before it, by contacts that stayed loaded. Each with room for whole eights. */
static inline size_t kn_rate_stride(const kn_model* m) { return ((size_t)m->nv + 7) & ~(size_t)7; }
static inline size_t kn_rate_bytes(const kn_model* m) { return 3 * kn_rate_stride(m) * sizeof(double); }

/* How stiff forces enter: -D (v + d dv), -K (q + kv v + kdv dv - q_0) with q the evaluation point. */
typedef struct kn_implicit {
  double d, kv, kdv;
} kn_implicit;

/* What the stages of a step hand on beside the arrays of their parts: each line is the answer of the stage in front,
   and an input of later ones. A local variable of the stepper; nothing of it outlives the step. */
typedef struct kn_flow {
  bool clear;     /* 2: nothing can touch until the end of the step */
  bool impact;    /* 4: some contact collides */
  bool held;      /* 4: some row that carried load stays closed (hold.c) */
  bool reusable;  /* 6: sim.os holds Λ and the factors of sim.sets.set, one island, at q_m */
  bool loose;     /* 6: many contacts and a tolerance for heaps: overlaps may take several steps */
  bool behind;    /* 9: poses in data are those before the last, tiny correction of the repair */
  bool elsewhere; /* 9: poses in data are those before the step (keep_energy.c) */
} kn_flow;

/* Room for what a step finds; it grows between two attempts. sim.c */
typedef struct kn_sim_room {
  int contacts;
  int wants;        /* contacts a stage had no room for, besides the detector's own */
  int entries;      /* blocks of Λ, 0: the usual */
  int rows, repair; /* rows in all; rows of an island whose positions are repaired densely */
  int events;
} kn_sim_room;

/* What the model is, found once. sim.c */
typedef struct kn_sim_facts {
  double gravity;     /* its size, m/s² */
  double moving_mass; /* kg, of all links */
  bool one_tree;
  bool dry, bare; /* some dof has dry friction; no rows but those of contacts */
  bool driven;    /* some actuator can give a force */
  bool passive;   /* no springs, dampers or such actuators */
  bool smooth;    /* nothing but joints and loops can act: no contacts, limits, dry friction */
  bool rich;      /* some friction has torsion, rolling or two coefficients */
} kn_sim_facts;

/* Energy that the integrator has given and not taken, or the other way, in the block "drift" (keep_energy.c). */
typedef struct kn_drift {
  double left, scale; /* J; the largest kinetic energy so far, where something was counted */
} kn_drift;

/* Blocks of the state, found once per state; bodies, compliant and drift may be NULL. sim.c */
typedef struct kn_sim_blocks {
  kn_state_block *pairs, *impulses, *anchors, *rate, *travel, *energy, *bodies, *compliant;
  kn_state_block* drift; /* of models with loops: kn_drift */
  uint64_t stamp;        /* of the state whose blocks these are, as they are */
} kn_sim_blocks;

/* Where the last step ended. commit.c */
typedef struct kn_sim_past {
  double *q, *v;           /* nq, nv; book.energy_now is the energy there */
  double *q_kept, *v_kept; /* the same, while a step that may fail begins elsewhere */
  double *q_safe, *v_safe; /* where this step began */
  bool continues;          /* the state is where the last step ended */
  bool poses_elsewhere;    /* data has other poses or velocities than those there (end.c) */
} kn_sim_past;

/* Contacts. time.c (stage 2), project.c (after), anchor.c (slip, anchor), hold.c (held) */
typedef struct kn_sim_touch {
  kn_contact* contact; /* at the evaluation point; reported */
  int contacts;
  kn_contact* struck; /* of the parts before, in a step that is split */
  kn_contact* after;  /* after the step, for projection and penetration */
  int afters;
  bool* impacting;      /* per contact */
  double (*slip)[2];    /* per contact: mean tangential velocity over the step */
  kn_anchor* anchor;    /* scratch */
  int32_t* anchor_slot; /* kn_lookup_slots of the anchors */
} kn_sim_touch;

/* Rows that carried load stay closed. hold.c; lifted: project.c */
typedef struct kn_sim_hold {
  bool *contact, *limit; /* per contact, per limit: it carried load in the last step and does not land */
  bool* after;           /* per contact of after: held, and it carries load */
  double lifted;         /* largest gap of those of after, m */
  int* link;             /* 2 per contact: the links it is between, -1 the world */
  int *first, *next;     /* of many contacts: lists by the later one of these; -1 ends */
  bool listed;
} kn_sim_hold;

/* Forces of the step. forces.c; bias: ledger.c; all nv */
typedef struct kn_sim_force {
  double *tau, *tau_spring, *tau_damp, *tau_act, *tau_applied, *extra, *bias;
  double *implicit_k, *implicit_d; /* actuator stiffness and damping taken implicitly */
  kn_implicit implicit;
} kn_sim_force;

/* Positions and velocities of the step under way. time.c, forces.c (stages 1, 3, 9) */
typedef struct kn_sim_frame {
  double *q_mid, *q_hat;                          /* nq */
  double *v_prev, *v_free, *v_plus, *v_mean, *dv; /* nv */
  double* v_bias;   /* nv: velocity at which the velocity-dependent forces were taken */
  double* v_solved; /* nv: v_plus before it was scaled (scaled) to take energy back */
  bool scaled;
  double* a_forces; /* nv: acceleration by forces alone, in impacts */
} kn_sim_frame;

/* Scratch of steps in which something turns by half a radian and more, all nv. violent.c (stage 3) */
typedef struct kn_sim_violent {
  double *still, *v, *Mv;      /* acceleration without velocity-dependent forces; a velocity; M times it */
  double *moves, *bends, *sum; /* per tree, at the first dof of its root */
} kn_sim_violent;

/* The velocity at touch of a step with impacts. landing.c */
typedef struct kn_sim_landing {
  double* v;        /* nv */
  double* press;    /* per contact of after: impulse that makes v of v_free */
  double raised;    /* energy the landing added with the velocity held, J */
  int* link_island; /* nlink: island of sets.set a link belongs to, -1: none */
} kn_sim_landing;

/* Rows. gather.c, islands.c (stages 4, 5) */
typedef struct kn_sim_sets {
  kn_constraints found; /* all candidate rows, in detection order */
  kn_constraints set;   /* rows that take part, island by island: `kept`, or `found` itself (islands.c) */
  kn_constraints kept;  /* memory of its own for them */
  bool* keep;           /* per group of found: it takes part */
  int islands;
  int* island_first;              /* islands + 1: first group of each island in set */
  bool unsorted;                  /* heaps: the rows stay in the order of detection, all in the first range */
  int *tree_parent, *tree_island; /* nlink */
  int *order, *slot, *cursor;     /* groups: island, sorted position, counting */
  int32_t* lookup;                /* kn_lookup_slots of the groups */
} kn_sim_sets;

/* Limits near the midpoint of the step. gather.c */
typedef struct kn_sim_limits {
  int* near; /* nlimit: those within reach, and all of balls, by number */
  int nears;
} kn_sim_limits;

/* Per row of set (found for u_before). time.c (stages 6, 8), diagnose.c (stage 7: determinate) */
typedef struct kn_sim_row {
  double *lambda, *u_free, *u_plus, *u_before;
  double *compression, *e_used, *e; /* impacts */
  double* impact_scratch;
  bool* resting; /* a contact too slow to bounce */
  bool* determinate;
} kn_sim_row;

/* Loop rows. loops.c (stages 4, 9) */
typedef struct kn_sim_loops {
  bool* kept;  /* loop rows: independent of the others, as decided in this step */
  bool known;  /* it was */
  bool here;   /* 9: sets.found has the rows of all loops at the poses in data, and no others */
  double work; /* of prescribed motions in the velocity repair, J */
} kn_sim_loops;

/* Positions after the step. project.c, retreat.c (stage 9) */
typedef struct kn_sim_repair {
  kn_rows rows;             /* factored */
  bool *one_sided, *pushed; /* rows */
  double* least_scratch;
  int* least_pivot;
  double* violation;                       /* rows */
  double *q_try, *q_best, *q_left, *q_end; /* nq */
  double* shift;                           /* nv: what the repair of the step moved */
  double look;                             /* work of the last look at a position (budget.c) */
  bool* back;                              /* nlink: roots of trees that end short of their way (retreat.c) */
} kn_sim_repair;

/* How far apart things are, for steps in which nothing can touch. clear.c */
typedef struct kn_sim_clear {
  bool known;          /* speed and spin are the state's */
  int64_t step;        /* of the state whose speed and spin these are */
  double room;         /* how far apart all pairs are, m */
  double speed, spin;  /* largest of a surface point and of a link */
  double length, bend; /* longest way along links; ½ or ½ + depth */
  double radius;       /* of the geoms about their links' origins */
} kn_sim_clear;

/* Of report.rise: energy that nothing explains. ledger.c */
typedef struct kn_sim_rise {
  double last, jump; /* energy where the last step ended; what the state was changed by since */
  double outside;    /* all of these */
  double low, contact, switching, damping, integration,
      correction;         /* at the lowest F: itself and the totals */
  double told, told_loop; /* the last rise that was a trouble; the last loss to loops that was one */
  double taken_integration, taken_correction; /* energy taken from the velocities, J */
  bool begun, first; /* some step; this is the first from where the caller put the state */
} kn_sim_rise;

/* A contact of the last step, for events. */
typedef struct kn_seen {
  uint64_t key;
  kn_contact_mode mode;
  kn_geom a, b; /* event stepper */
} kn_seen;

/* What the observers keep: ledger.c, report.c (stage 10). Not part of the state. */
typedef struct kn_sim_book {
  double kinetic_max, potential_min, potential_max;
  bool started;
  kn_energy energy_before, energy_hat, energy_now;
  double flight; /* of the integration column: all but the energies before and at q_hat */
  double impact_energy;
  double law_gain; /* what impacts of the step created: a law without its guard may, J */
  bool collided;   /* v⁺ is that of a landing with impacts; for the recorder */
  kn_sim_rise rise;
  kn_event* event;
  kn_seen* last; /* contacts of the last step */
  int lasts;
  kn_contact_mode* mode;                              /* per contact: as events see it */
  double *limit_impulse, *loop_impulse, *dry_impulse; /* limits, loop rows, nv */
  bool* loop_determinate;                             /* loop rows */
} kn_sim_book;

/* The fast paths of a step: a list, like solvers and laws (kn_fast_paths of step.h). Each replaces a general
   way that stays in the code; which are on is settled once per simulator (kn_fast_choose, kn_fast_apply),
   and every layer owns the plain switch of its own path. Nothing else asks for a path by name. */
/* In the order of the list. */
typedef enum kn_fast {
  KN_FAST_PLANAR, /* dynamics/planar: kn_data_in_space switches it off */
  KN_FAST_SIGHT,  /* contact/detect/sight: kn_detector_in_space */
  KN_FAST_CLEAR,  /* step/time/clear.c */
  KN_FAST_MODES,  /* comp/cone/flat.c: kn_solver_work_modes */
  KN_FAST_HEAP,   /* dynamics/rows/rows_loose.c and comp/heap: kn_contact_work.fast_heap */
  KN_FAST_COUNT
} kn_fast;

/* *on: bit per path, all but those that `off` (names with commas between, "none": no path at all; may be
   NULL) and the environment's KN_FAST switch off. KN_NOT_FOUND for a name that is none. */
kn_status kn_fast_choose(unsigned* on, const char* off);
static inline bool kn_fast_on(unsigned on, kn_fast path) { return on >> path & 1; }
