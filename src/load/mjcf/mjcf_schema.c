/* The elements and attributes of MJCF 4.0 and what becomes of each. */
#include "load/text/schema.h"

#define ORIENT  "quat:r4 axisangle:r4 xyaxes:r6 zaxis:r3 euler:r3 "
#define PLACE   "pos:r3 " ORIENT
#define LIMITED "{false|true|auto}"

#define JOINT                                                                                                \
  "type:{free|ball|slide|hinge} pos:r3 axis:r3 springdamper:r2 stiffness:r1-3 damping:r1-3 range:r2 "        \
  "limited:" LIMITED " actuatorfrcrange:r2 actuatorfrclimited:" LIMITED " actuatorgravcomp:b! margin:r1~ "   \
  "ref:r1 springref:r1 springyield:r1! armature:r1 frictionloss:r1 group:i1- solreflimit:r1-2~ "             \
  "solimplimit:r1-5~ solreffriction:r1-2~ solimpfriction:r1-5~ user:r*-"

#define GEOM                                                                                                 \
  "type:{plane|hfield|sphere|capsule|ellipsoid|cylinder|box|mesh|sdf} " PLACE                                \
  "fromto:r6 size:r1-3 contype:i1 conaffinity:i1 condim:i1 group:i1 priority:i1 friction:r1-3 mass:r1 "      \
  "density:r1 shellinertia:b solmix:r1~ solref:r1-2~ solimp:r1-5~ margin:r1 gap:r1~ adhesion:r1! "           \
  "surfacevel:r1-6! fluidshape:{none|ellipsoid}! fluidcoef:r1-5- mesh:s hfield:s fitscale:r1 material:s "    \
  "rgba:r4 castshadow:b- user:r*-"

#define SITE                                                                                                 \
  "type:{sphere|capsule|ellipsoid|cylinder|box|mesh} " PLACE                                                 \
  "fromto:r6 size:r1-3 group:i1- material:s- mesh:s- rgba:r4- user:r*-"

#define CAMERA                                                                                               \
  PLACE "mode:s- fovy:r1- ipd:r1- resolution:i2- focal:r2- focalpixel:r2- principal:r2- "                    \
        "principalpixel:r2- sensorsize:r2- projection:s- output:s- user:r*-"

#define LIGHT                                                                                                \
  "pos:r3- dir:r3- mode:s- active:b- type:s- castshadow:b- bulbradius:r1- intensity:r1- range:r1- "          \
  "attenuation:r1-3- cutoff:r1- exponent:r1- softness:r1- ambient:r3- diffuse:r3- specular:r3- "             \
  "directional:b-"

#define MATERIAL                                                                                             \
  "texture:s texrepeat:r2- texuniform:b- emission:r1- specular:r1- shininess:r1- reflectance:r1- "           \
  "metallic:r1- roughness:r1- rgba:r4"

#define TEXTURE                                                                                              \
  "type:{2d|cube|skybox}- colorspace:s- builtin:s- rgb1:r3- rgb2:r3- mark:s- markrgb:r3- random:r1- "        \
  "width:i1- height:i1- nchannel:i1- gridsize:i2- gridlayout:s- hflip:b- vflip:b- embed:s-"

#define PAIR                                                                                                 \
  "condim:i1 friction:r1-5 margin:r1 gap:r1~ solref:r1-2~ solreffriction:r1-2~ solimp:r1-5~ adhesion:r1!"

#define EQUALITY "active:b solref:r1-2~ solimp:r1-5~"

#define TENDON                                                                                               \
  "limited:" LIMITED " range:r2 actuatorfrclimited:" LIMITED " actuatorfrcrange:r2! margin:r1~ "             \
  "solreflimit:r1-2~ solimplimit:r1-5~ solreffriction:r1-2~ solimpfriction:r1-5~ frictionloss:r1! "          \
  "springlength:r1-2- springyield:r1! stiffness:r1-3! damping:r1-3! armature:r1! group:i1- width:r1- "       \
  "material:s- rgba:r4- user:r*-"

/* What every actuator has, and what says where it acts (not in defaults). */
#define ACTUATOR_COMMON                                                                                      \
  "group:i1- forcelimited:" LIMITED " forcerange:r2 ctrlrange:r2 delay:r1! nsample:i1- interp:s- user:r*- "
#define ACTUATOR                                                                                             \
  ACTUATOR_COMMON "ctrllimited:" LIMITED " gear:r1-6 cranklength:r1! armature:r1! damping:r1-3! "
#define ACTS_ON                                                                                              \
  "name:s class:s joint:s jointinparent:s tendon:s site:s refsite:s slidersite:s cranksite:s "               \
  "lengthrange:r2- "

#define GENERAL                                                                                              \
  ACTUATOR "actlimited:" LIMITED " actrange:r2- actdim:i1- actearly:b- dyntype:s gaintype:s biastype:s "     \
           "dynprm:r1-10 gainprm:r1-10 biasprm:r1-10 inheritrange:r1 input:s- ffrange:r2- velrange:r2-"
#define POSITION    ACTUATOR "kp:r1 kv:r1 dampratio:r1 timeconst:r1! inheritrange:r1"
#define VELOCITY    ACTUATOR "kv:r1"
#define INTVELOCITY ACTUATOR "kp:r1 kv:r1 dampratio:r1 actlimited:" LIMITED " actrange:r2 inheritrange:r1"
#define ORIENTATION ACTUATOR_COMMON "kp:r1 kv:r1 dampratio:r1 input:s"
#define PID                                                                                                  \
  ACTUATOR "kp:r1 kv:r1 ki:r1 dampratio:r1 imax:r1 slewmax:r1 ffrange:r2 posrange:r2 velrange:r2 input:s "   \
           "inheritrange:r1"
#define CYLINDER ACTUATOR "timeconst:r1 area:r1 diameter:r1 bias:r3"
#define MUSCLE                                                                                               \
  ACTUATOR "timeconst:r1-2 tausmooth:r1 range:r2 force:r1 scale:r1 lmin:r1 lmax:r1 vmax:r1 fpmax:r1 "        \
           "fvmax:r1"
#define ADHESION ACTUATOR_COMMON "gain:r1"
#define DCMOTOR                                                                                              \
  ACTUATOR "motorconst:r* resistance:r* nominal:r* saturation:r* inductance:r* cogging:r* controller:r* "    \
           "input:s thermal:r* lugre:r*"

#define SENSOR "name:s noise:r1- cutoff:r1 delay:r1-2! interval:r1-2! nsample:i1- interp:s- user:r*- "
#define SENSE(tag, attributes)                                                                               \
  { "sensor", tag, "sensor-item", ' ', SENSOR attributes }
#define DEFAULT(tag, use, attributes)                                                                        \
  { "default", tag, "none", use, attributes }
#define SENSE2(a, b, attributes)    SENSE(a, attributes), SENSE(b, attributes)
#define SENSE3(a, b, c, attributes) SENSE2(a, b, attributes), SENSE(c, attributes)

static const kn_schema_row rows[] = {
    {"", "mujoco", "mujoco", ' ', "model:s"},
    {"mujoco", "compiler", "compiler", ' ',
     "autolimits:b boundmass:r1 boundinertia:r1 settotalmass:r1 balanceinertia:b strippath:b "
     "coordinate:{local|global} angle:{radian|degree} fitaabb:b eulerseq:s meshdir:s texturedir:s assetdir:s "
     "discardvisual:b usethread:b- fusestatic:b inertiafromgeom:{false|true|auto} inertiagrouprange:i2 "
     "alignfree:b saveinertial:b- savecompiled:b- savecanonical:b- conflict:s- passthrough:s- "
     "exactmeshinertia:b convexhull:b-"},
    {"compiler", "lengthrange", "none", '-',
     "mode:s- useexisting:b- uselimit:b- accel:r1- maxforce:r1- timeconst:r1- timestep:r1- inttotal:r1- "
     "interval:r1- tolrange:r1-"},
    {"mujoco", "option", "option", ' ',
     "timestep:r1 gravity:r3 wind:r3! magnetic:r3 density:r1! viscosity:r1! integrator:s- "
     "cone:{pyramidal|elliptic}- jacobian:s- solver:s- iterations:i1- tolerance:r1- ls_iterations:i1- "
     "ls_tolerance:r1- noslip_iterations:i1- noslip_tolerance:r1- ccd_iterations:i1- ccd_tolerance:r1- "
     "mpr_iterations:i1- mpr_tolerance:r1- sdf_iterations:i1- sdf_initpoints:i1- sleep_tolerance:r1- "
     "impratio:r1~ o_margin:r1~ o_solref:r1-2~ o_solimp:r1-5~ o_friction:r1-5~ actuatorgroupdisable:i*! "
     "apirate:r1- collision:s-"},
    {"option", "flag", "none", ' ',
     "constraint:s equality:s frictionloss:s limit:s contact:s passive:s spring:s damper:s gravity:s "
     "clampctrl:s warmstart:s- filterparent:s actuation:s refsafe:s- sensor:s- midphase:s- nativeccd:s- "
     "eulerdamp:s- autoreset:s- override:s energy:s- fwdinv:s- invdiscrete:s- multiccd:s- island:s- sleep:s- "
     "diagexact:s- ipc:s- speculative:s-"},
    {"mujoco", "size", "size", '-',
     "memory:s- njmax:i1- nconmax:i1- nstack:i1- nuserdata:i1- nkey:i1- nuser_body:i1- nuser_jnt:i1- "
     "nuser_geom:i1- nuser_site:i1- nuser_cam:i1- nuser_tendon:i1- nuser_actuator:i1- nuser_sensor:i1-"},
    {"mujoco", "statistic", "none", '-', "meanmass:r1- meaninertia:r1- meansize:r1- extent:r1- center:r3-"},
    {"mujoco", "visual", "visual", '.', ""},
    {"mujoco", "custom", "custom", '.', ""},
    {"mujoco", "extension", "extension", '!', ": engine plug-ins"},
    {"mujoco", "deformable", "deformable", '!', ": flexible bodies and skins"},
    {"mujoco", "default", "default", ' ', "class:s"},
    {"default", "default", "default", ' ', "class:s"},
    DEFAULT("mesh", ' ', "scale:r3 inertia:{convex|exact|legacy|shell} maxhullvert:i1"),
    DEFAULT("texture", '-', TEXTURE),
    {"default", "material", "material", ' ', MATERIAL},
    DEFAULT("joint", ' ', JOINT),
    DEFAULT("geom", ' ', GEOM),
    DEFAULT("site", ' ', SITE),
    DEFAULT("camera", '-', CAMERA),
    DEFAULT("light", '-', LIGHT),
    DEFAULT("pair", ' ', PAIR),
    DEFAULT("equality", ' ', EQUALITY),
    DEFAULT("tendon", ' ', TENDON),
    DEFAULT("general", ' ', GENERAL),
    DEFAULT("motor", ' ', ACTUATOR),
    DEFAULT("position", ' ', POSITION),
    DEFAULT("velocity", ' ', VELOCITY),
    DEFAULT("intvelocity", ' ', INTVELOCITY),
    DEFAULT("orientation", ' ', ORIENTATION),
    DEFAULT("pid", ' ', PID),
    DEFAULT("damper", ' ', VELOCITY),
    DEFAULT("cylinder", ' ', CYLINDER),
    DEFAULT("muscle", ' ', MUSCLE),
    DEFAULT("adhesion", ' ', ADHESION),
    DEFAULT("dcmotor", ' ', DCMOTOR),
    {"mujoco", "asset", "asset", ' ', ""},
    {"asset", "mesh", "mesh", ' ',
     "name:s class:s content_type:s file:s vertex:r* normal:r*- texcoord:r*- face:i* refpos:r3 refquat:r4 "
     "scale:r3 "
     "inertia:{convex|exact|legacy|shell} smoothnormal:b- maxhullvert:i1 builtin:s params:r*- material:s"},
    {"mesh", "plugin", "none", '!', ": signed distance plug-ins"},
    {"asset", "hfield", "none", ' ', "name:s content_type:s file:s nrow:i1 ncol:i1 elevation:r*- size:r4"},
    {"asset", "skin", "none", '!', ": skins"},
    {"asset", "texture", "none", ' ',
     "name:s class:s content_type:s file:s fileright:s- fileleft:s- fileup:s- filedown:s- filefront:s- "
     "fileback:s- " TEXTURE},
    {"asset", "material", "material", ' ', "name:s class:s " MATERIAL},
    {"material", "layer", "none", '-', "texture:s- role:s-"},
    {"asset", "model", "none", ' ', "name:s file:s content_type:s"},
    {"mujoco", "worldbody", "body", ' ', "name:s-"},
    {"body", "body", "body", ' ',
     "name:s childclass:s mocap:b! gravcomp:r1 sleep:s- simple:s- fuse:s- user:r*- " PLACE},
    {"body", "frame", "body", ' ', "name:s childclass:s scale:r1-3 scaling:s massscale:r1 " PLACE},
    {"body", "replicate", "body", ' ', "count:i1 sep:s offset:r3 euler:r3"},
    {"body", "attach", "none", ' ', "model:s body:s frame:s prefix:s"},
    {"body", "inertial", "none", ' ', "mass:r1 diaginertia:r3 fullinertia:r6 " PLACE},
    {"body", "joint", "none", ' ', "name:s class:s " JOINT},
    {"body", "freejoint", "none", ' ', "name:s group:i1- align:" LIMITED},
    {"body", "geom", "geom", ' ', "name:s class:s " GEOM},
    {"geom", "plugin", "none", '!', ": signed distance plug-ins"},
    {"body", "site", "none", ' ', "name:s class:s " SITE},
    {"body", "camera", "none", '-', "name:s class:s target:s- " CAMERA},
    {"body", "light", "none", '-', "name:s class:s target:s- texture:s- " LIGHT},
    {"body", "plugin", "none", '!', ": passive force plug-ins"},
    {"body", "flexcomp", "none", '!', ": flexible bodies"},
    {"body", "composite", "none", '!', ": composite bodies"},
    {"mujoco", "contact", "contact", ' ', ""},
    {"contact", "pair", "none", ' ', "name:s class:s geom1:s geom2:s " PAIR},
    {"contact", "exclude", "none", ' ', "name:s body1:s body2:s"},
    {"mujoco", "tendon", "tendon", ' ', ""},
    {"tendon", "spatial", "spatial", ' ', "name:s class:s " TENDON},
    {"spatial", "site", "none", '?', "site:s"},
    {"spatial", "geom", "none", '?', "geom:s sidesite:s"},
    {"spatial", "pulley", "none", '?', "divisor:r1"},
    {"tendon", "fixed", "fixed", ' ', "name:s class:s " TENDON},
    {"fixed", "joint", "none", ' ', "joint:s coef:r1"},
    {"mujoco", "equality", "equality", ' ', ""},
    {"equality", "connect", "none", ' ',
     "name:s class:s body1:s body2:s anchor:r3 site1:s site2:s " EQUALITY},
    {"equality", "weld", "none", ' ',
     "name:s class:s body1:s body2:s relpose:r7 anchor:r3 site1:s site2:s torquescale:r1~ " EQUALITY},
    {"equality", "joint", "none", ' ', "name:s class:s joint1:s joint2:s polycoef:r1-5 " EQUALITY},
    {"equality", "tendon", "none", ' ', "name:s class:s tendon1:s tendon2:s polycoef:r1-5 " EQUALITY},
    {"equality", "flex", "none", '!', ""},
    {"equality", "flexvert", "none", '!', ""},
    {"equality", "flexstrain", "none", '!', ""},
    {"mujoco", "actuator", "actuator", ' ', ""},
    {"actuator", "general", "none", ' ', ACTS_ON "body:s " GENERAL},
    {"actuator", "motor", "none", ' ', ACTS_ON ACTUATOR},
    {"actuator", "position", "none", ' ', ACTS_ON POSITION},
    {"actuator", "velocity", "none", ' ', ACTS_ON VELOCITY},
    {"actuator", "intvelocity", "none", ' ', ACTS_ON INTVELOCITY},
    {"actuator", "orientation", "none", ' ', ACTS_ON ORIENTATION},
    {"actuator", "pid", "none", ' ', ACTS_ON PID},
    {"actuator", "damper", "none", ' ', ACTS_ON VELOCITY},
    {"actuator", "cylinder", "none", ' ', ACTS_ON CYLINDER},
    {"actuator", "muscle", "none", ' ', ACTS_ON MUSCLE},
    {"actuator", "adhesion", "none", ' ', "name:s class:s body:s " ADHESION},
    {"actuator", "dcmotor", "none", ' ', ACTS_ON DCMOTOR},
    {"actuator", "plugin", "plugin", ' ', ACTS_ON GENERAL " plugin:s instance:s"},
    {"plugin", "config", "none", '-', "key:s value:s"},
    {"mujoco", "sensor", "sensor", ' ', ""},
    SENSE3("touch", "accelerometer", "velocimeter", "site:s"),
    SENSE3("gyro", "force", "torque", "site:s"),
    SENSE("magnetometer", "site:s"),
    SENSE("camprojection", "site:s camera:s"),
    SENSE("rangefinder", "site:s camera:s data:s"),
    SENSE2("jointpos", "jointvel", "joint:s"),
    SENSE2("tendonpos", "tendonvel", "tendon:s"),
    SENSE3("actuatorpos", "actuatorvel", "actuatorfrc", "actuator:s"),
    SENSE("jointactuatorfrc", "joint:s"),
    SENSE("tendonactuatorfrc", "tendon:s"),
    SENSE3("ballquat", "ballangvel", "jointlimitpos", "joint:s"),
    SENSE2("jointlimitvel", "jointlimitfrc", "joint:s"),
    SENSE3("tendonlimitpos", "tendonlimitvel", "tendonlimitfrc", "tendon:s"),
    SENSE3("framepos", "framequat", "framexaxis", "objtype:s objname:s reftype:s refname:s"),
    SENSE3("frameyaxis", "framezaxis", "framelinvel", "objtype:s objname:s reftype:s refname:s"),
    SENSE("frameangvel", "objtype:s objname:s reftype:s refname:s"),
    SENSE2("framelinacc", "frameangacc", "objtype:s objname:s"),
    SENSE3("subtreecom", "subtreelinvel", "subtreeangmom", "body:s"),
    SENSE("insidesite", "site:s objtype:s objname:s enclosed:s"),
    SENSE3("distance", "normal", "fromto", "geom1:s geom2:s body1:s body2:s"),
    SENSE("contact", "geom1:s geom2:s body1:s body2:s subtree1:s subtree2:s site:s num:i1 data:s reduce:s"),
    SENSE3("e_potential", "e_kinetic", "clock", ""),
    SENSE("tactile", "geom:s mesh:s"),
    SENSE("user", "objtype:s objname:s datatype:s needstage:s dim:i1"),
    {"sensor", "plugin", "plugin", '?', SENSOR "plugin:s instance:s objtype:s objname:s reftype:s refname:s"},
    {"mujoco", "keyframe", "keyframe", ' ', ""},
    {"keyframe", "key", "none", ' ',
     "name:s time:r1 qpos:r* qvel:r* act:r* ctrl:r* mpos:r* mquat:r* plastic:r*"},
};

const kn_schema kn_mjcf_schema;
const kn_schema kn_mjcf_schema = {"MJCF", rows, sizeof rows / sizeof *rows, false};
