#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knuckle/collide.h"
#include "mjcf.h"
#include "spatial/spatial.h"

static void fail(const char* what, const char* why) {
  fprintf(stderr, "bench peers: %s: %s\n", what, why);
  exit(1);
}

static void rotation(double R[9], const double quat[4]) { kn_quat_to_matrix(R, quat); }

/* Body poses at a state. */
static void poses(world_body* body, stage* s, kn_state* state, bool reference) {
  const kn_model* m = s->scene->model;
  kn_kinematics(m, state, s->data);
  for (int i = 0; i < s->w.bodies; i++) {
    kn_pose pose;
    world_body* b = &body[i];
    kn_body_pose(&pose, m, s->data, i);
    memcpy(reference ? b->R_ref : b->R, pose.R, sizeof pose.R);
    memcpy(reference ? b->p_ref : b->p, pose.p, sizeof pose.p);
    if (reference) continue;
    double com[3], velocity[6];
    for (int k = 0; k < 3; k++)
      com[k] = pose.p[k] + pose.R[3 * k] * b->com[0] + pose.R[3 * k + 1] * b->com[1] +
               pose.R[3 * k + 2] * b->com[2];
    kn_body_velocity(velocity, m, s->data, i, com);
    memcpy(b->w, velocity, sizeof b->w), memcpy(b->vc, velocity + 3, sizeof b->vc);
  }
}

static void read_bodies(world_body* body, const kn_model* m) {
  for (int i = 0; i < kn_model_bodies(m); i++) {
    kn_body_def d;
    world_body* b = &body[i];
    kn_model_body(&d, m, i);
    b->parent = d.parent;
    rotation(b->R0, d.quat);
    memcpy(b->p0, d.pos, sizeof b->p0), memcpy(b->com, d.com, sizeof b->com);
    b->mass = d.mass;
    const double* I = d.inertia; /* xx yy zz xy xz yz */
    double full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
    memcpy(b->I, full, sizeof full);
  }
}

static void read_joints(world_body* body, const kn_model* m, const char* scene) {
  for (int j = 0; j < kn_model_joints(m); j++) {
    kn_joint_def d;
    kn_model_joint(&d, m, j);
    world_body* b = &body[d.body];
    if ((d.type != KN_JOINT_HINGE && d.type != KN_JOINT_FREE) || b->joint != WORLD_FIXED)
      fail(scene, "only hinges and free joints, one for each body, are given to the peers");
    b->joint = d.type == KN_JOINT_FREE ? WORLD_FREE : WORLD_HINGE;
    kn_model_joint_address(&b->q, NULL, &b->v, NULL, m, j);
    memcpy(b->axis, d.axis, sizeof b->axis), memcpy(b->anchor, d.pos, sizeof b->anchor);
    b->limited = d.limited && d.type == KN_JOINT_HINGE;
    memcpy(b->range, d.range[0], sizeof b->range);
    b->damping = d.damping, b->armature = d.armature;
    if (d.type == KN_JOINT_HINGE && d.ref[0] != 0.0) fail(scene, "hinges must count from zero");
  }
}

static void read_servos(world_body* body, const kn_model* m, const double* ctrl, const char* scene) {
  for (int a = 0; a < kn_model_nu(m); a++) {
    kn_actuator_def d;
    kn_joint_def j;
    kn_model_actuator(&d, m, a);
    kn_model_joint(&j, m, d.joint[0]);
    if (d.joints != 1 || d.gear[0] != 1.0 || d.bias[0] != 0.0 || d.gain != -d.bias[1])
      fail(scene, "only position servos are given to the peers");
    body[j.body].kp = d.gain, body[j.body].kv = -d.bias[2], body[j.body].target = ctrl[a];
  }
}

static void read_geoms(world* w, world_geom* geom, const kn_model* m, const char* scene) {
  for (int g = 0; g < kn_model_geoms(m); g++) {
    static const int shapes[KN_SHAPE_COUNT] = {
        WORLD_PLANE, WORLD_SPHERE, WORLD_CAPSULE, -1, -1, WORLD_BOX, -1, -1};
    kn_geom_def d;
    kn_model_geom(&d, m, g);
    if (shapes[d.shape.type] < 0 || d.condim != 3) fail(scene, "a shape that not every peer has");
    world_geom* o = &geom[g];
    *o = (world_geom){.body = d.body, .shape = (world_shape)shapes[d.shape.type]};
    memcpy(o->size, d.shape.size, sizeof o->size), memcpy(o->p, d.pos, sizeof o->p);
    rotation(o->R, d.quat);
    o->contype = d.contype, o->conaffinity = d.conaffinity;
    if (g > 0 && (d.material.mu != w->mu || d.material.e != w->e))
      fail(scene, "all surfaces must be of one material");
    w->mu = d.material.mu, w->e = d.material.e;
  }
}

static void find_pairs(stage* s) {
  const kn_model* m = s->scene->model;
  int n = s->w.geoms;
  for (int pass = 0; pass < 2; pass++) {
    s->pairs = 0;
    for (int a = 0; a < n; a++)
      for (int b = a + 1; b < n; b++)
        if (kn_model_collides(m, a, b)) {
          if (pass) s->pair[s->pairs][0] = a, s->pair[s->pairs][1] = b;
          s->pairs++;
        }
    if (!pass) s->pair = calloc((size_t)s->pairs + 1, sizeof *s->pair);
  }
}

static void write_mjcf(stage* s, double dt) {
  kn_mjcf_settings set = kn_mjcf_default();
  set.timestep = dt;
  strcpy(s->mjcf, "/tmp/knuckle-peers-XXXXXX.xml");
  int fd = mkstemps(s->mjcf, 4);
  if (fd >= 0) close(fd);
  if (kn_mjcf_save(s->mjcf, s->scene->model, &set) != KN_OK) fail(s->scene->scene->name, kn_mjcf_error());
}

void stage_open(stage* s, const char* scene, const char* const* settings, int count, double dt) {
  *s = (stage){0};
  if (kn_scene_open(&s->scene, scene, settings, count) != KN_OK) fail(scene, kn_scene_error());
  const kn_model* m = s->scene->model;
  if (s->scene->controller.fn) fail(scene, "controllers are not given to the peers");
  if (kn_state_create(&s->start, m) || kn_state_create(&s->probe, m) || kn_data_create(&s->data, m))
    fail(scene, kn_last_error());
  kn_scene_start(s->scene, s->start);
  world_body* body = calloc((size_t)kn_model_bodies(m), sizeof *body);
  world_geom* geom = calloc((size_t)kn_model_geoms(m), sizeof *geom);
  world* w = &s->w;
  *w = (world){.bodies = kn_model_bodies(m),
               .geoms = kn_model_geoms(m),
               .nq = kn_model_nq(m),
               .nv = kn_model_nv(m),
               .nu = kn_model_nu(m),
               .body = body,
               .geom = geom,
               .q = kn_state_q(s->start),
               .v = kn_state_v(s->start),
               .ctrl = kn_state_ctrl(s->start),
               .dt = dt,
               .loose = true,
               .mjcf = s->mjcf};
  kn_model_gravity(w->gravity, m);
  read_bodies(body, m);
  read_joints(body, m, scene);
  read_servos(body, m, w->ctrl, scene);
  read_geoms(w, geom, m, scene);
  for (int i = 0; i < w->bodies; i++) w->loose &= body[i].joint == WORLD_FREE;
  poses(body, s, s->probe, true);
  poses(body, s, s->start, false);
  s->centre = calloc(3 * (size_t)w->geoms, sizeof *s->centre);
  find_pairs(s);
  write_mjcf(s, dt);
}

void stage_close(stage* s) {
  unlink(s->mjcf);
  free((void*)(size_t)s->w.body), free((void*)(size_t)s->w.geom);
  free(s->pair), free(s->centre);
  kn_data_destroy(s->data);
  kn_state_destroy(s->start), kn_state_destroy(s->probe);
  kn_scene_close(s->scene);
}

/* ---- measures ---- */

static void look(stage* s, const double* q, const double* v) {
  memcpy(kn_state_q(s->probe), q, sizeof(double) * (size_t)s->w.nq);
  if (v) memcpy(kn_state_v(s->probe), v, sizeof(double) * (size_t)s->w.nv);
}

static kn_energy energy(stage* s, const double* q, const double* v) {
  kn_energy e = {0};
  look(s, q, v);
  kn_kinematics(s->scene->model, s->probe, s->data);
  kn_energy_of(&e, s->scene->model, s->probe, s->data);
  return e;
}

double stage_energy(stage* s, const double* q, const double* v) {
  kn_energy e = energy(s, q, v);
  return e.kinetic + e.potential;
}

double stage_kinetic(stage* s, const double* q, const double* v) { return energy(s, q, v).kinetic; }

static double bound(const world_geom* g) {
  switch (g->shape) {
  case WORLD_SPHERE: return g->size[0];
  case WORLD_CAPSULE: return g->size[0] + g->size[1];
  case WORLD_BOX: return kn_norm3(g->size);
  default: return INFINITY;
  }
}

static double gap_of(stage* s, int a, int b) {
  const kn_model* m = s->scene->model;
  const world_geom *ga = &s->w.geom[a], *gb = &s->w.geom[b];
  const double *ca = s->centre + 3 * a, *cb = s->centre + 3 * b;
  if (ga->shape == WORLD_SPHERE && gb->shape == WORLD_SPHERE) {
    double d[3] = {ca[0] - cb[0], ca[1] - cb[1], ca[2] - cb[2]};
    return kn_norm3(d) - ga->size[0] - gb->size[0];
  }
  kn_geom_def da, db;
  kn_pose pa, pb;
  kn_distance_result r;
  kn_model_geom(&da, m, a), kn_model_geom(&db, m, b);
  kn_geom_pose(&pa, m, s->data, a), kn_geom_pose(&pb, m, s->data, b);
  return kn_distance(&r, &da.shape, &pa, &db.shape, &pb, NULL) == KN_OK ? r.gap : INFINITY;
}

static bool far_apart(const stage* s, int a, int b, double touch) {
  const double *ca = s->centre + 3 * a, *cb = s->centre + 3 * b;
  double reach = bound(&s->w.geom[a]) + bound(&s->w.geom[b]) + touch;
  double d[3] = {ca[0] - cb[0], ca[1] - cb[1], ca[2] - cb[2]};
  return kn_dot3(d, d) > reach * reach;
}

static void place(stage* s, const double* q) {
  look(s, q, NULL);
  kn_kinematics(s->scene->model, s->probe, s->data);
  for (int g = 0; g < s->w.geoms; g++) {
    kn_pose pose;
    kn_geom_pose(&pose, s->scene->model, s->data, g);
    memcpy(s->centre + 3 * g, pose.p, sizeof pose.p);
  }
}

double stage_penetration(stage* s, const double* q, int* touching, double touch) {
  double worst = 0.0;
  int count = 0;
  place(s, q);
  for (int k = 0; k < s->pairs; k++) {
    int a = s->pair[k][0], b = s->pair[k][1];
    if (far_apart(s, a, b, touch)) continue;
    double gap = gap_of(s, a, b);
    worst = fmax(worst, -gap);
    count += gap <= touch;
  }
  if (touching) *touching = count;
  return worst;
}

int stage_feet(stage* s, const double* q, double touch, int* geom, double (*at)[3], int room) {
  int n = 0;
  place(s, q);
  for (int k = 0; k < s->pairs && n < room; k++) {
    int a = s->pair[k][0], b = s->pair[k][1];
    if (s->w.geom[a].shape != WORLD_PLANE && s->w.geom[b].shape != WORLD_PLANE) continue;
    if (gap_of(s, a, b) > touch) continue;
    geom[n] = s->w.geom[a].shape == WORLD_PLANE ? b : a;
    memcpy(at[n], s->centre + 3 * geom[n], sizeof at[n]);
    n++;
  }
  return n;
}
