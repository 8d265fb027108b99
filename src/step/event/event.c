/* Event-driven stepping. Within a step, rounds of

     look      contacts near the state (q, v)
     collide   closed rows that approach: the impact law, until none approaches
     hold      closed rows at rest; their modes (stick, slip, open) on the acceleration level
     fly       Runge-Kutta with these modes for as long as the error allows
     locate    the first instant at which a gap closes or a mode ends; the sub-step is cut there
     repair    positions and velocities of the held rows

   until the step is used up. A slide that begins slowly is stiff (its direction relaxes in |u|/(mu g)): such
   a step is taken by `time`, whose friction is implicit; so is one that begins with an overlap. More events than the limit, modes that do not exist
   (Painlevé), accelerations that overflow, sub-steps that become too small, or an overlap that the repair
   cannot remove: the whole step is taken by `time` instead, and the report says so (event `trouble`). Where
   that was for too much to do, the next steps are left to `time` as well (event `handed`): 1, then 3, 7, … 31
   of them while it goes on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "step/event/event.h"

enum {
  MOST_EVALUATIONS = 400, /* of the accelerations in a step of a large mechanism */
  MAX_STALLED = 12,       /* sub-steps in a row shorter than 1e-8 of the step */
  ROUND = 10,   /* evaluations that looking, choosing modes and repairs of a round cost beside its own */
  BY_TIME = 10, /* … and a step that is left to `time` */
  LONGEST_PAUSE = 31, /* steps */
  PARTS = 16          /* of an evaluation, in which the usual cost of a step is kept */
};

/* State: steps that are left to `time`, and how many there were the last time; what a step usually costs, in parts of an
   evaluation: near the median of the steps so far, which a few dear ones do not move. */
typedef struct pause {
  int64_t left, length, usual;
} pause_t;

/* ---- memory ---- */

static void carve(kn_sim* s, kn_event_work* w, kn_arena* a) {
  const kn_model* m = s->model;
  int nc = s->room.contacts, rows = s->room.rows, nv = m->nv;
  size_t pairs = (size_t)kn_detector_pairs(s->detector) * sizeof(kn_pair_entry);
  w->closed.max_held = nc + rows;
  w->closed.held = KN_TAKE(a, kn_held, w->closed.max_held);
  w->closed.pair = kn_arena_take(a, (size_t)nc * sizeof *w->closed.pair);
  w->closed.point = KN_TAKE(a, kn_contact, nc);
  w->closed.seen = KN_TAKE(a, kn_contact, nc);
  w->step.book = KN_TAKE(a, kn_contact, nc);
  w->step.last = kn_arena_take(a, (size_t)nc * sizeof *s->book.last);
  w->closed.loop_keep = KN_TAKE(a, bool, rows);
  w->cache = (kn_state_block){.name = "pairs", .capacity = pairs, .data = kn_arena_take(a, pairs)};
  w->trial = (kn_state_block){.name = "pairs", .capacity = pairs, .data = kn_arena_take(a, pairs)};
  size_t anchors = (size_t)nc * sizeof(kn_anchor);
  w->step.anchors = (kn_state_block){.capacity = anchors, .data = kn_arena_take(a, anchors)};
  double** q_arrays[] = {&w->q, &w->q1, &w->flow.qs, &w->flow.q_stage};
  for (size_t i = 0; i < sizeof q_arrays / sizeof *q_arrays; i++) *q_arrays[i] = KN_TAKE(a, double, m->nq);
  double** v_arrays[] = {&w->v,           &w->a,           &w->v1,         &w->flow.vs,
                         &w->flow.us,     &w->flow.as,     &w->flow.as2,   &w->flow.u1,
                         &w->control.tau, &w->control.sum, &w->control.all};
  for (size_t i = 0; i < sizeof v_arrays / sizeof *v_arrays; i++) *v_arrays[i] = KN_TAKE(a, double, nv);
  for (int i = 0; i < KN_EVENT_STAGES; i++) {
    w->flow.ku[i] = KN_TAKE(a, double, nv);
    w->flow.kv[i] = KN_TAKE(a, double, nv);
  }
  w->gap.spin = KN_TAKE(a, double, m->ngeom);
  w->gap.jerk = KN_TAKE(a, double, m->ngeom);
  w->gap.link_v = (double(*)[6])kn_arena_take(a, (size_t)m->nlink * sizeof(double[6]));
  size_t dense = s->room.repair < KN_EVENT_ROWS ? (size_t)s->room.repair : KN_EVENT_ROWS;
  w->force.A = KN_TAKE(a, double, dense* dense);
  w->force.LU = KN_TAKE(a, double, dense* dense);
  double** row_arrays[] = {&w->force.z, &w->force.b, &w->force.r, &w->force.scale, &w->force.bias};
  for (size_t i = 0; i < sizeof row_arrays / sizeof *row_arrays; i++)
    *row_arrays[i] = KN_TAKE(a, double, rows);
  w->force.unknown = kn_arena_take(a, (size_t)rows * sizeof *w->force.unknown);
  w->force.minus = (double(*)[4])kn_arena_take(a, (size_t)w->closed.max_held * sizeof(double[4]));
  w->force.plus = (double(*)[4])kn_arena_take(a, (size_t)w->closed.max_held * sizeof(double[4]));
  w->force.group = KN_TAKE(a, int, w->closed.max_held);
  w->control.ctrl = KN_TAKE(a, double, m->nu);
}

static void destroy(kn_sim* s) {
  kn_event_work* w = s->own;
  if (!w) return;
  kn_arena_destroy(&w->arena);
  free(w->control.memory);
  free(w);
  s->own = NULL;
}

static kn_status create(kn_sim* s) {
  kn_event_work* w = s->own = calloc(1, sizeof *w);
  if (!w) return kn_fail(KN_OUT_OF_MEMORY, "event stepper: out of memory");
  kn_arena measure = {0};
  carve(s, w, &measure);
  KN_TRY(kn_arena_create(&w->arena, measure.used));
  carve(s, w, &w->arena);
  for (int i = 0; i < s->model->nloop; i++) w->closed.loop_rows += kn_loop_rows(s->model, i);
  return s->modes ? KN_OK : kn_mode_work_create(&s->modes, s->room.rows);
}

/* ---- the step ---- */

static pause_t* pause_of(kn_state* x) {
  kn_state_block* block = kn_state_find_block(x, "events");
  if (block->used == 0) {
    memset(block->data, 0, sizeof(pause_t));
    block->used = sizeof(pause_t);
  }
  return block->data;
}

/* Evaluations a step may take, whatever happens in it: the more links and contacts, the dearer they are. A ball or a crank may
   bounce on to the end of its bounces. A step without events takes 12 to 120 however many links there are, and what is left beyond
   a size of 17 is for a few events. Of mechanisms with more than three links up to two thirds are for scenes whose usual steps cost
   much: nobody is to wait a hundred ordinary steps for one. The hardest step of grasp-2 (size 14) takes 1757. */
static int budget(const kn_sim* s, const kn_event_work* w) {
  int links = 3 + s->model->nlink, size = links + w->closed.helds;
  double square = (double)size * size, less = fmin(1.0, 200.0 / square);
  less *= less;
  double most = 400e3 / square * less * less;
  double sure = most * fmax(1.0 / 3.0, fmin(1.0, 36.0 / ((double)links * links)));
  int few = MOST_EVALUATIONS * 16 / (16 + w->closed.helds);
  return kn_max(few, (int)fmin(most, fmax(sure, 40.0 * w->step.usual)));
}

/* The usual cost goes towards that of this step by a sixteenth of itself. It begins with the first step, or with a quiet one where
   that was not. */
static void learn(pause_t* pause, const kn_event_work* w) {
  enum { QUIET = 30 };
  int64_t cost = (int64_t)PARTS * (w->step.evaluations + (w->step.handed ? BY_TIME : 0));
  int64_t by = 1 + pause->usual / 16;
  if (!pause->usual)
    pause->usual = kn_min(kn_max(cost, 1), PARTS * QUIET);
  else if (cost != pause->usual)
    pause->usual = kn_max(pause->usual + (cost > pause->usual ? by : -by), 1);
}

/* Searches for contacts alone may take a third of a millisecond or so (6e6 in the units of budget.c) of a step. */
void kn_event_weigh(kn_sim* s, kn_event_work* w) {
  w->step.evaluations += (int)(kn_budget_add(s, 0.0) * budget(s, w) / 6e6);
}

bool kn_event_spent(const kn_sim* s, const kn_event_work* w) { return w->step.evaluations > budget(s, w); }

static kn_status begin(kn_sim* s, kn_event_work* w, kn_state* x, double dt) {
  const kn_model* m = s->model;
  const kn_state_block* pairs = kn_state_find_block(x, "pairs");
  memcpy(w->q, x->q, (size_t)m->nq * sizeof(double));
  memcpy(w->v, x->v, (size_t)m->nv * sizeof(double));
  w->cache.used = pairs->used;
  memcpy(w->cache.data, pairs->data, pairs->used);
  const kn_state_block* anchors = kn_state_find_block(x, "anchors");
  w->step.anchors.used = anchors->used;
  memcpy(w->step.anchors.data, anchors->data, anchors->used);
  w->t = x->time;
  w->left = w->flow.h_next = dt;
  w->step.events = w->step.evaluations = w->step.books = w->step.stalled = 0;
  w->step.usual = (double)pause_of(x)->usual / PARTS;
  w->closed.helds = 0;
  w->step.handed = false;
  w->closed.loop_rank = -1;
  w->step.limit = s->settings.event_limit * (m->nlink < 18 ? 2 + m->nlink : 20);
  w->gap.hit = 0;
  w->gap.hit_limit = -1;
  w->trouble = KN_OK;
  memset(s->book.loop_impulse, 0, (size_t)w->closed.loop_rows * sizeof(double));
  memset(w->control.all, 0, (size_t)m->nv * sizeof(double));
  /* a controller with memory runs once per step and is held; one without is part of the smooth forces */
  w->control.held = s->controller.fn && s->controller.memory;
  memcpy(w->control.ctrl, x->ctrl, (size_t)m->nu * sizeof(double));
  if (!w->control.held) return KN_OK;
  kn_state_block* memory = kn_state_find_block(x, "controller");
  if (!w->control.memory && !(w->control.memory = malloc(s->controller.memory)))
    return kn_fail(KN_OUT_OF_MEMORY, "event stepper: out of memory");
  memcpy(w->control.memory, memory->data, memory->used);
  memset(w->control.tau, 0, (size_t)m->nv * sizeof(double));
  return kn_stage_control(w->control.tau, s, x, x->time, x->q, x->v);
}

/* The whole step by `time`, from its beginning. */
static kn_status hand_over(kn_sim* s, kn_event_work* w, kn_state* x, double dt) {
  w->step.handed = true;
  kn_budget_begin(s);
  s->book.started =
      w->step.started; /* it begins once more: where nothing has ended yet, its energy is not known */
  memcpy(x->ctrl, w->control.ctrl, (size_t)s->model->nu * sizeof(double));
  if (w->control.held) {
    kn_state_block* memory = kn_state_find_block(x, "controller");
    memcpy(memory->data, w->control.memory, memory->used);
  }
  kn_state_block* anchors = kn_state_find_block(x, "anchors");
  anchors->used = w->step.anchors.used;
  memcpy(anchors->data, w->step.anchors.data, w->step.anchors.used);
  KN_TRY(kn_stepper_time.step(s, x, dt));
  for (int i = 0; i < s->book.lasts; i++) {
    s->book.last[i].a = i < s->touch.contacts ? s->touch.contact[i].geom_a : -1;
    s->book.last[i].b = i < s->touch.contacts ? s->touch.contact[i].geom_b : -1;
  }
  return KN_OK;
}

/* Gives the step up, and says so. */
static kn_status give_up(kn_sim* s, kn_event_work* w, kn_state* x, double dt, kn_trouble_kind kind,
                         double value, double limit) {
  double t = w->t;
  kn_place at = kind == KN_TROUBLE_EVENT_OVERLAP ? kn_place_of_overlap(s, w->q)
                : w->closed.helds && w->closed.held[0].kind == KN_ROW_CONTACT
                    ? kn_place_of(&w->closed.held[0].c)
                    : kn_nowhere;
  pause_t* pause = pause_of(x);
  if (w->trouble != KN_NO_SOLUTION) {
    pause->length = pause->length < LONGEST_PAUSE ? 2 * pause->length + 1 : LONGEST_PAUSE;
    pause->left = pause->length;
  }
  kn_verdict verdict = s->report.verdict;
  KN_TRY(hand_over(s, w, x, dt));
  if (w->trouble == KN_NO_SOLUTION && verdict.kind != KN_VERDICT_UNIQUE) s->report.verdict = verdict;
  kn_trouble_add(s, t, kind, at, value, limit);
  return KN_OK;
}

/* What kept the contacts of an instant from being settled. */
static kn_status give_up_settling(kn_sim* s, kn_event_work* w, kn_state* x, double dt) {
  if (w->trouble == KN_OK) return give_up(s, w, x, dt, KN_TROUBLE_EVENT_LIMIT, w->step.events, w->step.limit);
  return give_up(s, w, x, dt, w->trouble == KN_NO_ROOM ? KN_TROUBLE_EVENT_ROWS : KN_TROUBLE_EVENT_MODES,
                 w->trouble_value, w->trouble_limit);
}

/* The step is left to `time` without trouble. */
static kn_status leave(kn_sim* s, kn_event_work* w, kn_state* x, double dt, double why) {
  KN_TRY(hand_over(s, w, x, dt));
  kn_event_add(s, x->time, KN_EVENT_HANDED, -1, -1, -1, why);
  return KN_OK;
}

/* The verdict on the rows of the instant, from the rows of the last evaluation. */
static void judge(kn_sim* s, kn_event_work* w) {
  double t0 = kn_stage_clock(s);
  kn_rows_velocity(s->row.u_before, s->data, s->model, s->sets.set.geometry, s->sets.set.count, w->v);
  for (int i = 0; i < s->sets.set.rows; i++) s->row.u_free[i] += s->row.u_before[i]; /* b over one second */
  s->touch.contacts = 0;
  for (int g = 0; g < w->closed.helds && w->closed.held[g].kind == KN_ROW_CONTACT; g++)
    s->touch.contact[s->touch.contacts++] = w->closed.held[g].c;
  kn_stage_verdict(s, 1.0);
  s->report.time.judge += kn_stage_clock(s) - t0;
}

/* Does the step begin with an overlap that no step of events leaves? Its contacts are closed and held before they are apart, every
   evaluation looks for their points anew, and the repair at the end moves what was integrated: `time`, which projects once, repairs it. */
static bool begins_deep(const kn_sim* s, const kn_event_work* w) {
  if (!s->settings.projection || w->step.evaluations) return false;
  for (int i = 0; i < w->closed.seens; i++)
    if (w->closed.seen[i].gap < -KN_EVENT_CLOSED) return true;
  return false;
}

/* collide, hold: w->closed.held with modes, w->a. */
static kn_status settle(kn_sim* s, kn_event_work* w, kn_state* x) {
  bool collided;
  if (w->step.evaluations == 0) { /* forces of the instant, for the Zeno rule */
    w->closed.helds = 0;
    KN_TRY(kn_event_rate(w->a, s, w, x, w->t, w->q, w->v, false));
  }
  KN_TRY(kn_event_collide(s, w, &collided));
  KN_TRY(kn_event_hold(s, w));
  if (w->closed.helds) KN_TRY(kn_event_repair_velocity(s, w, w->t, w->q, w->v));
  double t0 = kn_stage_clock(s);
  KN_TRY(kn_event_rate(w->a, s, w, x, w->t, w->q, w->v, true));
  w->step.fresh = true;
  s->report.time.solve += kn_stage_clock(s) - t0;
  if (w->trouble != KN_OK || (s->settings.verdict && w->closed.helds)) judge(s, w);
  kn_event_book_modes(s, w);
  return KN_OK;
}

/* Through a singular position loop rows become dependent and independent again. Accelerations are not determined
   there, and what a row misses while it is left out is lost when it comes back: `time`, which imposes velocities
   over the whole step, passes with an error of second order. */
static bool loop_rank_changed(kn_event_work* w) {
  int rank = 0;
  for (int i = 0; i < w->closed.loop_rows; i++) rank += w->closed.loop_keep[i];
  if (w->closed.loop_rank < 0) w->closed.loop_rank = rank;
  return rank != w->closed.loop_rank;
}

/* Sub-steps that are too long may look where nothing can be evaluated: light links at 1e30 m, no numbers at all. */
static bool out_of_reach(kn_status status) {
  return status == KN_BAD_MODEL || status == KN_NOT_FINITE || status == KN_BAD_ARGUMENT;
}

/* The longest sub-step the error allows. */
static kn_status fly(kn_sim* s, kn_event_work* w, kn_state* x) {
  double h = fmin(w->left, w->flow.h_next), error;
  for (;;) {
    kn_status status = kn_event_flow(&error, s, w, x, h);
    if (out_of_reach(status) && h > 1e-8 * s->report.dt && !kn_event_spent(s, w)) {
      h *= 0.1;
      continue;
    }
    KN_TRY(status);
    if (error <= 1.0) break;
    if (kn_event_spent(s, w) || h < 1e-8 * s->report.dt) {
      w->trouble = KN_NOT_CONVERGED;
      w->trouble_value = error;
      return KN_OK;
    }
    h *= fmax(0.2, 0.9 / sqrt(sqrt(error * sqrt(error)))); /* error^-0.19 or a little less */
  }
  double grow = error > 0.0 ? 0.9 / sqrt(sqrt(error)) : 5.0;
  w->flow.h_next = h * fmin(5.0, fmax(0.5, grow));
  return KN_OK;
}

/* First θ in (0, 1] at which a mode ends; *group: whose. */
static kn_status first_break(double* theta, int* group, kn_sim* s, kn_event_work* w, kn_state* x) {
  double high, lo = 0.0, hi = 1.0, value, low = 1.0;
  *theta = 1.0;
  *group = kn_event_broken(w, &high);
  for (int k = 0; *group >= 0 && k < 50 && (hi - lo) * w->flow.h > 1e-13; k++) {
    double m = lo + (hi - lo) * low / (low - high);
    if (k % 3 == 2 || !(m > lo && m < hi)) m = 0.5 * (lo + hi);
    kn_event_dense(w->flow.q_stage, w->flow.vs, s, w, m);
    KN_TRY(kn_event_rate(w->flow.as2, s, w, x, w->t + m * w->flow.h, w->flow.q_stage, w->flow.vs, false));
    int broken = kn_event_broken(w, &value);
    if (broken >= 0) {
      hi = m, high = value, *group = broken;
    } else {
      lo = m;
      low = fmax(kn_event_margin(&w->closed.held[*group]), 0.0) + 1.0;
      if (!isfinite(low)) low = 1.0;
    }
    if (broken >= 0 && value > -1.5) break;
  }
  if (*group >= 0) *theta = hi;
  return KN_OK;
}

/* Cuts the sub-step at h and makes sure that the closing gap is on its open side, within KN_EVENT_LOCATE. */
static kn_status land(kn_sim* s, kn_event_work* w, kn_state* x, double h) {
  double error;
  for (int k = 0; k < 6; k++) {
    kn_watch now;
    KN_TRY(kn_event_flow(&error, s, w, x, h));
    KN_TRY(kn_event_watch(&now, s, w, w->q1, w->v1));
    if ((now.gap >= 0.0 && now.gap <= kn_event_width(now.rate)) || !(now.rate < 0.0)) break;
    double shift = (now.gap - 0.5 * kn_event_width(now.rate)) / -now.rate;
    if (fabs(shift) > 1e-3 * h || !(h + shift > 0.0)) break; /* not the same contact */
    h += shift;
  }
  /* which contact it was */
  w->gap.hit = 0;
  w->gap.hit_limit = -1;
  double least = KN_EVENT_CLOSED;
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    bool limit = tag->kind == KN_ROW_LIMIT;
    double gap = limit ? kn_limit_gap(s->model, tag->index, w->q1) : s->touch.after[tag->index].gap;
    if (s->row.u_before[tag->row] >= -KN_EVENT_REST || gap >= least) continue;
    least = gap;
    w->gap.hit = limit ? 0 : s->touch.after[tag->index].key;
    w->gap.hit_limit = limit ? tag->index : -1;
  }
  return KN_OK;
}

static kn_status locate(kn_sim* s, kn_event_work* w, kn_state* x) {
  double gap, mode, error, h = w->flow.h;
  int group;
  w->gap.hit = 0;
  w->gap.hit_limit = -1;
  KN_TRY(first_break(&mode, &group, s, w, x));
  KN_TRY(kn_event_first_gap(&gap, s, w));
  if (gap >= 1.0 && mode >= 1.0) return KN_OK;
  if (gap <= mode) return land(s, w, x, gap * h);
  w->step.events++;
  return kn_event_flow(&error, s, w, x, mode * h);
}

/* Takes the sub-step over. */
static kn_status accept(kn_sim* s, kn_event_work* w, kn_state* x, double dt) {
  const kn_model* m = s->model;
  kn_energy before, after;
  kn_event_book_flow(s, w);
  memcpy(w->q, w->q1, (size_t)m->nq * sizeof(double));
  memcpy(w->v, w->v1, (size_t)m->nv * sizeof(double));
  bool last = !(w->left - w->flow.h > 1e-13 * dt);
  w->left = last ? 0.0 : w->left - w->flow.h;
  w->t = last ? x->time + dt : x->time + (dt - w->left);
  kn_dyn_energy(&before, s->data, m, w->q, w->v);
  KN_TRY(kn_event_repair(s, w, x));
  kn_dyn_energy(&after, s->data, m, w->q, w->v);
  s->report.ledger.correction +=
      after.kinetic - before.kinetic + after.potential - before.potential + after.spring - before.spring;
  return KN_OK;
}

static kn_status step_all(kn_sim* s, kn_event_work* w, kn_state* x, double dt) {
  if (!kn_state_find_block(x, "events")) {
    kn_state_block* block;
    KN_TRY(kn_state_add_block(&block, x, "events", sizeof(pause_t)));
  }
  pause_t* pause = pause_of(x);
  w->step.started = s->book.started;
  kn_report_begin(s, x, dt);
  KN_TRY(begin(s, w, x, dt));
  if (pause->left > 0) {
    pause->left--;
    return leave(s, w, x, dt, 4.0);
  }
  while (w->left > 0.0) {
    KN_TRY(kn_event_look(s, w));
    if (begins_deep(s, w)) return leave(s, w, x, dt, 6.0);
    KN_TRY(settle(s, w, x));
    w->step.evaluations += ROUND;
    if (w->trouble != KN_OK || w->step.events >= w->step.limit) return give_up_settling(s, w, x, dt);
    if (kn_event_spent(s, w))
      return give_up(s, w, x, dt, KN_TROUBLE_EVENT_EVALUATIONS, w->step.evaluations, budget(s, w));
    if (kn_event_slow_slip(w, fmin(w->left, w->flow.h_next))) return leave(s, w, x, dt, 3.0);
    if (loop_rank_changed(w)) return leave(s, w, x, dt, 5.0);
    if (kn_event_still(s, w, w->left)) {
      kn_event_stay(s, w, w->left);
    } else {
      KN_TRY(fly(s, w, x));
      if (w->trouble != KN_OK) return give_up(s, w, x, dt, KN_TROUBLE_EVENT_ERROR, w->trouble_value, 1.0);
      KN_TRY(locate(s, w, x));
      w->step.stalled = w->flow.h < 1e-8 * dt ? w->step.stalled + 1 : 0;
      if (w->step.stalled > MAX_STALLED)
        return give_up(s, w, x, dt, KN_TROUBLE_EVENT_STALLED, w->step.stalled, MAX_STALLED);
    }
    KN_TRY(accept(s, w, x, dt));
  }
  if (s->settings.projection && s->report.penetration > 1e-9)
    return give_up(s, w, x, dt, KN_TROUBLE_EVENT_OVERLAP, s->report.penetration, 1e-9);
  if (!kn_all_finite(w->q, s->model->nq) || !kn_all_finite(w->v, s->model->nv))
    return kn_fail(KN_NOT_FINITE, "the motion between events at t = %g s overflows", x->time);
  pause->length /= 2;
  memcpy(x->q, w->q, (size_t)s->model->nq * sizeof(double));
  memcpy(x->v, w->v, (size_t)s->model->nv * sizeof(double));
  x->time += dt;
  kn_state_block* pairs = kn_state_find_block(x, "pairs");
  pairs->used = w->cache.used;
  memcpy(pairs->data, w->cache.data, w->cache.used);
  return kn_event_book_end(s, w, x, dt);
}

/* Accelerations that overflow somewhere on the way are one more reason to leave the step to `time`. A step
   that fails has not changed what the next compares its modes with. */
static kn_status step(kn_sim* s, kn_state* x, double dt) {
  kn_event_work* w = kn_events_of(s);
  int lasts = s->book.lasts;
  double time = x->time;
  memcpy(w->step.last, s->book.last, (size_t)lasts * sizeof *s->book.last);
  kn_status status = step_all(s, w, x, dt);
  if (status == KN_NOT_FINITE && !w->step.handed) {
    kn_fours_copy(x->q, s->past.q_safe, s->model->nq);
    kn_fours_copy(x->v, s->past.v_safe, s->model->nv);
    x->time = time;
    kn_state_take_back(x);
    w->trouble = KN_NOT_FINITE;
    status = give_up(s, w, x, dt, KN_TROUBLE_EVENT_OVERFLOW, w->step.evaluations, 0.0);
  }
  if (status == KN_OK) {
    learn(pause_of(x), w);
    return KN_OK;
  }
  memcpy(s->book.last, w->step.last, (size_t)lasts * sizeof *s->book.last);
  s->book.lasts = lasts;
  return status;
}

const kn_stepper kn_stepper_event = {
    .name = "event",
    .doc = "event driven: smooth motion with held contacts between located impacts and changes of mode",
    .citation = "C. Glocker and F. Pfeiffer, Dynamical systems with unilateral contacts, 1992; A. Jain 2014",
    .step = step,
    .create = create,
    .destroy = destroy,
};
