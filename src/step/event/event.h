/* The event-driven stepper's inside: smooth motion with the touching contacts held on the acceleration level,
   gaps watched between, impacts and changes of contact modes at the instants where they happen.

     event.c          the step: rounds of (touch, collide, choose modes, fly, locate, repair)
     event_touch.c    which contacts, limits and loops are closed at a state; impacts
     event_force.c    accelerations and forces of the closed rows; choice of modes
     event_flow.c     Runge-Kutta between events, dense output
     event_gap.c      first instant at which an open gap closes
     event_repair.c   positions and velocities of the closed rows after a sub-step
     event_book.c     ledger, impulses, events and report */
#pragma once

#include <math.h>

#include "step/sim.h"

enum {
  KN_EVENT_STAGES = 7,
  KN_EVENT_ROWS = 480 /* held rows of an island; larger ones are left to `time` */
};

/* A closed row group: held (stick, slip) or released (open) on the acceleration level. */
typedef struct kn_held {
  kn_row_kind kind;
  int index;            /* limit, dof, loop row */
  kn_contact c;         /* contact: geometry of the last evaluation */
  int pair;             /* contact: its pair in the list of caches */
  kn_contact_mode mode; /* limits and loops: STICK when held */
  bool onset;           /* slips from rest: s is kept until it moves */
  bool moving;          /* slid when the sub-step began: may come to stick */
  double s[3];          /* direction of slip, world (dry friction: s[0] = ±1) */
  double s_begin[3];    /* … of a contact when the sub-step began */
  double f[3];          /* force in the contact's frame (others: f[0]), last evaluation */
  double u[3], a[3];    /* velocity and acceleration of the rows there */
  double base[3];    /* admissible force from the cone problem, world (others: base[0]): λ stays near it */
  bool certified;    /* sticking with admissible forces was shown to be possible */
  double across;     /* slip: mu λ_n Λ across the direction of slip, m/s²: how fast it turns */
  double size;       /* force whose sign is beyond rounding, last evaluation */
  double slip[3];    /* of a sticking contact over the sub-step, world, m: what the integrator lets slip */
  double impulse[3]; /* over the sub-step, world (others: impulse[0]) */
} kn_held;

typedef struct kn_watch { /* what one evaluation of the open gaps says */
  double gap;             /* smallest open gap, m or rad */
  double rate;            /* its rate */
  double ahead, behind;   /* s: no open gap can close within this time after, before */
} kn_watch;

enum {
  KN_POWER_ACTUATOR,
  KN_POWER_APPLIED,
  KN_POWER_DAMPING,
  KN_POWER_JOINT_FRICTION,
  KN_POWER_FRICTION,
  KN_POWER_NORMAL,
  KN_POWER_LIMIT,
  KN_POWER_LOOP,
  KN_POWER_PRESCRIBED,
  KN_POWERS
};

/* Closed rows of the sub-step, and the pairs they belong to. event_touch.c, event.c */
typedef struct kn_event_work_closed {
  kn_held* held;
  int helds, max_held;
  struct kn_held_pair {
    kn_geom a, b;
    kn_pair_cache cache;
  } * pair;
  int pairs;
  kn_contact* point; /* scratch of one pair */
  kn_contact* seen;  /* contacts at the start of the sub-step */
  int seens;
  bool* loop_keep; /* loop rows that take part */
  int loop_rows;
  int loop_rank; /* of the rows that took part when the step began; -1: not looked yet */
} kn_event_work_closed;

/* Stages of one sub-step. event_flow.c */
typedef struct kn_event_work_flow {
  double *qs, *q_stage, *vs, *us, *as, *as2;         /* displaced position; stage; accelerations */
  double *ku[KN_EVENT_STAGES], *kv[KN_EVENT_STAGES]; /* stage rates */
  double* u1;                                        /* increment of position over the sub-step */
  double h;                                          /* sub-step of the stages */
  double h_next;                                     /* proposal of the error control */
  double stage_power[KN_POWERS], power[KN_POWERS];
} kn_event_work_flow;

/* Bounds of the surfaces' motion, and what they found first. event_gap.c */
typedef struct kn_event_work_gap {
  double* spin;        /* ngeom: bound of the turning surface's speed */
  double* jerk;        /* ngeom: bound of its acceleration */
  double (*link_v)[6]; /* nlink: velocities at the start */
  uint64_t hit;        /* key of the contact that was located */
  int hit_limit;
} kn_event_work_gap;

/* The mode problem of the closed rows. event_force.c */
typedef struct kn_event_work_force {
  double *A, *LU, *z, *b, *r, *scale; /* rows², rows², rows … */
  struct kn_mode_unknown {
    int row, tangent, group, part;
    double s[2];
  } * unknown;
  double* bias;                   /* rows: J̇ v */
  double (*minus)[4], (*plus)[4]; /* groups: velocity at q -+ ε v: row 0, and the contact's in world axes */
  int* group;                     /* groups of an island */
} kn_event_work_force;

/* The controller's force, held over the step. event.c */
typedef struct kn_event_work_control {
  double* tau;
  double *sum, *all; /* N s, N m s: of the applied forces over the sub-step, and over the step */
  bool held;
  void* memory;
  double* ctrl;
} kn_event_work_control;

/* What the step has come to. event.c, event_book.c */
typedef struct kn_event_work_step {
  void* last;             /* of the simulator, before the step */
  kn_state_block anchors; /* copy of the state's at the beginning of the step */
  bool handed;            /* `time` takes the step */
  bool started;           /* the simulator had taken a step before this one */
  kn_contact* book;       /* contacts of the step with their impulses */
  int books;
  int events, limit; /* of the step */
  int evaluations, stalled;
  double usual; /* evaluations that a step of this scene usually costs */
  bool fresh;   /* w->a, forces and powers are those of the present state and modes */
} kn_event_work_step;

typedef struct kn_event_work {
  kn_arena arena;
  kn_state_block cache; /* pair caches of the step under way, and a copy for trials */
  kn_state_block trial;
  double t, left;    /* present time, time left in the step */
  double *q, *v, *a; /* present state, and its acceleration */
  double *q1, *v1;   /* end of the sub-step */
  kn_event_work_closed closed;
  kn_event_work_flow flow;
  kn_event_work_gap gap;
  kn_event_work_force force;
  kn_event_work_control control;
  kn_event_work_step step;
  kn_status trouble; /* why the step was given up */
  double trouble_value, trouble_limit;
} kn_event_work;

static inline kn_event_work* kn_events_of(kn_sim* s) { return s->own; }

/* Closed: closer than this and not moving apart or together; located impacts end within KN_EVENT_TOUCH. */
#define KN_EVENT_CLOSED 1e-9  /* m */
#define KN_EVENT_TOUCH  1e-11 /* m: approaching contacts this close collide */
#define KN_EVENT_LOCATE 1e-12 /* m: width in which a closing gap is located */
#define KN_EVENT_DEEP   1e-10 /* m: overlap of an open contact that is seen as closing */
#define KN_EVENT_REST   1e-9  /* m/s: rows slower than this rest */
#define KN_EVENT_ZENO   1e-7  /* s: a sequence of bounces that would end within this time is ended */

/* A fall through the width adds 2 g width to u²: slow contacts are located more finely, down to rounding. */
static inline double kn_event_width(double rate) {
  return fmin(KN_EVENT_LOCATE, fmax(1e-8 * rate * rate, 1e-16));
}

/* event.c: does the step cost more than it may? */
bool kn_event_spent(const kn_sim* s, const kn_event_work* w);
/* Adds to its evaluations what the searches for contacts have cost since the last call. */
void kn_event_weigh(kn_sim* s, kn_event_work* w);

/* event_touch.c */
kn_status kn_event_look(kn_sim* s, kn_event_work* w); /* contacts near the present state: w->closed.seen */
kn_status kn_event_collide(kn_sim* s, kn_event_work* w, bool* collided);
kn_status kn_event_hold(kn_sim* s, kn_event_work* w); /* closed rows at rest: w->closed.held */

/* event_force.c */
/* qdd at (t, q, v) with the held rows; choose: decide their modes first. */
kn_status kn_event_rate(double* qdd, kn_sim* s, kn_event_work* w, kn_state* x, double t, const double* q,
                        const double* v, bool choose);
/* Does a held row ask for another mode at the last evaluation? Returns its index, or -1; *value < 0 by how
   much. */
int kn_event_broken(const kn_event_work* w, double* value);
double kn_event_margin(const kn_held* held);
/* The held contact with this key, or NULL. */
const kn_held* kn_event_held(const kn_event_work* w, uint64_t key);

/* Does it stick, or slip only in name (from rest, held by others)? */
static inline bool kn_event_sticks(const kn_held* h) {
  if (h->kind != KN_ROW_CONTACT || !(h->c.mu > 0.0)) return h->mode == KN_MODE_STICK;
  return h->mode == KN_MODE_STICK ||
         (h->mode == KN_MODE_SLIP && h->onset && h->a[1] * h->a[1] + h->a[2] * h->a[2] < 1e-14);
}

/* event_flow.c */
kn_status kn_event_flow(double* error, kn_sim* s, kn_event_work* w, kn_state* x, double h);
/* Contacts whose direction of slip relaxes much faster than h. */
bool kn_event_slow_slip(const kn_event_work* w, double h);
bool kn_event_still(const kn_sim* s, const kn_event_work* w, double h);
void kn_event_stay(kn_sim* s, kn_event_work* w, double h);
void kn_event_dense(double* q, double* v, kn_sim* s, kn_event_work* w, double theta);

/* event_gap.c */
/* First closing gap in the sub-step under way: *theta < 1 when there is one. */
kn_status kn_event_first_gap(double* theta, kn_sim* s, kn_event_work* w);
kn_status kn_event_watch(kn_watch* out, kn_sim* s, kn_event_work* w, const double* q, const double* v);

/* event_repair.c */
kn_status kn_event_repair(kn_sim* s, kn_event_work* w, kn_state* x);
kn_status kn_event_repair_velocity(kn_sim* s, kn_event_work* w, double t, const double* q, double* v);

/* event_book.c */
void kn_event_book_impulse(kn_sim* s, kn_event_work* w, const kn_contact* c, const double world[3],
                           bool impact, double e_used, double compression);
void kn_event_book_flow(kn_sim* s, kn_event_work* w);
void kn_event_book_modes(kn_sim* s, kn_event_work* w);
kn_status kn_event_book_end(kn_sim* s, kn_event_work* w, kn_state* x, double dt);
