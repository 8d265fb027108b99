/* Describing a mechanism: an editable kn_spec is filled with value structs and compiled into an immutable
   kn_model. Names are copied; NULL or "" means nameless. Every *_def comes from its *_default(). Order of
   adding: parents first. */
#ifndef KNUCKLE_SPEC_H
#define KNUCKLE_SPEC_H

#include "knuckle/types.h"

KN_BEGIN_DECLS

/* The editable description of a mechanism. */
typedef struct kn_spec kn_spec;
/* A compiled mechanism: constant, shared by threads. */
typedef struct kn_model kn_model;

/* Types of joints. */
typedef enum kn_joint_type {
  KN_JOINT_FIXED, /* 0 dof */
  KN_JOINT_HINGE, /* 1: rotation about axis */
  KN_JOINT_SLIDE, /* 1: translation along axis */
  KN_JOINT_BALL,  /* 3: quaternion (w,x,y,z); velocity = angular velocity in child axes */
  KN_JOINT_FREE, /* 6: q = (position, quaternion) in the world, v = (world linear velocity of the body origin,
                       angular velocity in body axes); only for children of the world, the body's only joint
                  */
  KN_JOINT_PLANAR, /* 3: slides along axis2 and axis × axis2, then rotation about axis (the plane's normal) */
  KN_JOINT_UNIVERSAL,   /* 2: rotation about axis, then about axis2 */
  KN_JOINT_CYLINDRICAL, /* 2: slide along axis, then rotation about it */
  KN_JOINT_SCREW,       /* 1: rotation about axis with pitch metres of translation per radian */
  KN_JOINT_TYPE_COUNT
} kn_joint_type;

/* Kinds of prescribed motion. */
typedef enum kn_motion_kind {
  KN_MOTION_NONE,
  KN_MOTION_POLYNOMIAL,
  KN_MOTION_SINE,
  KN_MOTION_CALLBACK
} kn_motion_kind;

/* A motion prescribed as a function of time: value, rate and second derivative. */
typedef struct kn_motion {
  kn_motion_kind kind;
  double c[6]; /* polynomial: sum c[i] t^i; sine: c[0] + c[1] sin(c[2] t + c[3]) + c[4] t */
  void (*fn)(double out[3], double t, void* context); /* callback: {value, rate, acceleration} */
  void* context;
} kn_motion;

/* A body: place in its parent, mass. */
typedef struct kn_body_def {
  const char* name;
  kn_body parent;          /* KN_WORLD or an earlier body */
  double pos[3], quat[4];  /* body frame in the parent's frame, all joints at their reference position */
  bool inertia_from_geoms; /* then mass, com, inertia are summed from the geoms' density or mass */
  double mass;             /* kg */
  double com[3];           /* body frame */
  double inertia_quat[4];  /* axes of the inertia tensor in the body frame */
  double inertia[6];       /* about com: xx yy zz xy xz yz, kg m² */
  bool any_inertia; /* accept a tensor that no mass distribution has (many files do); M must still be regular
                     */
  double gravcomp;  /* fraction of the weight compensated, 0 … */
} kn_body_def;

/* A joint: how a body moves in its parent. */
typedef struct kn_joint_def {
  const char* name;
  kn_body body; /* the moved (child) body; several joints of a body act in the order of adding */
  kn_joint_type type;
  double pos[3];            /* anchor in the body frame, reference position */
  double axis[3], axis2[3]; /* in the body frame; need not be unit, must not vanish */
  double pitch;             /* screw, m/rad */
  double ref[3];            /* coordinates at the reference position (scalar dofs) */
  bool limited;             /* ball: range[0][1] bounds the rotation angle */
  double range[3][2];       /* per scalar dof */
  double damping, armature; /* per dof: N m s/rad (N s/m), kg m² (kg) */
  double stiffness,
      spring_ref[3]; /* towards spring_ref; ball and free springs towards their reference rotation */
  double friction;   /* dry friction, N m or N */
} kn_joint_def;

/* A shape on a body, with its material. */
typedef struct kn_geom_def {
  const char* name;
  kn_body body;   /* or KN_WORLD */
  kn_shape shape; /* hull and mesh are borrowed until the model is destroyed, unless own_shape: then the spec
                     and the models compiled from it share them and the last one frees them */
  bool own_shape;
  double pos[3], quat[4]; /* in the body frame */
  kn_material material;
  uint32_t contype,
      conaffinity; /* a pair collides if (a.contype & b.conaffinity) || (b.contype & a.conaffinity) */
  int condim;      /* 1 frictionless, 3 sliding friction, 4 + torsion, 6 + rolling */
  double density;  /* kg/m³, used by inertia_from_geoms when mass < 0 */
  double mass;     /* kg; negative: from density */
  double margin;   /* contacts are reported below this gap, m */
  float rgba[4];
  int group; /* for viewers */
} kn_geom_def;

/* A named frame on a body. */
typedef struct kn_frame_def { /* a named point and axes on a body */
  const char* name;
  kn_body body;
  double pos[3], quat[4];
  kn_shape_type zone;  /* sphere, capsule, ellipsoid, cylinder or box: where a touch sensor feels contacts */
  double zone_size[3]; /* as kn_shape.size; a sphere of 5 mm unless said */
} kn_frame_def;

/* Actuator force = gain·u + bias[0] + bias[1]·length + bias[2]·rate, u clamped to ctrl range, force to force
   range; length = sum gear_k q_k over its joints' dofs. motor: gain 1; position: gain kp, bias (0,-kp,-kv);
   velocity: gain kv, bias (0,0,-kv).
   An actuator through a site (joints = 0) pushes and turns the frame `site` with force times site_gear, along
   the site's own axes: a propeller, a thruster; its length is 0. With a refsite the axes are those of refsite,
   which is pushed back; the length is site_gear . (position and rotation vector of site, seen from refsite). */
typedef struct kn_actuator_def {
  const char* name;
  int joints; /* number of transmitted joints: 1, more for a fixed tendon, 0: through a site */
  kn_joint joint[8];
  int dof[8]; /* dof within the joint */
  double gear[8];
  double gain, bias[3];
  bool ctrl_limited, force_limited;
  double ctrl_range[2], force_range[2];
  kn_frame site, refsite; /* joints = 0; refsite -1: none */
  double site_gear[6];    /* force, then torque */
} kn_actuator_def;

/* Types of sensors: X(id, MJCF element, numbers, unit, what it measures). Axes are the world's unless said;
   `*` in place of a unit: rad or m, by the joint or actuator it looks at. */
#define KN_SENSOR_LIST(X)                                                                                    \
  X(TOUCH, "touch", 1, "N", "normal force of the contacts of the frame's body in its zone")                  \
  X(ACCELEROMETER, "accelerometer", 3, "m/s²", "acceleration less gravity, in the frame's axes")             \
  X(VELOCIMETER, "velocimeter", 3, "m/s", "velocity of the frame, in its axes")                              \
  X(GYRO, "gyro", 3, "rad/s", "angular velocity of the frame, in its axes")                                  \
  X(FORCE, "force", 3, "N", "force of the parent body on the frame's body, in the frame's axes")             \
  X(TORQUE, "torque", 3, "N m", "torque of the parent body about the frame, in its axes")                    \
  X(MAGNETOMETER, "magnetometer", 3, "", "the magnetic field in the frame's axes, in the unit it was given") \
  X(RANGEFINDER, "rangefinder", 1, "m", "way along the frame's z axis to the next geom; -1: none")           \
  X(JOINT_POS, "jointpos", 1, "*", "coordinate of a hinge or slide")                                         \
  X(JOINT_VEL, "jointvel", 1, "*/s", "velocity of a hinge or slide")                                         \
  X(BALL_QUAT, "ballquat", 4, "", "quaternion of a ball joint")                                              \
  X(BALL_ANGVEL, "ballangvel", 3, "rad/s", "angular velocity of a ball joint, child axes")                   \
  X(LIMIT_POS, "jointlimitpos", 1, "*", "how far a joint is beyond its limit, negative; 0 inside")           \
  X(LIMIT_VEL, "jointlimitvel", 1, "*/s", "rate of that; 0 inside")                                          \
  X(LIMIT_FORCE, "jointlimitfrc", 1, "N*", "force of the joint's limit")                                     \
  X(JOINT_FORCE, "jointactuatorfrc", 1, "N*", "generalised force of all actuators on the joint")             \
  X(ACTUATOR_POS, "actuatorpos", 1, "*", "length of an actuator")                                            \
  X(ACTUATOR_VEL, "actuatorvel", 1, "*/s", "rate of that")                                                   \
  X(ACTUATOR_FORCE, "actuatorfrc", 1, "N*", "force of an actuator, before its gear")                         \
  X(FRAME_POS, "framepos", 3, "m", "position, seen from the reference")                                      \
  X(FRAME_QUAT, "framequat", 4, "", "rotation, seen from the reference")                                     \
  X(FRAME_X, "framexaxis", 3, "", "x axis, seen from the reference")                                         \
  X(FRAME_Y, "frameyaxis", 3, "", "y axis, seen from the reference")                                         \
  X(FRAME_Z, "framezaxis", 3, "", "z axis, seen from the reference")                                         \
  X(FRAME_LINVEL, "framelinvel", 3, "m/s", "velocity, seen from the reference")                              \
  X(FRAME_ANGVEL, "frameangvel", 3, "rad/s", "angular velocity, seen from the reference")                    \
  X(FRAME_LINACC, "framelinacc", 3, "m/s²", "acceleration less gravity")                                     \
  X(FRAME_ANGACC, "frameangacc", 3, "rad/s²", "angular acceleration")                                        \
  X(SUBTREE_COM, "subtreecom", 3, "m", "centre of mass of a body and all below it")                          \
  X(SUBTREE_LINVEL, "subtreelinvel", 3, "m/s", "its velocity")                                               \
  X(SUBTREE_ANGMOM, "subtreeangmom", 3, "kg m²/s", "angular momentum of these bodies about it")              \
  X(POTENTIAL, "e_potential", 1, "J", "energy of weight and springs")                                        \
  X(KINETIC, "e_kinetic", 1, "J", "kinetic energy")                                                          \
  X(CLOCK, "clock", 1, "s", "simulated time")

/* What a sensor measures. */
typedef enum kn_sensor_type {
#define X(id, name, dim, unit, doc) KN_SENSOR_##id,
  KN_SENSOR_LIST(X)
#undef X
      KN_SENSOR_TYPE_COUNT
} kn_sensor_type;

/* A sensor. touch … rangefinder look at a frame; joint…, ball… at a joint; actuator… at an actuator; subtree… at
   a body; frame… at a frame (or, without one, at a body's own frame), seen from ref_frame (or ref_body). */
typedef struct kn_sensor_def {
  const char* name;
  kn_sensor_type type;
  kn_frame frame; /* -1: none */
  kn_body body;
  kn_frame ref_frame; /* -1: none */
  kn_body ref_body;   /* KN_WORLD: seen from the world */
  kn_joint joint;
  kn_actuator actuator;
  double cutoff; /* values are clipped to ± this (not quaternions and axes); 0: no */
} kn_sensor_def;

/* What a loop closure holds together. */
typedef enum kn_loop_type {
  KN_LOOP_CONNECT,  /* point of A on point of B: 3 rows */
  KN_LOOP_WELD,     /* frame of A on frame of B: 6 rows */
  KN_LOOP_DISTANCE, /* |point A - point B| = length + motion: 1 row */
  KN_LOOP_COUPLING, /* q1 - ref1 = sum c[i] (q2 - ref2)^i; joint2 = -1: q1 = c[0] + motion: 1 row */
  KN_LOOP_TYPE_COUNT
} kn_loop_type;

/* A loop closure between two bodies. */
typedef struct kn_loop_def {
  const char* name;
  kn_loop_type type;
  kn_body a, b;               /* connect, weld, distance; KN_WORLD allowed */
  double pos_a[3], quat_a[4]; /* anchor (and axes) in A's frame */
  double pos_b[3], quat_b[4]; /* in B's frame */
  bool from_reference;        /* pos_b, quat_b (or length) are computed from the reference position */
  double length;              /* distance */
  kn_joint joint1, joint2;    /* coupling; scalar joints */
  double coef[5];             /* coupling polynomial */
  kn_motion motion; /* added to distance, coupling; weld/connect: along axis 0 of A's anchor frame */
  bool inactive;
} kn_loop_def;

/* Two geoms that may touch, with their own material. */
typedef struct kn_pair_def { /* an explicit pair of geoms: collides whatever the bits say, with this material
                              */
  const char* name;
  kn_geom a, b;
  kn_material material;
  int condim;
  double margin;
} kn_pair_def;

/* A named position. */
typedef struct kn_keyframe_def {
  const char* name;
  double time;
  const double *q, *v, *ctrl; /* nq, nv, nu values, or NULL */
  int nq, nv, nu;
} kn_keyframe_def;

/* An empty description; the caller destroys it. */
KN_API kn_status kn_spec_create(kn_spec** spec);
/* Frees it; NULL is fine. Models compiled from it live on. */
KN_API void kn_spec_destroy(kn_spec* spec);

/* A body without mass at its parent's origin. */
KN_API kn_body_def kn_body_default(void);
/* A joint of this type at the body's origin, without limits, springs and damping. */
KN_API kn_joint_def kn_joint_default(kn_joint_type type);
/* A geom of this shape with the default material. */
KN_API kn_geom_def kn_geom_default(kn_shape_type type);
/* A frame at the body's origin. */
KN_API kn_frame_def kn_frame_default(void);
KN_API kn_actuator_def kn_actuator_default(void); /* motor, gear 1 */
/* A position servo: force = kp (ctrl - q) - kv v. */
KN_API kn_actuator_def kn_actuator_position(kn_joint joint, double kp, double kv);
/* A velocity servo: force = kv (ctrl - v). */
KN_API kn_actuator_def kn_actuator_velocity(kn_joint joint, double kv);
/* A loop closure of this type. */
KN_API kn_loop_def kn_loop_default(kn_loop_type type);
/* A sensor of this type that looks at nothing yet. */
KN_API kn_sensor_def kn_sensor_default(kn_sensor_type type);
/* A pair with the default material. */
KN_API kn_pair_def kn_pair_default(void);

/* Adds a body; id may be NULL. */
KN_API kn_status kn_spec_add_body(kn_body* id, kn_spec* spec, const kn_body_def* def);
/* Adds a joint; id may be NULL. */
KN_API kn_status kn_spec_add_joint(kn_joint* id, kn_spec* spec, const kn_joint_def* def);
/* Adds a geom; id may be NULL. */
KN_API kn_status kn_spec_add_geom(kn_geom* id, kn_spec* spec, const kn_geom_def* def);
/* Adds a named frame; id may be NULL. */
KN_API kn_status kn_spec_add_frame(kn_frame* id, kn_spec* spec, const kn_frame_def* def);
/* Adds an actuator; id may be NULL. */
KN_API kn_status kn_spec_add_actuator(kn_actuator* id, kn_spec* spec, const kn_actuator_def* def);
/* Adds a loop closure; id may be NULL. */
KN_API kn_status kn_spec_add_loop(kn_loop* id, kn_spec* spec, const kn_loop_def* def);
/* Adds a sensor; id may be NULL. */
KN_API kn_status kn_spec_add_sensor(kn_sensor* id, kn_spec* spec, const kn_sensor_def* def);
/* Adds an explicit contact pair. */
KN_API kn_status kn_spec_add_pair(kn_spec* spec, const kn_pair_def* def);
/* Two bodies that do not collide. */
KN_API kn_status kn_spec_add_exclusion(kn_spec* spec, kn_body a, kn_body b);
/* Adds a named position. */
KN_API kn_status kn_spec_add_keyframe(kn_spec* spec, const kn_keyframe_def* def);
/* Gravity, m/s², world axes. */
KN_API kn_status kn_spec_set_gravity(kn_spec* spec, const double gravity[3]);
/* The magnetic field that magnetometers see, world axes, in any unit; (0, -0.5, 0) unless said. */
KN_API kn_status kn_spec_set_magnetic(kn_spec* spec, const double field[3]);
KN_API kn_status kn_spec_disable_actuators(kn_spec* spec); /* they stay, without force */
/* A floor, the plane z = 0 that everything touches, "knuckle-floor": for mechanisms with a free joint and without a plane fixed to
   the world that can touch; others stay as they are. */
KN_API kn_status kn_spec_add_floor(kn_spec* spec);
/* The same sliding friction and restitution for all geoms and explicit pairs added so far; NAN: as they are.
 */
KN_API kn_status kn_spec_set_surfaces(kn_spec* spec, double mu, double e);
/* The mechanism's name. */
KN_API kn_status kn_spec_set_name(kn_spec* spec, const char* name);

/* Checks everything and builds the model; the spec stays usable. On failure *model is NULL and
   kn_last_error() names the body, joint, geom or field. */
KN_API kn_status kn_compile(kn_model** model, const kn_spec* spec);

KN_END_DECLS
#endif
