/* Checking a recording: the table of checks, which of them a recording allows, and the walk over its steps.
   Public: kn_verify, kn_verify_except, kn_verify_checks (knuckle/record.h). What each part checks is said in
   its own file; README.md has the map. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/plain.h"
#include "record/verify/verify.h"

static const kn_verify_check table[KN_CHECK_COUNT + 1] = {
#define X(id, name, doc, time) {name, doc},
    KN_CHECKS(X)
#undef X
        {NULL, NULL}};

static const bool of_time[KN_CHECK_COUNT] = {
#define X(id, name, doc, time) time,
    KN_CHECKS(X)
#undef X
};

const kn_verify_check* kn_verify_checks(void) { return table; }

void kn_verifier_report(kn_verifier* v, int64_t step, kn_check_id check, double value, double limit) {
  if (!v->off[check] && !(value <= limit)) v->found(v->context, step, table[check].name, value, limit);
}

/* ---- one step ---- */

static bool finite_step(const kn_verifier* v, const kn_recorded* s) {
  double sum = s->t + s->dt;
  for (int i = 0; i < v->model->nq; i++) sum += s->q[i] + s->q_before[i];
  for (int i = 0; i < v->model->nv; i++)
    sum += s->v[i] + s->v_before[i] + s->tau[i] + s->v_free[i] + s->v_solved[i] + s->v_bias[i] + s->force[i] +
           s->extra[i];
  for (int i = 0; i < v->model->nu; i++) sum += s->ctrl[i];
  for (int i = 0; i < v->model->nlimit; i++) sum += s->limit_impulse[i];
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    for (int k = 0; k < 9; k++) sum += c->frame[k];
    for (int k = 0; k < 3; k++)
      sum += c->point[k] + c->impulse[k] + c->velocity[k] + c->moment[k] + c->spin[k];
    sum +=
        c->gap + c->torsion + c->roll + c->e + c->e_used + c->impulse_compression + c->impulse_decompression;
  }
  return isfinite(sum) && s->dt > 0.0;
}

/* Largest of several numbers would pass over a NaN: there is none after this. */
static bool finite_mechanism(const kn_verifier* v) {
  const kn_plain* at[] = {&v->mid, &v->before, &v->after, &v->flight};
  double sum = 0.0;
  for (size_t k = 0; k < 4; k++) {
    sum += at[k]->kinetic + at[k]->potential + at[k]->spring;
    for (int i = 0; i < v->model->nv; i++) sum += at[k]->c[i] + at[k]->carry[i] + kn_plain_inertia(at[k], i);
    for (int b = 0; b < v->model->nbody; b++)
      for (int i = 0; i < 9; i++) sum += at[k]->body[b].R[i] + at[k]->body[b].o[i / 3];
  }
  return isfinite(sum);
}

static bool geoms_exist(const kn_verifier* v, const kn_recorded* s) {
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    int n = v->model->ngeom, b = v->model->nbody;
    if (c->geom_a < 0 || c->geom_b < 0 || c->geom_a >= n || c->geom_b >= n || c->geom_a == c->geom_b ||
        c->body_a < -1 || c->body_b < -1 || c->body_a >= b || c->body_b >= b)
      return false;
  }
  return true;
}

/* The bytes of the state before are those after the last step; a caller may move it, and then says so. */
static void check_time(kn_verifier* v, const kn_recorded* s) {
  size_t nq = (size_t)v->model->nq * sizeof(double), nv = (size_t)v->model->nv * sizeof(double);
  bool follows = v->last.started && v->asked.full && (!nq || memcmp(v->last.q, s->q_before, nq) == 0) &&
                 (!nv || memcmp(v->last.v, s->v_before, nv) == 0);
  /* rounding of t + dt, once */
  kn_verifier_report(v, s->step, KN_CHECK_TIME, fabs(s->dt - v->asked.dt), 1e-12 * v->asked.dt);
  if (follows)
    kn_verifier_report(v, s->step, KN_CHECK_TIME, fabs(s->t - v->last.t - s->dt),
                       1e-12 * fmax(s->dt, fabs(s->t)));
  if (v->last.started && v->asked.full) kn_verifier_report(v, s->step, KN_CHECK_FOLLOWS, !follows, 0.0);
  if (v->last.started && !follows) v->last.started = false; /* energies begin anew */
  memcpy(v->last.q, s->q, nq), memcpy(v->last.v, s->v, nv);
  v->last.t = s->t;
}

/* Energy that a forced repair added is taken back by scaling the velocities of trees at the very end; the
   equations hold for what they were before. */
static void check_motion(kn_verifier* v, const kn_recorded* s, const double* mid) {
  kn_recorded solved = *s;
  double up = 0.0, back = 0.0;
  for (int i = 0; i < v->model->nv; i++) {
    up = fmax(up, fabs(s->v[i]) - 1.002 * fabs(s->v_solved[i]));
    back = fmax(back, -s->v[i] * s->v_solved[i]);
  }
  kn_verifier_report(v, s->step, KN_CHECK_SCALING, up, 0.0);
  kn_verifier_report(v, s->step, KN_CHECK_SCALING, back, 0.0);
  solved.v = s->v_solved;
  kn_verify_forces(v, s, mid);
  kn_verify_momentum(v, &solved, mid);
  kn_verify_position(v, &solved);
  kn_verify_gain(v, &solved);
  kn_verify_contacts(v, &solved, mid);
  if (!v->asked.moreau)
    kn_verify_bounces(v, &solved); /* its restitution is among the conditions on contacts */
  kn_verify_gaps(v, &solved);
  kn_verify_rise(v, s);
}

/* The middle is where a step of `time` looks, q ⊕ dt/2 v (of `theta` its beginning); of a step that is known by its ends only it is halfway
   between them, as the points of its contacts are. */
static void place(kn_verifier* v, const kn_recorded* s, double* mid, bool ends) {
  const kn_model* m = v->model;
  double *mean = v->scratch, *end = v->scratch + m->nv;
  if (ends) kn_plain_way(mean, m, s->q_before, s->q);
  kn_plain_advance(mid, m, s->q_before, ends ? mean : s->v_before,
                   ends              ? 0.5
                   : v->asked.moreau ? 0.0
                                     : 0.5 * s->dt);
  const double* fast = s->impact ? s->v_free : s->v_solved;
  kn_verify_mean(mean, v, s, fast);
  kn_plain_advance(end, m, s->q_before, mean, s->dt);
  kn_plain_place(&v->flight, end, fast);
  kn_plain_matrices(&v->flight, end, fast);
  kn_plain_place(&v->mid, mid, s->v_bias);
  kn_plain_matrices(&v->mid, mid, s->v_bias);
  kn_plain_place(&v->before, s->q_before, s->v_before);
  kn_plain_matrices(&v->before, s->q_before, s->v_before);
  kn_plain_place(&v->after, s->q, s->v);
  kn_plain_matrices(&v->after, s->q, s->v);
}

void kn_verifier_step(kn_verifier* v, const kn_recorded* recorded) {
  double* mid = v->scratch + v->model->nv + v->model->nq;
  kn_recorded own = *recorded, *s = &own;
  bool ends = v->asked.event && !kn_verify_handed(s);
  if (v->asked.moreau) own.impact = false; /* blows are in the same equations as everything else */
  if (ends) own.v_free = own.v_solved = own.v, own.v_bias = v->ends, own.impact = false;
  for (int i = 0; i < v->model->nv && ends; i++) v->ends[i] = 0.5 * (s->v[i] + s->v_before[i]);
  if (!finite_step(v, s)) {
    kn_verifier_report(v, s->step, KN_CHECK_FINITE, NAN, 0.0);
    return;
  }
  if (!geoms_exist(v, s)) {
    kn_verifier_report(v, s->step, KN_CHECK_PAIR, 1.0, 0.0);
    return;
  }
  check_time(v, s);
  place(v, s, mid, ends);
  if (!finite_mechanism(v)) { /* of finite numbers: a quaternion of length zero, squares that overflow */
    kn_verifier_report(v, s->step, KN_CHECK_FINITE, NAN, 0.0);
    return;
  }
  kn_verify_pairs(v, s);
  kn_verify_returned(v, s);
  if (ends && !v->off[KN_CHECK_MOMENTUM])
    kn_verify_ends(v, s, mid);
  else if (!v->off[KN_CHECK_MOMENTUM])
    check_motion(v, s, mid);
  kn_verify_loops(v, s);
  kn_verify_limits(v, s);
  kn_verify_overlaps(v, s);
  kn_verify_sensors(v, s);
  kn_verify_energy(v, s);
  v->climb.newton |= kn_verify_newton(v, s);
  if (!v->climb.newton)
    kn_verifier_report(v, s->step, KN_CHECK_GAIN, s->gain_rel, 1e-9); /* what the step itself admits */
  kn_verifier_report(v, s->step, KN_CHECK_RESIDUAL, s->residual, 1e-6);
  v->last.started = true;
}

/* ---- memory ---- */

enum { ARRAYS = 18 };

static void arrays(double** list[ARRAYS], kn_verifier* v) {
  double** part[] = {
      &v->r,           &v->left,          &v->spare,         &v->last.v,      &v->scratch,
      &v->last.q,      &v->grow,          &v->force.tau,     &v->force.extra, &v->force.actuator,
      &v->force.input, &v->force.drive_k, &v->force.drive_d, &v->J,           &v->mu,
      &v->H,           &v->loaded.limit,  &v->ends};
  memcpy(list, part, sizeof part);
}

kn_status kn_verifier_create(kn_verifier* v, const kn_model* m) {
  *v = (kn_verifier){.model = m, .tolerance = 1e-8};
  v->asked = (kn_asked){
      .stepper = "time", .law = "poisson", .dt = 1e-3, .gtol = 1e-4, .v_rest = -1.0, .closed = 1e-8};
  for (int i = 0; i < m->njoint; i++)
    if (m->joint[i].type == KN_JOINT_SCREW)
      return kn_fail(KN_UNSUPPORTED, "joint %d is a screw, which the verifier does not know", i);
  size_t n = (size_t)m->nv, rows = 12 * (size_t)m->nloop;
  kn_plain* at[] = {&v->mid, &v->after, &v->before, &v->flight};
  kn_status status = kn_plain_plan_make(&v->plan, m);
  for (size_t i = 0; i < 4 && status == KN_OK; i++) status = kn_plain_create(at[i], m, &v->plan);
  if (status == KN_OK) status = kn_nearby_create(&v->sweep, m);
  if (status == KN_OK) status = kn_verify_sensors_create(v);
  size_t nq = (size_t)m->nq;
  size_t size[ARRAYS] = {n, n, n, n,        n + 2 * nq, nq,          (size_t)m->ngeom,  n,    n, n,
                         n, n, n, rows * n, 3 * rows,   rows * rows, (size_t)m->nlimit, 6 * n};
  double** part[ARRAYS];
  arrays(part, v);
  for (size_t i = 0; i < ARRAYS && status == KN_OK; i++)
    if (!(*part[i] = calloc(size[i] + 1, sizeof(double))))
      status = kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d dofs", m->nv);
  if (status != KN_OK) kn_verifier_destroy(v);
  return status;
}

void kn_verifier_destroy(kn_verifier* v) {
  kn_plain* at[] = {&v->mid, &v->after, &v->before, &v->flight};
  double** part[ARRAYS];
  arrays(part, v);
  for (size_t i = 0; i < 4; i++) kn_plain_destroy(at[i]);
  for (size_t i = 0; i < ARRAYS; i++) free(*part[i]);
  kn_plain_plan_free(&v->plan);
  kn_nearby_destroy(v->sweep);
  kn_verify_sensors_destroy(v);
  free(v->listed);
  free(v->loaded.contact);
  *v = (kn_verifier){0};
}

/* ---- a whole recording ---- */

static void collect(void* context, int64_t step, const char* check, double value, double limit) {
  kn_verification* out = context;
  out->violations++;
  if (out->listed < KN_VIOLATIONS_MAX)
    out->violation[out->listed++] = (kn_violation){step, check, value, limit};
}

static void skip(kn_verification* out, kn_verifier* v, kn_check_id check, const char* why) {
  if (v->off[check]) return;
  v->off[check] = true;
  out->skipped[out->skips++] = (kn_skip){table[check].name, why, false};
}

static double number(const kn_recording* in, const char* name, double otherwise) {
  const char* text = kn_recording_setting(in, name);
  return text ? kn_text_to_double(text, NULL) : otherwise;
}

static const char* word(const kn_recording* in, const char* name) {
  const char* text = kn_recording_setting(in, name);
  return text ? text : "";
}

static kn_asked asked_of(const kn_recording* in) {
  return (kn_asked){.stepper = word(in, "stepper"),
                    .law = word(in, "law"),
                    .dt = number(in, "dt", NAN),
                    .gtol = number(in, "gtol", NAN),
                    .v_rest = number(in, "v_rest", -1.0),
                    .closed =
                        number(in, "tolerance", 0.0) >= 1e-7 ? 1e-7 : 1e-8, /* more in heaps for speed */
                    .theta = number(in, "theta", 0.5),
                    .moreau = strcmp(word(in, "stepper"), "theta") == 0,
                    .event = strcmp(word(in, "stepper"), "event") == 0,
                    .friction = (int)number(in, "friction", 0.0),
                    .full = kn_recording_every(in) == 1,
                    .K = number(in, "compliant", 0.0) == 0.0 ? number(in, "K", NAN) : NAN,
                    .C = number(in, "C", NAN),
                    .Kt = number(in, "Kt", NAN),
                    .eps = number(in, "eps", NAN),
                    .t0 = number(in, "t0", NAN),
                    .m0 = number(in, "m0", NAN),
                    .any_e = number(in, "restitution", 0.0) != 0.0,
                    .split = number(in, "split_impacts", 0.0) != 0.0,
                    .sequential = number(in, "sequential", 0.0) != 0.0};
}

/* What this recording does not allow to check. */
static void skip_what_cannot_be(kn_verification* out, kn_verifier* v) {
  const char* why = v->asked.split ? "checked for whole steps only, and split_impacts is on"
                                   : "not checked for this stepper";
  bool soft = *v->asked.stepper == 'c' || *v->asked.stepper == 'h',
       time = (strcmp(v->asked.stepper, "time") == 0 || v->asked.moreau || v->asked.event || soft) &&
              !v->asked.split;
  for (int i = 0; i < KN_CHECK_COUNT && !time; i++)
    if (of_time[i]) skip(out, v, (kn_check_id)i, why);
  if (soft && isnan(v->asked.K)) {
    skip(out, v, KN_CHECK_COMPLEMENTARITY, "the compliant law is not Kelvin and Voigt's");
    skip(out, v, KN_CHECK_RISE,
         "what is stored in contacts is not known: the compliant law is not Kelvin and Voigt's");
  }
  if (!v->asked.full) {
    skip(out, v, KN_CHECK_FOLLOWS, "the recording is thinned");
    skip(out, v, KN_CHECK_RISE, "the recording is thinned");
  }
  if (v->asked.any_e) skip(out, v, KN_CHECK_RESTITUTION, "e is a function that the caller gave");
}

static kn_status leave_out(kn_verification* out, kn_verifier* v, const char* const* names) {
  for (; names && *names; names++) {
    int i = 0;
    while (i < KN_CHECK_COUNT && strcmp(table[i].name, *names) != 0) i++;
    if (i == KN_CHECK_COUNT) return kn_fail(KN_NOT_FOUND, "there is no check named \"%s\"", *names);
    if (v->off[i]) continue;
    v->off[i] = true;
    out->skipped[out->skips++] = (kn_skip){table[i].name, "asked for", true};
  }
  return KN_OK;
}

static kn_status walk(kn_verification* out, kn_verifier* v, kn_recording* in) {
  int64_t last = 0;
  for (int i = 0; i < kn_recording_steps(in); i++) {
    kn_recorded step;
    KN_TRY(kn_recording_read(&step, in, i));
    if (v->asked.full && i > 0 && (uint64_t)step.step != (uint64_t)last + 1) /* any number may stand there */
      kn_verifier_report(v, step.step, KN_CHECK_CHAIN, (double)step.step - (double)last - 1.0, -1.0);
    last = step.step;
    kn_verifier_step(v, &step);
    if (v->failed) return kn_fail(KN_OUT_OF_MEMORY, "no memory to verify %d contacts", step.contacts);
    out->steps++;
  }
  kn_verify_rise_end(v);
  return KN_OK;
}

kn_status kn_verify_except(kn_verification* out, kn_recording* recording, const char* const* skips) {
  KN_REQUIRE(out != NULL && recording != NULL);
  *out = (kn_verification){0};
  const kn_model* m = kn_recording_model(recording);
  kn_verifier v;
  KN_TRY(kn_verifier_create(&v, m));
  v.found = collect;
  v.context = out;
  v.asked = asked_of(recording);
  kn_status status = leave_out(out, &v, skips);
  if (status == KN_OK) {
    skip_what_cannot_be(out, &v);
    for (int i = 0; i < kn_recording_problems(recording); i++)
      kn_verifier_report(&v, 0, KN_CHECK_FILE, (double)i + 1, 0.0);
    status = walk(out, &v, recording);
  }
  kn_verifier_destroy(&v);
  return status;
}

kn_status kn_verify(kn_verification* out, kn_recording* recording) {
  return kn_verify_except(out, recording, NULL);
}
