/* Simulating: a kn_sim holds the choices (formulation, solver, law, stepper), scratch and the report of the
   last step; the kn_state it advances is the caller's. One kn_sim per thread. */
#ifndef KNUCKLE_STEP_H
#define KNUCKLE_STEP_H

#include "knuckle/certify.h"
#include "knuckle/comp.h"
#include "knuckle/contact.h"
#include "knuckle/dynamics.h"
#include "knuckle/trouble.h"

KN_BEGIN_DECLS

/* ---- choices ---- */

/* Laws of compliant contact by name (kn_compliant_laws): Kelvin-Voigt K δ + C δ̇; the others K δⁿ (1 + c δ̇). */
typedef enum kn_compliant_law {
  KN_COMPLIANT_KELVIN_VOIGT,
  KN_COMPLIANT_HUNT_CROSSLEY,       /* c = C/K of the pair's material, C̄ s/m without */
  KN_COMPLIANT_LANKARANI_NIKRAVESH, /* c = 3 (1 - e²)/(4 v), e of the pair, v the approach speed */
  KN_COMPLIANT_FLORES,              /* c = 8 (1 - e)/(5 e v) */
  KN_COMPLIANT_LAWS
} kn_compliant_law;

/* The compliant law of the steppers `compliant` and `hybrid` (song-kumar Eqs. 6, 7, 13), normal and
   tangential: force = f(δ) + g(δ, δ̇),   linear: f = K δ, g = C δ̇,   K = K̄ m0/(ε t0²), C = C̄ m0/(√ε t0). A
   pair whose material is compliant has its own K, C, Kt, Ct in N/m and N s/m; the others have these. */
typedef struct kn_compliant_settings {
  kn_compliant_law law; /* of the normal direction; default Kelvin-Voigt, which the rest of this speaks of */
  double exponent; /* n >= 1 of the other laws, force K δⁿ (1 + c δ̇), K in N/mⁿ; default 3/2 (Hertz) */
  double eps;      /* ε > 0; default 1e-5 */
  double K, C;     /* K̄ > 0, C̄ >= 0; default 1 */
  double Kt, Ct;   /* tangential; 0: same as normal */
  double m0;       /* kg; 0: mass of the lighter of the two mechanisms that touch */
  double t0;       /* s; default 1 */
  /* NULL: linear. δ >= 0 is the normal deformation or the length of the tangential one, rate its rate (of
     the tangential one: along it), K and C the pair's values. f must not fall and vanish at 0; g must have
     the sign of rate. */
  double (*f)(double delta, double K, bool tangential, void* context);
  double (*g)(double delta, double rate, double C, bool tangential, void* context);
  void* context;
  int max_substeps; /* per step; default 250 */
} kn_compliant_settings;

/* When the stepper `hybrid` changes the law of an island of contacts. */
typedef struct kn_hybrid_settings {
  int hold;           /* steps in a row that must be safe before an island returns to rigid; default 3 */
  bool indeterminate; /* leave rigid also when the motion is unique but the forces are not (the paper's third
                         scenario) */
} kn_hybrid_settings;

/* Choices of a simulation. */
typedef struct kn_sim_settings {
  const char* formulation; /* "os", "rmc", "mc", "nmc-os", "nmc", "projection" (kn_formulations) */
  const char* solver; /* "auto": the driver; or a cone solver's name, of an LCP solver with friction > 0 */
  const char*
      law; /* impact law: "poisson", "newton", "stronge", "projection", "sequential" (kn_impact_laws) */
  const char* stepper; /* "time", "theta", "event", "compliant", "hybrid" (kn_steppers) */
  int friction;        /* 0: the true cone; even N >= 4: polyhedron with N directions */
  double friction_tol; /* > 0: the polyhedron is turned and refined until no contact's impulse differs from
                          the true cone's law by more than this part of the largest mu p_n; 0: N directions as
                          they are */
  bool sequential;     /* impacts one after the other, the fastest approach first, each by `law`; law
                          "sequential" is this with Poisson's */
  double dt;           /* s */
  double theta;        /* theta stepper, 0.5 … 1 */
  double gtol;         /* contacts closer than this are active, m */
  double v_rest;    /* impacts slower than this come to rest, m/s; negative: 2 max(g, |a_n|) dt per contact */
  double tolerance; /* of the contact solver, scaled residual */
  double margin;    /* detection distance beyond gtol, m */
  double rtol;      /* event stepper: relative error of the motion between events per sub-step */
  double (*restitution)(double e, double speed, void* context); /* e at this approach speed, clipped to
                       [0, 1]; asked only where the pair's e > 0. NULL: e as it is */
  void* restitution_context;
  bool projection;  /* repair positions after each step */
  bool anchors;     /* sticking contacts keep their place */
  bool guard;       /* impact guard: unequal restitution may not create energy */
  bool verdict;     /* a verdict with every step (otherwise only when the solver had trouble) */
  bool determinate; /* flag every contact force as determinate or not */
  bool hinge_bias;  /* nmc, nmc-os: J̇q̇ term of the hinges */
  bool ledger;      /* judge the ledger: report.rise and its troubles. The columns are always filled, and the
                          motion is the same bit for bit: steppers take back energy that their errors make */
  bool keep_energy; /* time stepper: take back the integrator's own energy error in every step by scaling
                          the velocities. For long chains; momentum is kept only to the
                          integrator's order */
  bool split_impacts; /* time stepper: split steps at impacts, so that the energy after them is of second
                          order too; `verify` then checks closure, energy and residual only */
  int threads;        /* that share the work of one step of a large world, the caller's included; 0: one for
                          each processor. The same bits for any number */
  double sleep;      /* islands whose velocities (m/s, rad/s) stay below this for sleep_time fall asleep: they
                          cost nothing until something reaches them (stepper time; docs/sleep.md). 0: none */
  double sleep_time; /* s */
  bool stage_times;  /* fill report.time: some dozen clock readings per step, 25 ns each */
  const char* fast;  /* names of fast paths that are not taken, with commas between; "none": take no fast
                          path at all; NULL: all are taken (kn_fast_paths). KN_FAST in the environment
                          switches more of them off */
  int bias_iterations; /* re-evaluations of the velocity-dependent forces at the mean velocity; 2: also of
                          motions bent by contacts, which makes spinning tops of second order */
  int event_limit;     /* sequential impacts of an island for each of its contacts, before the rest is taken
                          all at once; default 50 */
  int max_contacts;    /* a step that finds more fails (KN_NO_ROOM), the state unchanged; 0: as many as are
                          found, room grows between steps (a step that finds more than there is room for is
                          taken again from its beginning) */
  int contact_room;    /* contacts there is room for at the start, with max_contacts 0; 0: by the geoms
                          and the pairs that may collide */

  kn_certify_mode certificate; /* law projection: restitution that can create energy is projected on the
                                  nearest that cannot (default), refused, or allowed */

  kn_compliant_settings compliant;
  kn_hybrid_settings hybrid;
} kn_sim_settings;

/* The default choices. */
KN_API kn_sim_settings kn_sim_default(void);

/* Controller: adds generalised forces and may set controls; its memory is part of the state. Anything but
   KN_OK stops the step: kn_step returns it (KN_INTERRUPTED: "stopped on request"), and q, v, ctrl and the
   time stay what they were. So does a force or control that is not finite (KN_NOT_FINITE). */
typedef struct kn_controller {
  kn_status (*fn)(double* tau, double* ctrl, double t, const double* q, const double* v, void* memory,
                  void* context);
  size_t memory; /* bytes, zeroed at the start, saved and hashed with the state */
  void* context;
} kn_controller;

/* ---- the report ---- */

/* Kinds of events in a step. */
typedef enum kn_event_kind {
  KN_EVENT_IMPACT,
  KN_EVENT_CONTACT,
  KN_EVENT_SEPARATION,
  KN_EVENT_STICK,
  KN_EVENT_SLIP,
  KN_EVENT_LIMIT,
  KN_EVENT_SWITCH,
  KN_EVENT_GUARD,   /* restitution lowered by the guard */
  KN_EVENT_TROUBLE, /* something could not be done as it should: `trouble` says what (trouble.h) */
  KN_EVENT_REPAIR,  /* law projection: restitution that could create energy moved to the nearest that cannot;
                       value: rho */
  KN_EVENT_HANDED,  /* law projection: handed to the one-sided law because a contact would have to pull (1),
                       one outside would close (2), or there are too many (4); stepper event: a step
                       taken by `time`, for a slow slide (3), because the last ones had too much to do (4),
                       because loops pass a singular position (5) or because it begins with an overlap (6) */
  KN_EVENT_COUNT
} kn_event_kind;
/* The name of a kind of event. */
KN_API const char* kn_event_name(kn_event_kind kind);

enum { KN_EVENT_TEXT = 160 };

/* Something that happened in a step: what, when, where. */
typedef struct kn_event {
  double t;
  kn_event_kind kind;
  kn_geom geom_a, geom_b; /* or -1 */
  kn_joint joint;         /* limits, or -1 */
  double value; /* impact: approach speed; guard: s; trouble: the number that was too large; switch: 1
                   rigid to compliant, -1 back */
  double limit; /* trouble: what value may be; otherwise 0 */
  kn_trouble_kind trouble; /* KN_TROUBLE_COUNT: none */
  kn_loop loop;            /* trouble: of a loop closure, or -1 */
  uint64_t key;            /* trouble: of a contact, or 0 */
  double after; /* impact: speed with which the surfaces part at that instant (divided by `value`: the
                   velocity ratio), m/s; not recorded */
  char text[KN_EVENT_TEXT]; /* switch, trouble energy-rise: the cause; otherwise empty */
} kn_event;

/* The two bodies of an event: of its geoms, of its loop, or of its joint (child and parent). KN_WORLD may be
   among them. Returns how many: 0 when the event belongs to no place. */
KN_API int kn_event_bodies(kn_body body[2], const kn_model* model, const kn_event* event);
/* Where an event is, in words ("foot on floor", "joint knee of shank", "loop rod between a and b"), cut to
   the size; empty without a place. Returns text. */
KN_API const char* kn_event_where(char* text, size_t size, const kn_model* model, const kn_event* event);

/* Troubles of a run added up, kind by kind; starts as {0}. */
typedef struct kn_trouble_sum {
  long count;     /* steps with this trouble */
  double first;   /* time of the first, s */
  kn_event worst; /* the one with the largest value */
} kn_trouble_sum;
typedef struct kn_trouble_tally {
  long count; /* all kinds */
  kn_trouble_sum kind[KN_TROUBLE_COUNT];
} kn_trouble_tally;
/* Adds the troubles among the events of a step. */
KN_API void kn_trouble_count(kn_trouble_tally* tally, const kn_event* event, int events);
/* The sentence of a kind in such a sum: how often, since when, the worst and where. Returns text. */
KN_API const char* kn_trouble_sentence(char* text, size_t size, const kn_model* model,
                                       const kn_trouble_sum* sum);

/* Where energy went in this step, J. kinetic + potential + spring = sum of the others, each by its own
 * formula. */
#define KN_LEDGER_LIST(X)                                                                                    \
  X(kinetic)                                                                                                 \
  X(potential)                                                                                               \
  X(spring)                                                                                                  \
  X(actuator)                                                                                                \
  X(applied)                                                                                                 \
  X(damping)                                                                                                 \
  X(joint_friction)                                                                                          \
  X(friction)                                                                                                \
  X(impact)                                                                                                  \
  X(normal)                                                                                                  \
  X(limit)                                                                                                   \
  X(loop)                                                                                                    \
  X(prescribed)                                                                                              \
  X(correction)                                                                                              \
  X(compliant)                                                                                               \
  X(switching)                                                                                               \
  X(integration)

/* Where the energy went, J. */
typedef struct kn_ledger {
#define X(name) double name;
  KN_LEDGER_LIST(X)
#undef X
} kn_ledger;

/* Does the energy add up? F = kinetic + potential + spring + what compliant contacts have stored - work that
   went in (columns actuator, applied, prescribed; and what the caller changed between steps) can only fall in
   a run that creates no energy. `rise` is the largest rise of F above its lowest value so far. Between that
   lowest value and the top of the rise F changed by contact + damping + integration + correction = rise. */
typedef struct kn_energy_rise {
  double initial;  /* kinetic + potential + spring before the first step, J */
  double work_in;  /* J, since then */
  double scale;    /* max(kinetic, range of potential + spring) so far, at least weight times 100 gtol, J */
  double rise;     /* J; 0 without settings.ledger */
  double rise_rel; /* over the scale; above 1e-3 the step is in trouble (energy-rise) */
  double contact;  /* friction, impact, normal, limit, loop, joint_friction, switching */
  double damping;
  double integration;
  double correction;
} kn_energy_rise;

/* Stage times of a step, s (docs/pipeline.md); zero without settings.stage_times. */
typedef struct kn_stage_times {
  double kinematics, collide, factor, problem, solve, judge, impact, update, project, audit;
} kn_stage_times;

/* The impacts of a step, all islands. */
typedef struct kn_impact_summary {
  int islands;           /* that collided */
  int closed, handed;    /* law projection: by the closed form; handed to the one-sided law */
  double energy;         /* ΔK by difference, J */
  double energy_closed;  /* of the closed ones by difference … */
  double energy_formula; /* … and by the paper's formula */
  double gamma;          /* least K⁺ / K⁻ of the system over one island's impact */
  double rho;            /* law projection: largest rho of the restitution asked for */
} kn_impact_summary;

/* What a step says about itself; valid until the next step. */
typedef struct kn_report {
  double t, dt;     /* time after the step, step size */
  kn_status status; /* OK, NOT_CONVERGED (a residual above tolerance), INFEASIBLE (projection), UNSUPPORTED
                       (the impact law does not cover it: poisson), … */
  int contacts;
  const kn_contact* contact;
  int limits, loops;            /* active limit rows, loop rows */
  const double* limit_impulse;  /* model's limits (0 where open) */
  const double* loop_impulse;   /* loop rows in model order */
  const double* dry_impulse;    /* nv: of dry joint friction; NULL: no joint has any */
  const bool* loop_determinate; /* loop rows: does the motion determine the impulse? NULL unless
                                   settings.determinate and the formulation says (projection) */
  double condition; /* of the matrix the formulation factored (projection: Mc), estimated; 0: none */
  int lcp_size;     /* of the largest problem solved, in the formulation's own count */
  int directions;   /* of the finest friction polyhedron used; 0 with the cone */
  int solves, iterations;
  int left_warm;   /* solves that neither the last step's answer nor a direct method answered */
  double residual; /* worst scaled residual, judged on the original data */
  kn_verdict verdict;
  double penetration; /* largest overlap after the step, m */
  double lift;        /* largest gap of a loaded contact before projection, m */
  double closure;     /* largest loop violation after the step, m or rad */
  double
      closure_dependent; /* the same of loop rows that follow from others: by so much the model's loops miss */
  double drift; /* non-minimal formulations: how far the bodies had left the hinges before they were brought
                   back, m or rad */
  double correction; /* M-norm of the position correction */
  double audit; /* ½ pᵀ(J v_free + J v⁺) less prescribed work, or ΔK of the impacts: <= 0 if no energy was
                   created */
  double gain_rel;     /* max(0, audit) / E_ref so far */
  kn_energy energy;    /* after the step */
  kn_ledger ledger;    /* this step */
  kn_ledger total;     /* cumulative */
  kn_energy_rise rise; /* so far */
  kn_impact_summary impact;
  double momentum_error; /* balance of generalised momentum over the step, max |M dv - dt (tau - bias) - J^T
                            p|, by inverse dynamics, not by the factors that made dv */
  int islands;
  int undecided; /* hybrid: islands that could not be judged and stayed rigid */
  int events;
  const kn_event* event;
  kn_stage_times time;
} kn_report;

KN_API bool kn_report_in_trouble(const kn_report* report); /* is there a trouble among its events? */

/* ---- running ---- */

/* A simulation of a model: settings, scratch and the report of the last step. One per thread. */
typedef struct kn_sim kn_sim;

/* Makes a simulation; settings NULL: defaults. The caller destroys it. */
KN_API kn_status kn_sim_create(kn_sim** sim, const kn_model* model, const kn_sim_settings* settings);
/* Frees it; NULL is fine. */
KN_API void kn_sim_destroy(kn_sim* sim);
/* Adds the state blocks the choices need; call once for every state that is to be stepped. */
KN_API kn_status kn_sim_prepare(kn_sim* sim, kn_state* state);
/* A start that breaks a joint limit, overlaps or leaves a loop open is moved to the nearest position that is allowed (least
   kinetic energy); velocities stay. Without it the first step does so, and what that lifts is energy from nothing (trouble
   start-repaired). moved: it was; then found says where and how much energy it took, as that trouble would. Moves of less than
   a thousandth of the energy scale are left to the first step. Call before a run; allocates. */
KN_API kn_status kn_start_repair(kn_event* found, bool* moved, kn_state* state);
/* A function that is asked for inputs in every step; NULL: none. */
KN_API kn_status kn_sim_set_controller(kn_sim* sim, const kn_controller* controller);
/* One step of settings.dt (kn_step_for: of dt). KN_OK: the step was taken, and the report says how well. Otherwise
   (wrong arguments, a controller that failed, no room, numbers that overflowed) the state is as it was, bit for bit,
   and kn_last_error says why. */
KN_API kn_status kn_step(kn_sim* sim, kn_state* state);
/* One step of this length, s. */
KN_API kn_status kn_step_for(kn_sim* sim, kn_state* state, double dt);
/* The report of the last step. */
KN_API const kn_report* kn_sim_report(const kn_sim* sim);
/* The model of a simulation. */
KN_API const kn_model* kn_sim_model(const kn_sim* sim);
KN_API kn_data* kn_sim_data(kn_sim* sim); /* derived values of the last step */
/* The settings in use. */
KN_API const kn_sim_settings* kn_sim_settings_of(const kn_sim* sim);

/* Contacts of a state within margin (m), as detection sees them, without forces; valid until the next call on
   this sim. The state is not changed. Negative gaps are overlaps. */
KN_API kn_status kn_sim_contacts(const kn_contact** contact, int* count, kn_sim* sim, const kn_state* state,
                                 double margin);
/* Called with every contact problem that was solved with the true cone, and its solution; NULL ends it. Both
   are valid during the call only. */
KN_API kn_status kn_sim_watch_problems(kn_sim* sim,
                                       void (*fn)(const kn_problem* problem, const double* r, void* context),
                                       void* context);

/* ---- diagnosis ---- */

/* What can be said about the contact forces at an instant, on the acceleration level: the closed contacts
   with their present modes (sliding ones with the direction of slip, sticking ones with normal and tangential
   rows), A_RS of song-kumar Eq. 12. The verdict takes in the friction cones of sticking contacts; matrix_class
   and minors speak of the mode matrix. */
typedef struct kn_diagnosis {
  double t;
  kn_verdict verdict;
  int contacts; /* closed contacts */
  int sliding;  /* of them sliding */
  int rows;     /* of the mode matrix */
  bool counted; /* solutions were enumerated */
  bool forces; /* the forces below obey the law of every contact, cones included, within `residual`; otherwise
                      none were found that do, and they are 0 */
  double residual; /* of the forces, scaled (kn_problem_error_scaled) */
  const kn_contact*
      contact; /* force in `impulse` (N), slip in `velocity`; valid until the next call on this sim */
} kn_diagnosis;

/* Allocates; the state is not changed. */
KN_API kn_status kn_sim_diagnose(kn_diagnosis* out, kn_sim* sim, const kn_state* state);

/* The mode matrix at an instant as a function of the sliding friction coefficients: a = A λ + b on the closed
   contacts of kn_sim_diagnose, A = N - T diag(mu). */
typedef struct kn_mode_matrix {
  int n;
  double *N, *T, *b; /* n x n row-major; n. Column j of T is zero unless its contact slides */
  double* mu;        /* n: present coefficient of the column's contact, 0 where it does not slide */
  int32_t* contact;  /* n: index in kn_diagnosis.contact, -1: a limit or a loop */
  bool* free; /* n: force of either sign (tangential rows of sticking contacts, loops); otherwise λ >= 0 */
} kn_mode_matrix;
/* Allocates; free it with kn_mode_matrix_free. */
KN_API kn_status kn_sim_mode_matrix(kn_mode_matrix* out, kn_sim* sim, const kn_state* state);
KN_API void kn_mode_matrix_free(kn_mode_matrix* matrix);

/* ---- restitution ---- */

/* The energy certificate of an impact of the scene. */
typedef struct kn_sim_certificate {
  double t; /* start of the step with the impact */
  kn_energy_certificate energy;
  int contacts;                  /* impacting contacts (the worst island) */
  int islands;                   /* islands that collide */
  double e[KN_CERTIFY_CONTACTS]; /* asked for */
  double e_repaired[KN_CERTIFY_CONTACTS];
  double approach[KN_CERTIFY_CONTACTS]; /* normal velocity before, m/s */
  kn_contact contact[KN_CERTIFY_CONTACTS];
  double W[KN_CERTIFY_CONTACTS * KN_CERTIFY_CONTACTS]; /* contacts x contacts, bilateral and resting rows
                                                          eliminated */
  double* velocity; /* nv, or NULL: the generalised velocity of energy.velocity */
} kn_sim_certificate;

/* The impact in the next step from this state; NOT_FOUND when there is none. e: another restitution for the
   impacting contacts, or NULL. The state is not changed. Friction is left out. Allocates. */
KN_API kn_status kn_sim_certify(kn_sim_certificate* out, kn_sim* sim, const kn_state* state, const double* e,
                                kn_repair repair);

/* Lists of what can be chosen, each ended by a NULL name. */
typedef struct kn_choice {
  const char *name, *doc, *citation;
} kn_choice;
KN_API const kn_choice* kn_formulations(void);
/* Rows of the linear complementarity problem a formulation sets up for this model with so many contacts and
   friction directions (jain-2014 Table 1). */
KN_API kn_status kn_formulation_size(int* rows, const char* formulation, const kn_model* model, int contacts,
                                     int directions);
KN_API const kn_choice* kn_impact_laws(void);
/* The laws of compliant contact in the order of kn_compliant_law, ended by an entry without a name. */
KN_API const kn_choice* kn_compliant_laws(void);
KN_API const kn_choice* kn_steppers(void);

/* Ways of a step that are quicker than the general one and give the same result. The general way is always
   there: settings.fast and the environment's KN_FAST (`none` or names) switch to it. */
typedef struct kn_fast_path {
  const char *name, *doc;
  const char* trigger;  /* when it is taken */
  const char* replaces; /* the general way */
  double tolerance;     /* how far a step may end from where the general way ends from the same state, m and
                           rad relative to the larger of 1 and the coordinates; 0: the same bits */
} kn_fast_path;
KN_API const kn_fast_path* kn_fast_paths(void); /* ends with a name NULL */

KN_END_DECLS
#endif
