/* What Python needs beside the public API: a simulator with its state, and a flag that one thread at a time is in it.
   cffi lets other threads run during every call. */
#ifndef KNP_GLUE_H
#define KNP_GLUE_H

typedef struct knp_sim {
  kn_sim* sim;
  kn_state* state;
  kn_run run; /* of all steps */
  int busy;
} knp_sim;

enum { KNP_BUSY = 1000, KNP_ANY_BODY = KN_ANY_BODY };

/* tau = kp (target - q) - kd v + torque on scalar joints: the servos of a study. */
typedef struct knp_servo {
  int q, v;
  double kp, kd, target, torque;
} knp_servo;
typedef struct knp_servos {
  int count;
  knp_servo* at;
} knp_servos;

#ifdef KN_DECLARE
bool knp_enter(knp_sim* s);
void knp_leave(knp_sim* s);
int knp_step(knp_sim* s);
int knp_step_many(knp_sim* s, int64_t n);
int knp_step_for(knp_sim* s, double dt);
int knp_rollout(knp_sim* s, const kn_rollout* rollout);
void knp_use_servos(kn_controller* controller, knp_servos* servos);
#else
static inline bool knp_enter(knp_sim* s) { return !__atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE); }
static inline void knp_leave(knp_sim* s) { __atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE); }

static inline int knp_step_many(knp_sim* s, int64_t n) {
  if (!knp_enter(s)) return KNP_BUSY;
  kn_status status = kn_step_many(&s->run, s->sim, s->state, n);
  knp_leave(s);
  return (int)status;
}

static inline int knp_step(knp_sim* s) { return knp_step_many(s, 1); }

/* One step of another length, counted as kn_step_many counts. */
static inline int knp_step_for(knp_sim* s, double dt) {
  if (!knp_enter(s)) return KNP_BUSY;
  kn_status status = kn_step_for(s->sim, s->state, dt);
  if (status == KN_OK) {
    const kn_report* r = kn_sim_report(s->sim);
    s->run.steps++;
    if (r->residual > s->run.residual) s->run.residual = r->residual;
    if (r->penetration > s->run.penetration) s->run.penetration = r->penetration;
    kn_trouble_count(&s->run.trouble, r->event, r->events);
  }
  knp_leave(s);
  return (int)status;
}

static inline int knp_rollout(knp_sim* s, const kn_rollout* rollout) {
  if (!knp_enter(s)) return KNP_BUSY;
  kn_status status = kn_rollout_run(&s->run, s->sim, s->state, rollout);
  knp_leave(s);
  return (int)status;
}

static kn_status knp_servo_control(double* tau, double* ctrl, double t, const double* q, const double* v,
                                   void* memory, void* context) {
  const knp_servos* s = (const knp_servos*)context;
  (void)ctrl, (void)t, (void)memory;
  for (int i = 0; i < s->count; i++) {
    const knp_servo* k = &s->at[i];
    tau[k->v] += k->kp * (k->target - q[k->q]) - k->kd * v[k->v] + k->torque;
  }
  return KN_OK;
}

static inline void knp_use_servos(kn_controller* controller, knp_servos* servos) {
  *controller = (kn_controller){.fn = knp_servo_control, .context = servos};
}
#endif
#endif
