/* Song and Kumar's example 2 with the hybrid stepper: rigid until the P property is lost, compliant while the
   rigid problem has several solutions, rigid again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grasp.h"
#include "scene.h"
#include "test.h"

enum { MOST = 8 };

typedef struct outcome {
  int switches;
  double t[MOST]; /* of the switches */
  int to[MOST];   /* 1 compliant, -1 rigid */
  double force_jump[MOST], velocity_jump[MOST];
  double away;   /* largest |y - y_d|, m */
  double jump;   /* largest |y⁺ - y - dt (v + v⁺)/2| of a step: what its velocities do not explain, m */
  double y_end;  /* m */
  double ledger; /* largest imbalance of a step's columns, J */
  int said;      /* switches with a cause */
  double open, closed; /* s: first step without force at contact 1, and the last of that time */
} outcome;

static double imbalance(const kn_ledger* l) {
  double stored = l->kinetic + l->potential + l->spring, rest = 0, size = 0;
  const double part[] = {l->actuator,   l->applied,   l->damping,   l->joint_friction, l->friction,
                         l->impact,     l->normal,    l->limit,     l->loop,           l->prescribed,
                         l->correction, l->compliant, l->switching, l->integration};
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) rest += part[i], size = fmax(size, fabs(part[i]));
  return fabs(stored - rest) / fmax(1e-6, size); /* nothing is booked below a microjoule here */
}

typedef struct sample {
  double force[KN_GRASP_C], v[KN_GRASP_C];
} sample;

static sample sample_of(const kn_report* r, kn_state* x, int first_joint) {
  sample s = {0};
  for (int i = 0; i < r->contacts; i++) {
    int link = r->contact[i].geom_b - 1; /* geoms: object, link1 … link4 */
    if (link >= 0 && link < KN_GRASP_C) s.force[link] = r->contact[i].impulse[0] / r->dt;
  }
  memcpy(s.v, kn_state_v(x) + first_joint, sizeof s.v);
  return s;
}

/* The jump over a step: what changed beyond the change before. */
static void jumps(outcome* o, int k, const sample* a, const sample* b, const sample* c) {
  double largest = 0;
  for (int i = 0; i < KN_GRASP_C; i++) largest = fmax(largest, b->force[i]);
  for (int i = 0; i < KN_GRASP_C; i++) {
    o->force_jump[k] = fmax(o->force_jump[k], fabs(c->force[i] - b->force[i]) / largest);
    o->velocity_jump[k] = fmax(o->velocity_jump[k], fabs((c->v[i] - b->v[i]) - (b->v[i] - a->v[i])));
  }
}

static bool run(outcome* out, const char* scene, const char* path) {
  const char* set[] = {path};
  kn_scene_opened* o;
  kn_state* x;
  kn_sim* sim;
  memset(out, 0, sizeof *out);
  if (!CHECK_OK(kn_scene_open(&o, scene, set, 1))) return false;
  kn_sim_settings s = kn_scene_settings_of(o);
  s.stepper = "hybrid";
  CHECK_OK(kn_state_create(&x, o->model));
  CHECK_OK(kn_scene_start(o, x));
  bool ok = CHECK_OK(kn_sim_create(&sim, o->model, &s));
  ok = ok && CHECK_OK(kn_sim_set_controller(sim, &o->controller)) && CHECK_OK(kn_sim_prepare(sim, x));
  kn_grasp g = kn_grasp_task(2);
  g.path = strcmp(path, "path=cubic") == 0 ? KN_GRASP_CUBIC : KN_GRASP_QUINTIC;
  int joints = kn_model_nv(o->model) - 4;
  sample past[3] = {0};
  for (int k = 0; k < 2000 && ok; k++) {
    double want[3], xd[3], xdd[3], direction[3];
    double y = kn_state_q(x)[1], v = kn_state_v(x)[1];
    ok = CHECK_OK(kn_step(sim, x));
    const kn_report* r = kn_sim_report(sim);
    out->jump = fmax(out->jump, fabs(kn_state_q(x)[1] - y - 0.5 * r->dt * (v + kn_state_v(x)[1])));
    past[0] = past[1], past[1] = past[2], past[2] = sample_of(r, x, joints);
    if (past[2].force[0] == 0 && kn_state_time(x) < 0.645) {
      if (out->open == 0) out->open = kn_state_time(x);
      out->closed = kn_state_time(x);
    }
    kn_grasp_desired(want, xd, xdd, direction, &g, kn_state_time(x));
    out->away = fmax(out->away, fabs(kn_state_q(x)[1] - want[1]));
    out->ledger = fmax(out->ledger, imbalance(&r->ledger));
    for (int e = 0; e < r->events; e++) {
      if (r->event[e].kind == KN_EVENT_TROUBLE) /* the layers' energy on leaving, and nothing else */
        CHECK(strcmp(r->event[e].text, "switching to compliant contact") == 0);
      if (r->event[e].kind != KN_EVENT_SWITCH) continue;
      if (out->switches < MOST) {
        out->t[out->switches] = r->event[e].t;
        out->to[out->switches] = r->event[e].value > 0 ? 1 : -1;
        jumps(out, out->switches, &past[0], &past[1], &past[2]);
      }
      out->said += r->event[e].text[0] != '\0';
      printf("  %.4f s %s: %s\n", r->event[e].t, r->event[e].value > 0 ? "compliant" : "rigid",
             r->event[e].text);
      out->switches++;
    }
  }
  out->y_end = kn_state_q(x)[1];
  kn_sim_destroy(sim);
  kn_state_destroy(x);
  kn_scene_close(o);
  return ok;
}

static void check_window(const char* path, double lost, double back_lo, double back_hi, bool opens) {
  outcome o;
  if (!run(&o, "grasp-2", path)) return;
  if (opens) { /* contacts 1 and 3 come off inside the window, when an independent prototype says: 0.553-0.634
                  s */
    printf("  open from %.4f to %.4f s\n", o.open, o.closed);
    CHECK_NEAR(o.open, 0.553, 1.5e-3);
    CHECK_NEAR(o.closed, 0.634, 1.5e-3);
  }
  printf("  %s: |y - plan| %.3g mm, jump %.3g mm, force jump %.2g, velocity jumps %.3g, %.3g rad/s, ledger "
         "%.2g\n",
         path, 1e3 * o.away, 1e3 * o.jump, o.force_jump[0], o.velocity_jump[0], o.velocity_jump[1], o.ledger);
  if (!CHECK_INT(o.switches, 2)) return; /* no chatter */
  CHECK_INT(o.said, 2);
  CHECK_INT(o.to[0], 1);
  CHECK_INT(o.to[1], -1);
  CHECK_NEAR(o.t[0], lost, 5e-4 + 1e-9); /* one step */
  CHECK(o.t[1] >= back_lo && o.t[1] <= back_hi);
  CHECK_BELOW(o.away, 0.5e-3);
  CHECK_BELOW(
      o.jump,
      0.03e-3); /* the motion is continuous: the offset of 0.24 mm goes in 200 steps, some 1 µm each */
  CHECK_BELOW(o.force_jump[0], 0.05);
  CHECK_BELOW(o.velocity_jump[1], 0.06); /* rad/s */
  CHECK_BELOW(o.ledger, 1e-6);
}

TEST(example_2_cubic) { check_window("path=cubic", 0.419627, 0.643258 - 0.01, 0.643258 + 0.01, true); }
TEST(example_2_quintic) { check_window("path=quintic", 0.435545, 0.615515, 0.66, false); }

TEST(in_space) {
  outcome o;
  if (!run(&o, "grasp-3d", "path=cubic")) return;
  printf("  |y - plan| %.3g mm, ends at %.5f m\n", 1e3 * o.away, o.y_end);
  if (!CHECK_INT(o.switches, 2)) return;
  CHECK_NEAR(o.t[0], 0.419627, 5e-4 + 1e-9); /* without friction on the table the planar times hold */
  CHECK_NEAR(o.t[1], 0.643258, 0.01);
  CHECK_BELOW(o.away, 0.5e-3);
  CHECK_NEAR(o.y_end, 0.18, 1e-4);
}

/* Example 1 is P throughout: nothing to switch, the same bits as `time`. */
TEST(example_1_stays_rigid_bit_for_bit) {
  uint64_t hash[2];
  for (int k = 0; k < 2; k++) {
    kn_scene_opened* o;
    kn_state* x;
    kn_sim* sim;
    CHECK_OK(kn_scene_open(&o, "grasp-1", NULL, 0));
    kn_sim_settings s = kn_scene_settings_of(o);
    s.stepper = k ? "hybrid" : "time";
    CHECK_OK(kn_state_create(&x, o->model));
    CHECK_OK(kn_scene_start(o, x));
    if (!CHECK_OK(kn_sim_create(&sim, o->model, &s))) return;
    CHECK_OK(kn_sim_set_controller(sim, &o->controller));
    CHECK_OK(kn_sim_prepare(sim, x));
    for (int i = 0; i < 2000; i++) kn_step(sim, x);
    hash[k] = 1469598103934665603u;
    const unsigned char* q = (const unsigned char*)kn_state_q(x);
    const unsigned char* v = (const unsigned char*)kn_state_v(x);
    for (size_t i = 0; i < 7 * sizeof(double); i++)
      hash[k] = ((hash[k] ^ q[i]) * 1099511628211u ^ v[i]) * 1099511628211u;
    kn_sim_destroy(sim);
    kn_state_destroy(x);
    kn_scene_close(o);
  }
  CHECK(hash[0] == hash[1]);
}
