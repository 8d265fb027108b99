/* One spec, and one case for each way to spoil it: the status is not OK, the message names the element and
   the field, nothing leaks (the sanitizer build tells). */
#include <string.h>

#include "knuckle/model.h"
#include "model/state.h"
#include "test.h"

typedef struct parts {
  kn_body_def body[4];
  kn_joint_def joint[5];
  kn_geom_def geom[4];
  kn_frame_def frame[2];
  kn_actuator_def actuator[2];
  kn_loop_def loop[4];
  kn_pair_def pair[2];
  kn_body exclusion[2];
  kn_keyframe_def key[2];
  double q[16], v[16], ctrl[2], gravity[3];
  int bodies;
} parts;

static kn_body_def body(const char* name, kn_body parent) {
  kn_body_def d = kn_body_default();
  d.name = name;
  d.parent = parent;
  d.mass = 2.0;
  d.inertia[0] = d.inertia[1] = d.inertia[2] = 0.3;
  return d;
}

static kn_joint_def joint(const char* name, kn_body b, kn_joint_type type) {
  kn_joint_def d = kn_joint_default(type);
  d.name = name;
  d.body = b;
  return d;
}

static kn_geom_def geom(const char* name, kn_body b, kn_shape_type type) {
  kn_geom_def d = kn_geom_default(type);
  d.name = name;
  d.body = b;
  for (int i = 0; i < 3; i++) d.shape.size[i] = 0.1;
  return d;
}

/* world: floor; trunk (free) -> arm (universal elbow) -> hand (hinge wrist, fixed glue); post (no joint) */
static void good(parts* p) {
  memset(p, 0, sizeof *p);
  p->bodies = 4;
  p->body[0] = body("trunk", KN_WORLD);
  p->body[1] = body("arm", 0);
  p->body[2] = body("hand", 1);
  p->body[3] = body("post", KN_WORLD);
  p->body[1].com[0] = 0.2;
  p->body[2].pos[0] = 0.4;
  p->joint[0] = joint("root", 0, KN_JOINT_FREE);
  p->joint[1] = joint("elbow", 1, KN_JOINT_UNIVERSAL);
  p->joint[2] = joint("wrist", 2, KN_JOINT_HINGE);
  p->joint[3] = joint("glue", 2, KN_JOINT_FIXED);
  p->joint[4] = joint("pivot", 3, KN_JOINT_BALL);
  p->joint[1].limited = p->joint[4].limited = true;
  for (int k = 0; k < 3; k++) p->joint[1].range[k][0] = -1.0, p->joint[1].range[k][1] = 1.0;
  p->joint[4].range[0][1] = 2.0;
  p->joint[2].axis[1] = 1.0;
  p->geom[0] = geom("floor", KN_WORLD, KN_SHAPE_PLANE);
  p->geom[1] = geom("chest", 0, KN_SHAPE_BOX);
  p->geom[2] = geom("palm", 2, KN_SHAPE_CAPSULE);
  p->geom[3] = geom("knob", 3, KN_SHAPE_SPHERE);
  p->frame[0] = p->frame[1] = kn_frame_default();
  p->frame[0].name = "tip";
  p->frame[0].body = 2;
  p->frame[1].name = "origin";
  p->actuator[0] = kn_actuator_position(2, 10.0, 1.0);
  p->actuator[0].name = "grip";
  p->actuator[1] = kn_actuator_default();
  p->actuator[1].name = "swing";
  p->actuator[1].joint[0] = 1;
  p->actuator[1].dof[0] = 1;
  p->loop[0] = kn_loop_default(KN_LOOP_CONNECT);
  p->loop[1] = kn_loop_default(KN_LOOP_WELD);
  p->loop[2] = kn_loop_default(KN_LOOP_DISTANCE);
  p->loop[3] = kn_loop_default(KN_LOOP_COUPLING);
  static const char* const names[4] = {"pin", "clamp", "rope", "mimic"};
  for (int i = 0; i < 4; i++) p->loop[i].name = names[i], p->loop[i].a = 2, p->loop[i].b = KN_WORLD;
  p->loop[2].length = 1.0;
  p->loop[3].joint1 = 2;
  p->pair[0] = p->pair[1] = kn_pair_default();
  p->pair[0].name = "touch";
  p->pair[0].a = 0;
  p->pair[0].b = 2;
  p->pair[1].a = 1;
  p->pair[1].b = 3;
  p->exclusion[1] = 2;
  p->q[3] = p->q[10] = 1.0;
  p->key[0] =
      (kn_keyframe_def){.name = "home", .q = p->q, .v = p->v, .ctrl = p->ctrl, .nq = 14, .nv = 12, .nu = 2};
  p->key[1] = (kn_keyframe_def){.name = "rest"};
  p->gravity[2] = -9.81;
}

#define ADD(kind, n)                                                                                         \
  for (int i = 0; i < (n) && s == KN_OK; i++) s = kn_spec_add_##kind(NULL, spec, &p->kind[i])

static kn_status build(kn_model** model, const parts* p) {
  kn_spec* spec;
  *model = NULL;
  kn_status s = kn_spec_create(&spec);
  if (s != KN_OK) return s;
  ADD(body, p->bodies);
  ADD(joint, 5);
  ADD(geom, 4);
  ADD(frame, 2);
  ADD(actuator, 2);
  ADD(loop, 4);
  for (int i = 0; i < 2 && s == KN_OK; i++) s = kn_spec_add_pair(spec, &p->pair[i]);
  if (s == KN_OK) s = kn_spec_add_exclusion(spec, p->exclusion[0], p->exclusion[1]);
  for (int i = 0; i < 2 && s == KN_OK; i++) s = kn_spec_add_keyframe(spec, &p->key[i]);
  if (s == KN_OK) s = kn_spec_set_gravity(spec, p->gravity);
  if (s == KN_OK) s = kn_compile(model, spec);
  kn_spec_destroy(spec);
  return s;
}

static void set6(double I[6], double a, double b, double c, double d, double e, double f) {
  double x[6] = {a, b, c, d, e, f};
  memcpy(I, x, sizeof x);
}

/* name, who, what, how */
#define DEFECTS(X)                                                                                           \
  X(body_pos_nan, "body 1 'arm'", "pos[2]", p->body[1].pos[2] = NAN)                                         \
  X(body_pos_inf, "body 1 'arm'", "pos[0]", p->body[1].pos[0] = INFINITY)                                    \
  X(body_quat_zero, "body 2 'hand'", "quat is zero", memset(p->body[2].quat, 0, 32))                         \
  X(body_quat_nan, "body 2 'hand'", "quat[3]", p->body[2].quat[3] = NAN)                                     \
  X(body_mass_negative, "body 1 'arm'", "mass is -1", p->body[1].mass = -1)                                  \
  X(body_mass_nan, "body 1 'arm'", "mass", p->body[1].mass = NAN)                                            \
  X(body_mass_inf, "body 1 'arm'", "mass", p->body[1].mass = INFINITY)                                       \
  X(body_com_nan, "body 1 'arm'", "com[1]", p->body[1].com[1] = NAN)                                         \
  X(body_inertia_nan, "body 1 'arm'", "inertia[4]", p->body[1].inertia[4] = NAN)                             \
  X(body_inertia_negative, "body 1 'arm'", "below zero", set6(p->body[1].inertia, -1, 1, 1, 0, 0, 0))        \
  X(body_inertia_all_negative, "body 1 'arm'", "below zero", set6(p->body[1].inertia, -1, -1, -1, 0, 0, 0))  \
  X(body_inertia_indefinite, "body 1 'arm'", "below zero", set6(p->body[1].inertia, 1, 1, 1, 2, 0, 0))       \
  X(body_inertia_triangle, "body 1 'arm'", "triangle", set6(p->body[1].inertia, 1, 1, 2.1, 0, 0, 0))         \
  X(body_inertia_triangle_turned, "body 1 'arm'", "triangle", set6(p->body[1].inertia, 2, 2, .5, 1, 0, 0))   \
  X(body_inertia_quat_zero, "body 1 'arm'", "inertia_quat", memset(p->body[1].inertia_quat, 0, 32))          \
  X(body_gravcomp_negative, "body 1 'arm'", "gravcomp", p->body[1].gravcomp = -1)                            \
  X(body_parent_itself, "body 'arm'", "parent", p->body[1].parent = 1)                                       \
  X(body_parent_later, "body 'arm'", "parents first", p->body[1].parent = 2)                                 \
  X(body_parent_below_world, "body 'arm'", "parent", p->body[1].parent = -2)                                 \
  X(body_name_twice, "body 2 'arm'", "body 1 has the same name", p->body[2].name = "arm")                    \
  X(body_massless_leaf, "joint 2 'wrist'", "armature",                                                       \
    (p->body[2].mass = 0, set6(p->body[2].inertia, 0, 0, 0, 0, 0, 0)))                                       \
  X(body_point_mass_on_the_axis, "joint 2 'wrist'", "inertia", set6(p->body[2].inertia, 0, 0, 0, 0, 0, 0))   \
  X(body_massless_root, "joint 4 'pivot'", "inertia",                                                        \
    (p->body[3].mass = 0, set6(p->body[3].inertia, 0, 0, 0, 0, 0, 0)))                                       \
  X(joint_type, "joint 2 'wrist'", "type", p->joint[2].type = KN_JOINT_TYPE_COUNT)                           \
  X(joint_type_negative, "joint 2 'wrist'", "type", p->joint[2].type = (kn_joint_type)-1)                    \
  X(joint_body_world, "joint 'wrist'", "body is -1", p->joint[2].body = KN_WORLD)                            \
  X(joint_body_missing, "joint 'wrist'", "body is 9", p->joint[2].body = 9)                                  \
  X(joint_pos_nan, "joint 2 'wrist'", "pos[1]", p->joint[2].pos[1] = NAN)                                    \
  X(joint_axis_zero, "joint 2 'wrist'", "axis is zero", memset(p->joint[2].axis, 0, 24))                     \
  X(joint_axis_nan, "joint 2 'wrist'", "axis[1]", p->joint[2].axis[1] = NAN)                                 \
  X(joint_axis2_zero, "joint 1 'elbow'", "axis2 is zero", memset(p->joint[1].axis2, 0, 24))                  \
  X(joint_axis2_parallel, "joint 1 'elbow'", "parallel", memcpy(p->joint[1].axis2, p->joint[1].axis, 24))    \
  X(joint_pitch_nan, "joint 2 'wrist'", "pitch", p->joint[2].pitch = NAN)                                    \
  X(joint_ref_nan, "joint 1 'elbow'", "ref[1]", p->joint[1].ref[1] = NAN)                                    \
  X(joint_spring_ref_inf, "joint 1 'elbow'", "spring_ref[1]", p->joint[1].spring_ref[1] = INFINITY)          \
  X(joint_range_reversed, "joint 1 'elbow'", "range[1]", p->joint[1].range[1][0] = 1.5)                      \
  X(joint_range_nan, "joint 1 'elbow'", "range[0]", p->joint[1].range[0][1] = NAN)                           \
  X(joint_range_nowhere, "joint 1 'elbow'", "no value",                                                      \
    p->joint[1].range[0][0] = p->joint[1].range[0][1] = INFINITY)                                            \
  X(joint_ball_range, "joint 4 'pivot'", "angle", p->joint[4].range[0][1] = 0)                               \
  X(joint_free_limited, "joint 0 'root'", "cannot be limited", p->joint[0].limited = true)                   \
  X(joint_fixed_limited, "joint 3 'glue'", "cannot be limited", p->joint[3].limited = true)                  \
  X(joint_damping_negative, "joint 2 'wrist'", "damping", p->joint[2].damping = -1)                          \
  X(joint_armature_negative, "joint 2 'wrist'", "armature", p->joint[2].armature = -1)                       \
  X(joint_stiffness_nan, "joint 2 'wrist'", "stiffness", p->joint[2].stiffness = NAN)                        \
  X(joint_friction_inf, "joint 2 'wrist'", "friction", p->joint[2].friction = INFINITY)                      \
  X(joint_free_below_a_body, "joint 2 'wrist'", "child of the world",                                        \
    (p->joint[2].type = KN_JOINT_FREE, p->actuator[0].dof[0] = 0))                                           \
  X(joint_free_not_alone, "joint 0 'root'", "only joint", p->joint[3].body = 0)                              \
  X(joint_name_twice, "joint 4 'wrist'", "same name", p->joint[4].name = "wrist")                            \
  X(joint_coaxial, "joint 2 'wrist'", "armature",                                                            \
    (p->joint[3].type = KN_JOINT_HINGE, memcpy(p->joint[3].axis, p->joint[2].axis, 24),                      \
     p->key[0].q = p->key[0].v = NULL, p->key[0].nq = p->key[0].nv = 0))                                     \
  X(geom_type, "geom 1 'chest'", "shape type", p->geom[1].shape.type = KN_SHAPE_COUNT)                       \
  X(geom_box_flat, "geom 1 'chest'", "size[2]", p->geom[1].shape.size[2] = 0)                                \
  X(geom_capsule_negative, "geom 2 'palm'", "size[1]", p->geom[2].shape.size[1] = -1)                        \
  X(geom_sphere_nan, "geom 3 'knob'", "size[0]", p->geom[3].shape.size[0] = NAN)                             \
  X(geom_sphere_inf, "geom 3 'knob'", "size[0]", p->geom[3].shape.size[0] = INFINITY)                        \
  X(geom_hull_missing, "geom 1 'chest'", "hull", p->geom[1].shape.type = KN_SHAPE_HULL)                      \
  X(geom_mesh_missing, "geom 1 'chest'", "mesh", p->geom[1].shape.type = KN_SHAPE_MESH)                      \
  X(geom_body_missing, "geom 'palm'", "body is 4", p->geom[2].body = 4)                                      \
  X(geom_pos_nan, "geom 2 'palm'", "pos[0]", p->geom[2].pos[0] = NAN)                                        \
  X(geom_quat_zero, "geom 2 'palm'", "quat", memset(p->geom[2].quat, 0, 32))                                 \
  X(geom_mu_negative, "geom 2 'palm'", "mu", p->geom[2].material.mu = -0.1)                                  \
  X(geom_mu_nan, "geom 2 'palm'", "mu", p->geom[2].material.mu = NAN)                                        \
  X(geom_e_above_one, "geom 2 'palm'", "restitution", p->geom[2].material.e = 1.01)                          \
  X(geom_e_nan, "geom 2 'palm'", "restitution", p->geom[2].material.e = NAN)                                 \
  X(geom_torsion_negative, "geom 2 'palm'", "torsion", p->geom[2].material.torsion = -1)                     \
  X(geom_roll_inf, "geom 2 'palm'", "roll", p->geom[2].material.roll = INFINITY)                             \
  X(geom_law, "geom 2 'palm'", "law", p->geom[2].material.law = (kn_contact_law)7)                           \
  X(geom_compliant_without_stiffness, "geom 2 'palm'", "stiffness",                                          \
    p->geom[2].material.law = KN_CONTACT_COMPLIANT)                                                          \
  X(geom_damping_negative, "geom 2 'palm'", "material C", p->geom[2].material.C = -1)                        \
  X(geom_condim, "geom 2 'palm'", "condim is 2", p->geom[2].condim = 2)                                      \
  X(geom_density_negative, "geom 2 'palm'", "density", p->geom[2].density = -1)                              \
  X(geom_mass_nan, "geom 2 'palm'", "mass", p->geom[2].mass = NAN)                                           \
  X(geom_margin_negative, "geom 2 'palm'", "margin", p->geom[2].margin = -1)                                 \
  X(geom_rgba_nan, "geom 2 'palm'", "rgba[1]", p->geom[2].rgba[1] = NAN)                                     \
  X(geom_plane_moves, "geom 0 'floor'", "plane", (p->geom[0].body = 3))                                      \
  X(geom_name_twice, "geom 3 'palm'", "same name", p->geom[3].name = "palm")                                 \
  X(frame_body_missing, "frame 'tip'", "body", p->frame[0].body = 77)                                        \
  X(frame_pos_nan, "frame 0 'tip'", "pos[0]", p->frame[0].pos[0] = NAN)                                      \
  X(frame_quat_zero, "frame 0 'tip'", "quat", memset(p->frame[0].quat, 0, 32))                               \
  X(frame_name_twice, "frame 1 'tip'", "same name", p->frame[1].name = "tip")                                \
  X(actuator_joint_missing, "actuator 'grip'", "joint is 5", p->actuator[0].joint[0] = 5)                    \
  X(actuator_joints_none, "actuator 'grip'", "joints is 0", p->actuator[0].joints = 0)                       \
  X(actuator_joints_many, "actuator 'grip'", "joints is 9", p->actuator[0].joints = 9)                       \
  X(actuator_dof, "actuator 1 'swing'", "dof[0] is 2", p->actuator[1].dof[0] = 2)                            \
  X(actuator_fixed_joint, "actuator 0 'grip'", "fixed", p->actuator[0].joint[0] = 3)                         \
  X(actuator_gear_nan, "actuator 0 'grip'", "gear", p->actuator[0].gear[0] = NAN)                            \
  X(actuator_gain_inf, "actuator 0 'grip'", "gain", p->actuator[0].gain = INFINITY)                          \
  X(actuator_bias_nan, "actuator 0 'grip'", "bias[1]", p->actuator[0].bias[1] = NAN)                         \
  X(actuator_ctrl_range, "actuator 0 'grip'", "ctrl_range",                                                  \
    (p->actuator[0].ctrl_limited = true, p->actuator[0].ctrl_range[0] = 1))                                  \
  X(actuator_force_range, "actuator 0 'grip'", "force_range",                                                \
    (p->actuator[0].force_limited = true, p->actuator[0].force_range[1] = NAN))                              \
  X(actuator_name_twice, "actuator 1 'grip'", "same name", p->actuator[1].name = "grip")                     \
  X(loop_type, "loop 0 'pin'", "type", p->loop[0].type = KN_LOOP_TYPE_COUNT)                                 \
  X(loop_same_body, "loop 0 'pin'", "same body", p->loop[0].b = 2)                                           \
  X(loop_body_missing, "loop 'pin'", "b is 12", p->loop[0].b = 12)                                           \
  X(loop_fixed_together, "loop 0 'pin'", "fixed to each other",                                              \
    (p->joint[2].type = KN_JOINT_FIXED, p->loop[0].b = 1, p->actuator[0].joint[0] = 1,                       \
     p->loop[3].type = KN_LOOP_CONNECT, p->key[0].q = p->key[0].v = NULL, p->key[0].nq = p->key[0].nv = 0))  \
  X(loop_pos_nan, "loop 0 'pin'", "pos_a", p->loop[0].pos_a[0] = NAN)                                        \
  X(loop_quat_zero, "loop 1 'clamp'", "quat_b", memset(p->loop[1].quat_b, 0, 32))                            \
  X(loop_length_zero, "loop 2 'rope'", "length is 0", p->loop[2].length = 0)                                 \
  X(loop_length_nan, "loop 2 'rope'", "length", p->loop[2].length = NAN)                                     \
  X(loop_points_coincide, "loop 2 'rope'", "coincide",                                                       \
    (p->loop[2].from_reference = true, p->loop[2].pos_b[0] = 0.4))                                           \
  X(loop_joint_missing, "loop 'mimic'", "joint1 is -1", p->loop[3].joint1 = -1)                              \
  X(loop_joint_not_scalar, "loop 3 'mimic'", "joint1 'elbow'", p->loop[3].joint1 = 1)                        \
  X(loop_joint2_not_scalar, "loop 3 'mimic'", "joint2 'root'", p->loop[3].joint2 = 0)                        \
  X(loop_joint_same, "loop 3 'mimic'", "same joint", p->loop[3].joint2 = 2)                                  \
  X(loop_coef_nan, "loop 3 'mimic'", "coef[2]", p->loop[3].coef[2] = NAN)                                    \
  X(loop_motion_kind, "loop 2 'rope'", "motion kind", p->loop[2].motion.kind = 9)                            \
  X(loop_motion_nan, "loop 2 'rope'", "motion c[1]",                                                         \
    (p->loop[2].motion.kind = KN_MOTION_SINE, p->loop[2].motion.c[1] = NAN))                                 \
  X(loop_motion_no_callback, "loop 2 'rope'", "fn is NULL", p->loop[2].motion.kind = KN_MOTION_CALLBACK)     \
  X(loop_name_twice, "loop 3 'pin'", "same name", p->loop[3].name = "pin")                                   \
  X(pair_same_geom, "pair 0 'touch'", "two different", p->pair[0].b = 0)                                     \
  X(pair_geom_missing, "pair 'touch'", "b is 4", p->pair[0].b = 4)                                           \
  X(pair_same_body, "pair 1 ''", "same body", p->geom[3].body = 0)                                           \
  X(pair_two_planes, "pair 1 ''", "two planes",                                                              \
    (p->geom[1].shape.type = KN_SHAPE_PLANE, p->geom[3].shape.type = KN_SHAPE_PLANE))                        \
  X(pair_mu, "pair 0 'touch'", "mu", p->pair[0].material.mu = -1)                                            \
  X(pair_condim, "pair 0 'touch'", "condim", p->pair[0].condim = 5)                                          \
  X(pair_margin, "pair 0 'touch'", "margin", p->pair[0].margin = NAN)                                        \
  X(exclusion_body_missing, "exclusion", "b is 4", p->exclusion[1] = 4)                                      \
  X(key_q_short, "keyframe 0 'home'", "q has 13 values, but the model needs 14", p->key[0].nq = 13)          \
  X(key_v_long, "keyframe 0 'home'", "v has 13", p->key[0].nv = 13)                                          \
  X(key_ctrl, "keyframe 0 'home'", "ctrl has 1", p->key[0].nu = 1)                                           \
  X(key_q_promised, "keyframe 0 'home'", "q has 3", (p->key[0].q = NULL, p->key[0].nq = 3))                  \
  X(key_q_negative_count, "keyframe 0 'home'", "q has -3", p->key[0].nq = -3)                                \
  X(key_q_nan, "keyframe 0 'home'", "q[13]", p->q[13] = NAN)                                                 \
  X(key_v_inf, "keyframe 0 'home'", "v[0]", p->v[0] = INFINITY)                                              \
  X(key_time_nan, "keyframe 0 'home'", "time", p->key[0].time = NAN)                                         \
  X(key_rotation_zero, "keyframe 0 'home'", "rotation", p->q[3] = 0)                                         \
  X(key_name_twice, "keyframe 1 'home'", "same name", p->key[1].name = "home")                               \
  X(gravity_nan, "gravity[1]", "finite", p->gravity[1] = NAN)

#define SPOIL(name, who, what, ...)                                                                          \
  static void spoil_##name(parts* p) { __VA_ARGS__; }
DEFECTS(SPOIL)

static const struct {
  const char *name, *who, *what;
  void (*spoil)(parts*);
} defects[] = {
#define ROW(name, who, what, ...) {#name, who, what, spoil_##name},
    DEFECTS(ROW)
#undef ROW
};

TEST(the_unspoilt_spec_compiles) {
  parts p;
  kn_model* m;
  good(&p);
  if (!CHECK_OK(build(&m, &p))) return;
  CHECK_INT(kn_model_nq(m), 14);
  CHECK_INT(kn_model_nv(m), 12);
  CHECK_INT(kn_model_nu(m), 2);
  CHECK_INT(kn_model_keyframes(m), 2);
  CHECK_NEAR(kn_model_mass(m), 8.0, 1e-15);
  kn_model_destroy(m);
}

TEST(every_defect_is_named) {
  int n = (int)(sizeof defects / sizeof *defects);
  CHECK(n >= 80);
  for (int i = 0; i < n; i++) {
    parts p;
    kn_model* m;
    good(&p);
    defects[i].spoil(&p);
    kn_status s = build(&m, &p);
    bool ok = CHECK(s == KN_BAD_MODEL || s == KN_BAD_ARGUMENT) && CHECK(m == NULL);
    ok = CHECK_TEXT(kn_last_error(), defects[i].who) && ok;
    ok = CHECK_TEXT(kn_last_error(), defects[i].what) && ok;
    if (!ok) printf("  in defect %s: %s '%s'\n", defects[i].name, kn_status_name(s), kn_last_error());
    kn_model_destroy(m);
  }
}

TEST(spec_stays_usable_after_a_failed_compile) {
  kn_spec* s;
  kn_model* m;
  kn_spec_create(&s);
  kn_body_def b = body("b", KN_WORLD);
  kn_joint_def j = joint("j", 0, KN_JOINT_HINGE);
  CHECK_OK(kn_spec_add_body(NULL, s, &b));
  CHECK_OK(kn_spec_add_joint(NULL, s, &j));
  b.mass = -1.0;
  b.parent = 7;
  CHECK_STATUS(kn_spec_add_body(NULL, s, &b), KN_BAD_ARGUMENT); /* refused at once, not kept */
  CHECK_OK(kn_compile(&m, s));
  kn_model_destroy(m);
  b.parent = 0;
  CHECK_OK(kn_spec_add_body(NULL, s, &b));
  CHECK_STATUS(kn_compile(&m, s), KN_BAD_MODEL);
  CHECK_STATUS(kn_compile(&m, s), KN_BAD_MODEL);
  kn_spec_destroy(s);
}

TEST(thin_rods_and_point_masses_are_allowed) {
  parts p;
  kn_model* m;
  good(&p);
  set6(p.body[1].inertia, 0.2, 0, 0.2, 0, 0, 0); /* along y: the elbow turns about z and x */
  set6(p.body[2].inertia, 0, 0, 0, 0, 0, 0);
  p.body[2].com[0] = 0.3; /* off the wrist's axis */
  CHECK_OK(build(&m, &p));
  kn_model_destroy(m);
}

TEST(null_and_wrong_indices_are_refused) {
  parts p;
  kn_model* m;
  kn_state *a, *b;
  good(&p);
  if (!CHECK_OK(build(&m, &p))) return;
  int i;
  kn_body_def bd;
  kn_joint_def jd;
  kn_geom_def gd;
  kn_frame_def fd;
  kn_actuator_def ad;
  kn_loop_def ld;
  char bytes[8];
#define BAD(call) CHECK_STATUS(call, KN_BAD_ARGUMENT)
  kn_spec* s = NULL;
  BAD(kn_spec_create(NULL));
  BAD(kn_spec_add_body(NULL, NULL, &p.body[0]));
  BAD(kn_spec_add_joint(NULL, NULL, &p.joint[0]));
  BAD(kn_spec_add_geom(NULL, NULL, &p.geom[0]));
  BAD(kn_spec_add_frame(NULL, NULL, &p.frame[0]));
  BAD(kn_spec_add_actuator(NULL, NULL, &p.actuator[0]));
  BAD(kn_spec_add_loop(NULL, NULL, &p.loop[0]));
  BAD(kn_spec_add_pair(NULL, &p.pair[0]));
  BAD(kn_spec_add_exclusion(NULL, 0, 0));
  BAD(kn_spec_add_keyframe(NULL, &p.key[0]));
  BAD(kn_spec_set_gravity(NULL, p.gravity));
  BAD(kn_spec_set_name(NULL, "x"));
  CHECK_OK(kn_spec_create(&s));
  BAD(kn_spec_add_body(NULL, s, NULL));
  BAD(kn_spec_add_joint(NULL, s, NULL));
  BAD(kn_spec_add_geom(NULL, s, NULL));
  BAD(kn_spec_add_frame(NULL, s, NULL));
  BAD(kn_spec_add_actuator(NULL, s, NULL));
  BAD(kn_spec_add_loop(NULL, s, NULL));
  BAD(kn_spec_add_pair(s, NULL));
  BAD(kn_spec_add_keyframe(s, NULL));
  BAD(kn_spec_set_gravity(s, NULL));
  BAD(kn_compile(NULL, s));
  kn_spec_destroy(s);
  kn_model* none = m;
  BAD(kn_compile(&none, NULL));
  CHECK(none == NULL);
  BAD(kn_model_find_body(NULL, m, "x"));
  BAD(kn_model_find_body(&i, NULL, "x"));
  BAD(kn_model_find_body(&i, m, NULL));
  BAD(kn_model_find_joint(&i, NULL, "x"));
  BAD(kn_model_find_geom(&i, m, NULL));
  BAD(kn_model_find_frame(NULL, m, "x"));
  BAD(kn_model_find_actuator(&i, m, NULL));
  BAD(kn_model_find_loop(&i, NULL, "x"));
  BAD(kn_model_find_keyframe(NULL, m, "x"));
  BAD(kn_model_body(&bd, m, 4));
  BAD(kn_model_body(&bd, m, -1));
  BAD(kn_model_body(NULL, m, 0));
  BAD(kn_model_joint(&jd, m, 5));
  BAD(kn_model_joint(&jd, NULL, 0));
  BAD(kn_model_geom(&gd, m, -1));
  BAD(kn_model_frame(&fd, m, 2));
  BAD(kn_model_actuator(&ad, m, 2));
  BAD(kn_model_loop(&ld, m, 4));
  BAD(kn_model_joint_address(&i, &i, &i, &i, m, 5));
  BAD(kn_model_joint_address(&i, &i, &i, &i, NULL, 0));
  CHECK(kn_body_name(m, 4) == NULL && kn_body_name(m, -2) == NULL && kn_body_name(NULL, 0) == NULL);
  CHECK_TEXT(kn_body_name(m, KN_WORLD), "world");
  CHECK(kn_joint_name(m, -1) == NULL && kn_geom_name(m, 4) == NULL && kn_frame_name(NULL, 0) == NULL);
  CHECK(kn_actuator_name(m, 2) == NULL && kn_loop_name(m, 4) == NULL && kn_model_name(NULL) == NULL);
  CHECK_INT(kn_model_nq(NULL) + kn_model_nv(NULL) + kn_model_nu(NULL) + kn_model_bodies(NULL), 0);
  BAD(kn_state_create(NULL, m));
  BAD(kn_state_create(&a, NULL));
  CHECK(a == NULL);
  CHECK_OK(kn_state_create(&a, m));
  CHECK_OK(kn_state_create(&b, m));
  BAD(kn_state_copy(NULL, a));
  BAD(kn_state_copy(a, NULL));
  BAD(kn_state_reset(NULL));
  BAD(kn_state_keyframe(a, 2));
  BAD(kn_state_keyframe(a, -1));
  BAD(kn_state_keyframe(NULL, 0));
  BAD(kn_state_save(NULL, 8, a));
  BAD(kn_state_save(bytes, 8, NULL));
  CHECK_STATUS(kn_state_save(bytes, 8, a), KN_NO_ROOM);
  BAD(kn_state_load(NULL, bytes, 8));
  BAD(kn_state_load(a, NULL, 8));
  CHECK(kn_state_q(NULL) == NULL && kn_state_v(NULL) == NULL && kn_state_ctrl(NULL) == NULL);
  CHECK(kn_state_force(NULL) == NULL && kn_state_hash(NULL) == 0 && kn_state_size(NULL) == 0);
  kn_state_set_time(NULL, 1.0);
  kn_state_set_time(a, NAN);
  CHECK_NEAR(kn_state_time(a), 0.0, 0.0);
#undef BAD
  kn_state_destroy(a);
  kn_state_destroy(b);
  kn_state_destroy(NULL);
  kn_spec_destroy(NULL);
  kn_model_destroy(m);
  kn_model_destroy(NULL);
}

TEST(lookup_suggests_the_nearest_names) {
  parts p;
  kn_model* m;
  good(&p);
  if (!CHECK_OK(build(&m, &p))) return;
  int i = -7;
  CHECK_OK(kn_model_find_joint(&i, m, "wrist"));
  CHECK_INT(i, 2);
  CHECK_OK(kn_model_find_body(&i, m, "world"));
  CHECK_INT(i, KN_WORLD);
  CHECK_STATUS(kn_model_find_joint(&i, m, "wrsit"), KN_NOT_FOUND);
  CHECK_TEXT(kn_last_error(), "nearest: 'wrist'");
  CHECK_STATUS(kn_model_find_body(&i, m, "zzzzzzz"), KN_NOT_FOUND);
  CHECK_TEXT(kn_last_error(), "(4 in all)");
  CHECK_STATUS(kn_model_find_geom(&i, m, ""), KN_NOT_FOUND);
  kn_model_destroy(m);
}
