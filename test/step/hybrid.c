/* The stepper `hybrid`: rigid where it may be, through what rigid contact cannot answer, and back. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "ledger.h"
#include "test.h"
#include "world.h"

static int switches(const kn_report* r, double* value) {
  int n = 0;
  for (int i = 0; i < r->events; i++)
    if (r->event[i].kind == KN_EVENT_SWITCH) n++, *value = r->event[i].value;
  return n;
}

/* Where nothing switches the stepper is `time`, bit for bit. */
TEST(without_a_switch_it_is_time) {
  static const char* const names[] = {"sliding-block", "stack",   "quadruped", "incline", "wedged-box",
                                      "dual-arm",      "gripper", "four-bar",  "grasp-1", "woodpecker"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    kn_world a, b;
    if (!kn_world_open(&a, names[k], "time", 0, NULL) || !kn_world_open(&b, names[k], "hybrid", 0, NULL))
      return;
    double value;
    int found = 0;
    for (int i = 0; i < 150; i++) {
      CHECK_OK(kn_step(a.sim, a.state));
      CHECK_OK(kn_step(b.sim, b.state));
      found += switches(kn_sim_report(b.sim), &value);
    }
    CHECK_INT(found, 0);
    if (!CHECK(kn_state_hash(a.state) == kn_state_hash(b.state))) printf("  %s\n", names[k]);
    kn_world_close(&a);
    kn_world_close(&b);
  }
}

/* Redundant contact with one motion stays rigid; with the setting of the paper's third scenario it does not.
 */
TEST(box_on_four_points_stays_rigid) {
  for (int indeterminate = 0; indeterminate < 2; indeterminate++) {
    kn_world s;
    if (!kn_world_open(&s, "sliding-block speed=0", "hybrid", 0, NULL)) return;
    kn_sim_settings st = *kn_sim_settings_of(s.sim);
    st.hybrid.indeterminate = indeterminate;
    kn_sim_destroy(s.sim);
    CHECK_OK(kn_sim_create(&s.sim, s.scene->model, &st));
    int found = 0;
    double value = 0.0, before = kn_state_q(s.state)[2];
    for (int i = 0; i < 200; i++) {
      CHECK_OK(kn_step(s.sim, s.state));
      found += switches(kn_sim_report(s.sim), &value);
    }
    const kn_report* r = kn_sim_report(s.sim);
    CHECK_INT(found, indeterminate);
    CHECK_INT(r->contacts, 4);
    for (int i = 0; i < r->contacts; i++) CHECK_INT(r->contact[i].compliant, indeterminate);
    CHECK_BELOW(fabs(kn_state_q(s.state)[2] - before), indeterminate ? 1e-4 : 1e-12); /* m g/(4 K) = 25 µm */
    kn_world_close(&s);
  }
}

/* Save in the compliant phase, restore, go on: the same bits. Nothing is allocated. */
TEST(restart_in_the_compliant_phase_is_bitwise) {
  kn_world a, b;
  if (!kn_world_open(&a, "grasp-2", "hybrid", 0, NULL) || !kn_world_open(&b, "grasp-2", "hybrid", 0, NULL))
    return;
  static char bytes[1 << 16];
  size_t size = 0, before = kn_test_allocations();
  for (int i = 0; i < 1400; i++) {
    CHECK_OK(kn_step(a.sim, a.state));
    if (i == 900) {
      size = kn_state_size(a.state);
      CHECK(kn_sim_report(a.sim)->contact[0].compliant);
      CHECK_OK(kn_state_save(bytes, sizeof bytes, a.state));
    }
  }
  CHECK_INT(kn_test_allocations() - before, 0);
  CHECK_OK(kn_state_load(b.state, bytes, size));
  for (int i = 901; i < 1400; i++) CHECK_OK(kn_step(b.sim, b.state));
  CHECK(kn_state_hash(a.state) == kn_state_hash(b.state));
  kn_world_close(&a);
  kn_world_close(&b);
}

/* The paper's second example: leaves when the P property is lost, returns once. */
TEST(grasp_leaves_and_returns_once) {
  for (int quintic = 0; quintic < 2; quintic++) {
    double lost = quintic ? 0.435545 : 0.419627, regained = quintic ? 0.615515 : 0.643258, value, out = 0,
           back = 0;
    int n = 0;
    kn_world s;
    if (!kn_world_open(&s, quintic ? "grasp-2 path=quintic" : "grasp-2 path=cubic", "hybrid", 0, NULL))
      return;
    for (int i = 0; i < 2000; i++) {
      CHECK_OK(kn_step(s.sim, s.state));
      const kn_report* r = kn_sim_report(s.sim);
      for (int e = 0; e < r->events; e++)
        if (r->event[e].kind == KN_EVENT_SWITCH) {
          *(n == 0 ? &out : &back) = r->event[e].t;
          value = r->event[e].value;
          CHECK_NEAR(value, n == 0 ? 1.0 : -1.0, 0.0);
          CHECK(strlen(r->event[e].text) > 10);
          n++;
        }
    }
    CHECK_INT(n, 2);
    CHECK_NEAR(out, lost, 5e-4); /* one step */
    CHECK(back > regained && back < (quintic ? 0.66 : regained + 0.01));
    const kn_report* r = kn_sim_report(s.sim);
    CHECK_BELOW(fabs(kn_ledger_left(&r->total)), 1e-14); /* J; the object's kinetic energy is 7 mJ */
    printf("  %s: %.4f, %.4f\n", quintic ? "quintic" : "cubic", out, back);
    kn_world_close(&s);
  }
}

/* The same grasp in space, five contacts with two tangents each: the same switches. */
TEST(grasp_in_space_switches_alike) {
  kn_world s;
  if (!kn_world_open(&s, "grasp-3d", "hybrid", 0, NULL)) return;
  double t[8] = {0}, value = 0.0;
  int n = 0;
  for (int i = 0; i < 2000; i++) {
    CHECK_OK(kn_step(s.sim, s.state));
    const kn_report* r = kn_sim_report(s.sim);
    for (int e = 0; e < r->events && n < 8; e++)
      if (r->event[e].kind == KN_EVENT_SWITCH) t[n++] = r->event[e].t, value = r->event[e].value;
  }
  CHECK_INT(n, 2);
  CHECK_NEAR(value, -1.0, 0.0);
  CHECK_NEAR(t[0], 0.419627, 5e-4); /* P lost, one step */
  CHECK(t[1] > 0.643258 && t[1] < 0.653258);
  kn_world_close(&s);
}

/* ---- random scenes ---- */

typedef struct tally {
  long steps, compliant, out, back, contacts;
  double gap, created;
} tally;

static kn_body add_body(kn_spec* spec, kn_rng* rng, int i, bool planar, double mu) {
  kn_body_def b = kn_body_default();
  kn_body id;
  char name[16];
  snprintf(name, sizeof name, "body%d", i);
  b.name = name;
  b.inertia_from_geoms = true;
  b.pos[0] = 0.35 * (i - 1), b.pos[2] = 0.25 + kn_rng_range(rng, 0.0, 0.4);
  kn_spec_add_body(&id, spec, &b);
  kn_joint_def j = kn_joint_default(planar ? KN_JOINT_PLANAR : KN_JOINT_FREE);
  j.body = id;
  if (planar) j.axis[0] = 0, j.axis[1] = -1, j.axis[2] = 0, j.axis2[0] = 1, j.axis2[1] = 0, j.axis2[2] = 0;
  kn_joint joint;
  kn_spec_add_joint(&joint, spec, &j);
  static const kn_shape_type types[] = {KN_SHAPE_BOX, KN_SHAPE_CAPSULE, KN_SHAPE_SPHERE, KN_SHAPE_ELLIPSOID};
  kn_geom_def g = kn_geom_default(types[kn_rng_int(rng, 4)]);
  g.body = id;
  for (int k = 0; k < 3; k++) g.shape.size[k] = kn_rng_range(rng, 0.02, 0.15);
  g.density = kn_rng_range(rng, 200, 4000);
  g.material.mu = mu;
  g.material.e = kn_rng_int(rng, 3) == 0 ? kn_rng_range(rng, 0, 0.8) : 0.0;
  kn_geom geom;
  kn_spec_add_geom(&geom, spec, &g);
  return id;
}

/* Two to four bodies between a floor and two leaning walls, thrown about. */
static kn_status random_scene(kn_model** model, kn_state** state, uint64_t seed) {
  kn_spec* spec;
  kn_rng rng = kn_rng_seed(seed);
  bool planar = seed % 2;
  int bodies = 1 + kn_rng_int(&rng, 3);
  double mu = kn_rng_range(&rng, 0.0, 1.5);
  kn_spec_create(&spec);
  kn_geom_def f = kn_geom_default(KN_SHAPE_PLANE);
  kn_geom geom;
  f.material.mu = mu;
  f.material.e = 0.0;
  kn_spec_add_geom(&geom, spec, &f);
  for (int side = -1; side <= 1; side += 2) {
    double half = side * kn_rng_range(&rng, -0.9, -0.4); /* rotation about y by up to 100 degrees */
    f.pos[0] = side * 0.8;
    f.quat[0] = cos(half), f.quat[2] = sin(half);
    kn_spec_add_geom(&geom, spec, &f);
  }
  for (int i = 0; i < bodies; i++) add_body(spec, &rng, i, planar, kn_rng_range(&rng, 0.0, 1.5));
  kn_status status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  if (status != KN_OK) return status;
  status = kn_state_create(state, *model);
  for (int i = 0; i < kn_model_nv(*model) && status == KN_OK; i++)
    kn_state_v(*state)[i] = kn_rng_range(&rng, -2, 2) * (planar || i % 6 < 3 ? 1.0 : 3.0);
  return status;
}

static bool run_random(tally* t, uint64_t seed, int steps) {
  kn_model* model = NULL;
  kn_state *x = NULL, *y = NULL;
  kn_sim *sim = NULL, *rigid = NULL;
  kn_sim_settings st = kn_sim_default();
  st.dt = 2e-3;
  bool ok = CHECK_OK(random_scene(&model, &x, seed)) && CHECK_OK(kn_sim_create(&rigid, model, &st));
  st.stepper = "hybrid";
  ok = ok && CHECK_OK(kn_sim_create(&sim, model, &st)) && CHECK_OK(kn_state_create(&y, model)) &&
       CHECK_OK(kn_state_copy(y, x));
  int found = 0;
  double value, scale = 0.0;
  for (int k = 0; k < steps && ok; k++) {
    ok = CHECK_OK(kn_step(sim, x)) && CHECK_OK(kn_step(rigid, y));
    const kn_report* r = kn_sim_report(sim);
    int now = switches(r, &value);
    found += now;
    for (int e = 0; e < r->events; e++)
      if (r->event[e].kind == KN_EVENT_SWITCH) *(r->event[e].value > 0.0 ? &t->out : &t->back) += 1;
    for (int i = 0; i < kn_model_nv(model) && ok; i++) ok = CHECK(isfinite(kn_state_v(x)[i]));
    if (ok && !found) ok = CHECK(kn_state_hash(x) == kn_state_hash(y));
    bool soft = false;
    for (int i = 0; i < r->contacts; i++) soft = soft || r->contact[i].compliant;
    t->compliant += soft;
    t->contacts += r->contacts;
    t->steps++;
    scale = fmax(scale, fabs(r->energy.kinetic) + fabs(r->energy.potential));
    t->gap = fmax(t->gap, fabs(kn_ledger_left(&r->total)) / fmax(scale, 1e-3));
  }
  const kn_report* r = kn_sim_report(sim);
  ok = ok && CHECK_BELOW(r->gain_rel, 1e-9) && CHECK_BELOW(t->gap, 1e-10);
  if (ok) t->created = fmax(t->created, r->gain_rel);
  if (!ok) printf("  seed %llu\n", (unsigned long long)seed);
  kn_sim_destroy(sim);
  kn_sim_destroy(rigid);
  kn_state_destroy(x);
  kn_state_destroy(y);
  kn_model_destroy(model);
  return ok;
}

TEST(random_frictional_scenes_never_fail) {
  tally t = {0};
  int count = 100 * kn_test_effort();
  for (int i = 0; i < count; i++)
    if (!run_random(&t, (uint64_t)i, 300)) break;
  printf("  %d scenes, %ld steps, %ld contacts; %ld switches out, %ld back, %ld compliant steps; largest "
         "gain %.2g, "
         "ledger open by %.2g\n",
         count, t.steps, t.contacts, t.out, t.back, t.compliant, t.created, t.gap);
  CHECK(t.contacts > 1000);
}

/* ---- Painlevé's rod ---- */

/* The fast time t/√ε with the configuration frozen: two velocities and two deformations of the tip,
   Kelvin-Voigt with K = C = 1 and m = 1, friction as in song-kumar (trial force, slides when outside the
   cone). By classical Runge-Kutta steps, sharing nothing with the library. Λ = [[1 + 3c², -3sc], [-3sc, 1 +
   3s²]]. */
typedef struct fast {
  double un, ut, dn, dt; /* velocities of the tip, deformations */
} fast;

static fast fast_rate(const fast* x, double mu, double c, double s, double damping) {
  double fn = x->dn > 0.0 ? fmax(0.0, x->dn - damping * x->un) : 0.0;
  double trial = x->dt - damping * x->ut, ft = trial, rate = -x->ut;
  if (fabs(trial) > mu * fn) {
    ft = copysign(mu * fn, trial);
    rate = (ft - x->dt) / damping;
  }
  return (fast){(1 + 3 * c * c) * fn - 3 * s * c * ft, -3 * s * c * fn + (1 + 3 * s * s) * ft, -x->un, rate};
}

static fast fast_add(const fast* x, const fast* k, double h) {
  return (fast){x->un + h * k->un, x->ut + h * k->ut, x->dn + h * k->dn, x->dt + h * k->dt};
}

/* From sliding with u_t and hardly any load (along the unstable direction in the limit) to lift-off. */
static fast impact_without_collision(double ut, double mu, double c, double s, double damping, double seed) {
  fast x = {0, ut, seed, 0};
  const double h = 2e-5;
  x.dt = -copysign(mu * seed, ut);
  for (long i = 0; i < 20000000; i++) {
    fast k1 = fast_rate(&x, mu, c, s, damping), y = fast_add(&x, &k1, 0.5 * h);
    fast k2 = fast_rate(&y, mu, c, s, damping);
    y = fast_add(&x, &k2, 0.5 * h);
    fast k3 = fast_rate(&y, mu, c, s, damping);
    y = fast_add(&x, &k3, h);
    fast k4 = fast_rate(&y, mu, c, s, damping);
    fast k = {(k1.un + 2 * (k2.un + k3.un) + k4.un) / 6, (k1.ut + 2 * (k2.ut + k3.ut) + k4.ut) / 6,
              (k1.dn + 2 * (k2.dn + k3.dn) + k4.dn) / 6, (k1.dt + 2 * (k2.dt + k3.dt) + k4.dt) / 6};
    x = fast_add(&x, &k, h);
    if (x.un > 0.0 && x.dn - damping * x.un <= 0.0) break;
  }
  return x;
}

static void tip_velocity(double u[2], const kn_state* state) {
  double* q = kn_state_q((kn_state*)(uintptr_t)state);
  double* v = kn_state_v((kn_state*)(uintptr_t)state);
  u[0] = v[1] - v[2] * 0.5 * cos(q[2]);
  u[1] = v[0] + v[2] * 0.5 * sin(q[2]);
}

/* Runs the scene until the tip, once loaded, is free again; its velocity then. */
static bool lift_off(double u[2], const kn_compliant_settings* law) {
  kn_world r;
  kn_sim_settings st = kn_sim_default();
  st.stepper = "hybrid";
  st.dt = 0.2 * sqrt(law->eps);
  st.compliant = *law;
  bool ok = kn_world_open_with(&r, "painleve-rod", &st), loaded = false;
  for (int i = 0; i < 3000 && ok; i++) {
    ok = CHECK_OK(kn_step(r.sim, r.state));
    const kn_report* rep = kn_sim_report(r.sim);
    double p = rep->contacts ? rep->contact[0].impulse[0] : 0.0, value = 0.0;
    if (i == 0) ok = ok && CHECK_INT(switches(rep, &value), 1) && CHECK_NEAR(value, 1.0, 0.0);
    loaded = loaded || p > 0.0;
    if (loaded && !(p > 0.0)) break;
  }
  if (ok) tip_velocity(u, r.state);
  kn_world_close(&r);
  return ok;
}

/* No rigid solution exists (minor -0.2); the tip jams, stops, sticks and lifts off: impact without collision.
   References: S. J. Hogan, K. U. Kristiansen, On the regularization of impact without collision, Proc. R.
   Soc. A 473 (2017) 20160773 (slip, stick, lift-off, with every damping); F. Génot, B. Brogliato, New results
   on Painlevé paradoxes, 1999. The limit ε -> 0 is the frozen configuration in fast time. */
TEST(painleve_rod_tends_to_impact_without_collision) {
  double phi = 63.4349488229 * M_PI / 180.0, c = cos(phi), s = sin(phi), before = INFINITY;
  fast limit = impact_without_collision(-2.0, 1.6, c, s, 1.0, 1e-7);
  kn_compliant_settings law = kn_sim_default().compliant;
  printf("  limit: lifts off with u_n %.6f, u_t %.6f m/s\n", limit.un, limit.ut);
  for (int k = 5; k <= 9; k++) {
    double u[2];
    law.eps = pow(10.0, -k);
    if (!lift_off(u, &law)) return;
    double off = hypot(u[0] - limit.un, u[1] - limit.ut);
    printf("  eps 1e-%d: u_n %.6f, u_t %.6f, off by %.2g\n", k, u[0], u[1], off);
    CHECK(off < 0.7 * before); /* the time it takes is √ε log(1/√ε): a factor 2 to 3 per decade */
    before = off;
  }
  CHECK_BELOW(before, 4e-3);
}

/* Without damping and with a stiff tangent the limit has a closed form: slipping takes the impulse
   p = |u_t|/(mu Λ_tt + Λ_nt sgn) and gives u_n = A p < 0, A = Λ_nn - mu 3sc; the spring then holds
   u_n²/(2|A|), and sticking returns u_n⁺² = u_n² (1 + Λ_s/|A|) with Λ_s = Λ_nn - Λ_nt²/Λ_tt. With much
   damping nothing returns: the tip stops, which is also what rigid impulses with e = 0 do (Moreau's
   frictional catastrophe). */
TEST(painleve_rod_without_and_with_much_damping) {
  double phi = 63.4349488229 * M_PI / 180.0, c = cos(phi), s = sin(phi), mu = 1.6, u[2];
  double nn = 1 + 3 * c * c, tt = 1 + 3 * s * s, nt = 3 * s * c, A = nn - mu * nt, p = 2.0 / (mu * tt - nt);
  double expected = -A * p * sqrt(1.0 + (nn - nt * nt / tt) / -A);
  kn_compliant_settings law = kn_sim_default().compliant;
  law.eps = 1e-9, law.C = 1e-3, law.Kt = 400.0, law.Ct = 10.0, law.max_substeps = 4000;
  if (!lift_off(u, &law)) return;
  printf("  undamped: u_n %.4f, closed form %.4f; u_t %.4f\n", u[0], expected, u[1]);
  CHECK_REL(u[0], expected, 0.02); /* Kt/K = 400: 1/√400 of the slip's end is rounded off; √ε log ε */
  law = kn_sim_default().compliant;
  law.eps = 1e-8, law.C = 20.0;
  if (!lift_off(u, &law)) return;
  printf("  damping 20: u_n %.4f, u_t %.4f\n", u[0], u[1]);
  CHECK_BELOW(hypot(u[0], u[1]), 0.02);
}
