/* Defective files: each must fail with file:line:column at the marked place and a sentence that says what to
   do. The mark
   '^' stands right before the place where the message must point and is taken out before loading. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/model.h"
#include "load/text/schema.h"
#include "load/urdf/urdf.h"
#include "test.h"

extern const kn_schema kn_mjcf_schema;

typedef struct defect {
  const char *text, *says;
} defect;

/* Loads text without its mark; checks that it fails at the mark and says so. */
static bool expect(const char* marked, const char* says, const char* label) {
  const char* mark = strchr(marked, '^');
  size_t n = strlen(marked), at = (size_t)(mark - marked);
  char* text = malloc(n + 1);
  memcpy(text, marked, at);
  memcpy(text + at, mark + 1, n - at);
  int line = 1, column = 1;
  for (size_t i = 0; i < at; i++) {
    if (text[i] == '\n')
      line++, column = 1;
    else if (((unsigned char)text[i] & 0xC0) != 0x80)
      column++;
  }
  char place[64];
  snprintf(place, sizeof place, "defect.xml:%d:%d: ", line, column);
  kn_spec* spec = NULL;
  kn_status status = kn_load_text(&spec, NULL, "defect.xml", text, n - 1, NULL);
  bool ok =
      status != KN_OK && strncmp(kn_last_error(), place, strlen(place)) == 0 && strstr(kn_last_error(), says);
  if (!CHECK(ok))
    printf("  %s: expected \"%s…%s\"\n  got %s \"%s\"\n", label, place, says, kn_status_name(status),
           status == KN_OK ? "" : kn_last_error());
  kn_spec_destroy(spec);
  free(text);
  return ok;
}

static int run(const defect* d, size_t n) {
  for (size_t i = 0; i < n; i++) expect(d[i].text, d[i].says, d[i].says);
  return (int)n;
}

#define W(x) "<mujoco>\n<worldbody>\n" x "\n</worldbody>\n</mujoco>"
#define B(x) W("<body name='b'>\n" x "\n<geom size='1'/></body>")
#define S(x)                                                                                                 \
  "<mujoco>\n<worldbody><body name='b'><joint name='j'/><geom name='g' size='1'/><site "                     \
  "name='s'/></body><body name='c'><freejoint name='f'/><geom name='h' size='1'/></body></worldbody>\n" x    \
  "\n</mujoco>"

static const defect xml[] = {
    {"^", "expected a complete XML document"},
    {"^x", "expected a complete XML document"},
    {"<mujoco>\n</^worldbody></mujoco>", "expected </mujoco>"},
    {"<mujoco><worldbody>\n\n^", "the file ends inside <worldbody>"},
    {"<mujoco model='a' ^model='b'/>", "duplicate attribute"},
    {"<mujoco><worldbody><body ^name='a&#10;trouble none'/></worldbody></mujoco>", "holds a line break"},
    {"<mujoco model=^a/>", "not well-formed"},
    {"<mujoco>^&unknown;</mujoco>", "undefined entity"},
    {"^<!DOCTYPE mujoco [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]><mujoco>&b;</mujoco>",
     "entities are not read"},
    {"^<!DOCTYPE mujoco SYSTEM 'x.dtd'><mujoco/>", "remove it"},
    {"<mujoco/>\n^<mujoco/>", "junk after document element"},
    {"<mujoco>\n^<!-- never closed\n", "unclosed"},
    {"^<sdf version='1.6'/>", "this is an SDF file"},
    {"^<mujocoinclude/>", "made to be included"},
    {"\n ^<html/>", "expected <mujoco> (MJCF) or <robot> (URDF)"},
    {"<mujoco><include ^file='no/such/file.xml'/></mujoco>", "cannot be opened"},
    {"<mujoco>^<include/></mujoco>", "expected file="},
    {"<mujoco><include file='x' ^class='a'/></mujoco>", "unknown attribute \"class\" of <include>"},
    {"<mujoco><include file='x'>^<geom/></include></mujoco>", "cannot have children"},
};

static const defect mjcf[] = {
    {"<mujoco>\n^<worldbodies/></mujoco>", "did you mean <worldbody>?"},
    {"<mujoco>\n^<geom size='1'/></mujoco>", "<geom> cannot stand in <mujoco>, it belongs in"},
    {"<mujoco>\n^<banana/></mujoco>", "unknown element <banana> in <mujoco>, expected one of"},
    {W("^<bdy/>"), "did you mean <body>?"},
    {W("<geom ^szie='1'/>"), "did you mean \"size\"?"},
    {W("<geom ^wobble='1'/>"), "unknown attribute \"wobble\" of <geom>, expected one of"},
    {W("<geom size='1' ^frction='1'/>"), "did you mean \"friction\"?"},
    {W("<body ^pos='0 0'/>"), "attribute \"pos\" has 2 numbers, expected 3"},
    {W("<body ^pos='0 0 0 0'/>"), "has more than 3 numbers, expected 3"},
    {W("<body ^pos='0 zero 0'/>"), "\"zero\" in attribute \"pos\" is not a finite number"},
    {W("<body ^pos='0 nan 0'/>"), "not a finite number"},
    {W("<body ^pos='0 inf 0'/>"), "not a finite number"},
    {W("<body ^pos='0 1e999 0'/>"), "not a finite number"},
    {W("<body ^pos='0 0x10 0'/>"), "not a finite number"},
    {W("<body ^pos='0,0,0'/>"), "expected numbers separated by blanks"},
    {W("<body\n  name='a'\n  ^pos='1 2'/>"), "expected 3"},
    {W("<body ^quat='0 0 0 0'/>"), "the quaternion is zero"},
    {W("<body ^quat='1 0 0'/>"), "has 3 numbers, expected 4"},
    {W("<body ^axisangle='0 0 0 1'/>"), "the axis of \"axisangle\" is zero"},
    {W("<body ^xyaxes='1 0 0 2 0 0'/>"), "parallel or zero"},
    {W("<body ^xyaxes='0 0 0 0 1 0'/>"), "the x axis of \"xyaxes\" is zero"},
    {W("<body ^zaxis='0 0 0'/>"), "\"zaxis\" is zero"},
    {W("<body quat='1 0 0 0' ^euler='0 0 0'/>"), "two orientations"},
    {W("<body ^childclass='x'/>"), "unknown default class \"x\""},
    {W("<body name='a'/><body ^name='a'/>"), "body name \"a\" is taken"},
    {W("<body ^name='world'/>"), "is taken"},
    {W("^<body name='b'>\n<joint/></body>"), "expected <inertial>, geoms with density"},
    {W("^<joint/>"), "a joint in <worldbody>"},
    {W("^<inertial pos='0 0 0' mass='1'/>"), "<inertial> in <worldbody>"},
};

static const defect bodies[] = {
    {B("<joint ^type='hing'/>"), "expected one of: free, ball, slide, hinge"},
    {B("<joint ^axis='0 0 0'/>"), "the joint axis is zero"},
    {B("<joint ^range='1 -1'/>"), "expected the first number smaller"},
    {B("<joint ^range='1'/>"), "expected 2"},
    {B("<joint ^limited='yes'/>"), "expected one of: false, true, auto"},
    {B("<joint limited='true' ^range='1 1'/>"), "is empty"},
    {B("<joint ^damping='-1'/>"), "expected a number >= 0"},
    {B("<joint ^stiffness='-1'/>"), "expected a number >= 0"},
    {B("<joint ^armature='-1'/>"), "expected a number >= 0"},
    {B("<joint ^frictionloss='-1'/>"), "expected a number >= 0"},
    {B("<joint name='j'/><joint ^name='j'/>"), "joint name \"j\" is taken"},
    {B("<joint ^class='nope'/>"), "unknown default class"},
    {B("<joint type='ball' ^range='10 20'/>"), "starts at 10"},
    {B("<freejoint/>^<joint/>"), "the free joint alone"},
    {B("<joint/>^<freejoint/>"), "the free joint alone"},
    {B("<joint/>^<joint type='ball'/>"), "expected it alone"},
    {B("<joint type='ball'/>^<joint/>"), "expected it alone"},
    {B("<body>^<freejoint/><geom size='1'/></body>"), "expected it in a child of <worldbody>"},
    {B("<freejoint ^align='maybe'/>"), "expected one of: false, true, auto"},
    {B("^<inertial pos='0 0 0'/>"), "expected mass="},
    {B("^<inertial mass='1'/>"), "expected the centre of mass"},
    {B("<inertial pos='0 0 0' ^mass='-1'/>"), "mass is -1"},
    {B("<inertial pos='0 0 0' mass='1' ^diaginertia='1 1 -1'/>"), "expected a number >= 0"},
    {B("^<inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/>"), "breaks A + B >= C"},
    {B("^<inertial pos='0 0 0' mass='1' fullinertia='1 1 1 2 0 0'/>"), "not positive definite"},
    {B("<inertial pos='0 0 0' mass='1' diaginertia='1 1 1' ^fullinertia='1 1 1 0 0 0'/>"),
     "both diaginertia and fullinertia"},
    {B("<inertial pos='0 0 0' mass='1' quat='1 0 0 0' ^fullinertia='1 1 1 0 0 0'/>"),
     "beside an orientation"},
    {B("<inertial pos='0 0 0' mass='1'/>^<inertial pos='0 0 0' mass='1'/>"), "a second <inertial>"},
    {B("<inertial pos='0 0 0' mass='1' ^inertia='1 1 1'/>"), "expected one of: mass, diaginertia"},
    {B("<frame ^scale='2'/>"), "scaled frames are not supported"},
    {B("<frame ^childclass='x'/>"), "unknown default class"},
    {B("^<replicate/>"), "expected the number of copies"},
    {B("<replicate ^count='0'/>"), "expected 1 to"},
    {B("<replicate ^count='99999999'/>"), "expected 1 to"},
    {B("<replicate ^count='1.5'/>"), "not an integer"},
    {B("<geom ^type='cube' size='1'/>"), "expected one of: plane"},
    {B("^<geom/>"), "expected size with a radius"},
    {B("^<geom type='box'/>"), "three half sizes"},
    {B("<geom type='box' ^size='1 1'/>"), "size number 3"},
    {B("<geom type='capsule' ^size='1'/>"), "a radius and a half length"},
    {B("<geom ^size='-1'/>"), "expected a radius > 0"},
    {B("<geom ^size='1 1 1 1'/>"), "expected 1 to 3"},
    {B("<geom type='capsule' size='1' ^fromto='0 0 0 0 0 0'/>"), "ends of fromto coincide"},
    {B("<geom size='1' ^fromto='0 0 0 0 0 1'/>"), "fromto needs a capsule"},
    {B("<geom type='capsule' size='1' ^fromto='0 0 0 0 0'/>"), "expected 6"},
    {B("<geom size='1' ^condim='2'/>"), "expected 1, 3, 4 or 6"},
    {B("<geom size='1' ^contype='1.5'/>"), "not an integer"},
    {B("<geom size='1' ^contype='99999999999'/>"), "not an integer"},
    {B("<geom size='1' ^friction='-1'/>"), "expected a number >= 0"},
    {B("<geom size='1' ^mass='-1'/>"), "expected a number >= 0"},
    {B("<geom size='1' ^density='-1'/>"), "expected a number >= 0"},
    {B("<geom size='1' ^margin='-1'/>"), "expected a number >= 0"},
    {B("<geom size='1' ^rgba='1 1 1'/>"), "expected 4"},
    {B("<geom size='1' ^material='m'/>"), "unknown material \"m\""},
    {B("^<geom type='mesh'/>"), "expected mesh="},
    {B("^<geom type='hfield'/>"), "expected hfield="},
    {B("<geom type='mesh' ^mesh='m'/>"), "unknown mesh \"m\""},
    {B("<geom name='g' size='1'/><geom ^name='g' size='1'/>"), "geom name \"g\" is taken"},
    {B("<site ^fromto='1 0 0 1 0 0'/>"), "ends of fromto coincide"},
    {B("<site name='s'/><site ^name='s'/>"), "site name \"s\" is taken"},
    {B("^<attach/>"), "expected model="},
    {B("<attach ^model='m' prefix='p'/>"), "unknown model \"m\""},
    {B("<body ^gravcomp='x'/>"), "not a finite number"},
    {B("<camera ^fovy='wide'/>"), "not a finite number"},
    {B("<light ^dir='0 0'/>"), "expected 3"},
};

static const defect sections[] = {
    {"<mujoco><compiler ^angle='grad'/></mujoco>", "expected one of: radian, degree"},
    {"<mujoco><compiler ^eulerseq='xy'/></mujoco>", "expected three letters"},
    {"<mujoco><compiler ^eulerseq='abc'/></mujoco>", "expected three letters"},
    {"<mujoco><compiler ^coordinate='global'/></mujoco>", "no longer part of MJCF"},
    {"<mujoco><compiler ^boundmass='-1'/></mujoco>", "expected a number >= 0"},
    {"<mujoco><compiler ^autolimits='1'/></mujoco>", "expected one of: false, true"},
    {"<mujoco><compiler ^inertiagrouprange='0'/></mujoco>", "expected 2"},
    {"<mujoco><compiler autolimits='false'/><worldbody><body><joint ^range='0 "
     "1'/></body></worldbody></mujoco>",
     "autolimits is false"},
    {"<mujoco><option ^timestep='0'/></mujoco>", "expected a positive number of seconds"},
    {"<mujoco><option ^gravity='0 0'/></mujoco>", "expected 3"},
    {"<mujoco><option ^cone='round'/></mujoco>", "expected one of: pyramidal, elliptic"},
    {"<mujoco><option><flag ^contact='off'/></option></mujoco>", "expected one of: disable, enable"},
    {"<mujoco><option><flag ^contct='disable'/></option></mujoco>", "did you mean \"contact\"?"},
    {"<mujoco><default>^<default/></default></mujoco>", "nested <default> without a name"},
    {"<mujoco><default><default class='a'/><default class='b'><default "
     "^class='a'/></default></default></mujoco>",
     "defined twice"},
    {"<mujoco><default ^class=''/></mujoco>", "empty class name"},
    {"<mujoco><default><geom ^name='x'/></default></mujoco>", "unknown attribute \"name\""},
    {"<mujoco><default><joint ^damping='a'/></default></mujoco>", "not a finite number"},
    {"<mujoco><asset>^<mesh/></asset></mujoco>", "expected file="},
    {"<mujoco><asset>^<mesh vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset></mujoco>", "<mesh> without a name"},
    {"<mujoco><asset><mesh file='a.stl' ^vertex='0 0 0'/></asset></mujoco>", "both file and vertex"},
    {"<mujoco><asset><mesh name='a' vertex='0 0 0'/>\n<mesh ^name='a' vertex='0 0 0'/></asset></mujoco>",
     "mesh name \"a\" is taken"},
    {"<mujoco><asset>^<material/></asset></mujoco>", "<material> without a name"},
    {"<mujoco><asset>^<model name='x'/></asset></mujoco>", "<model> without file"},
    {"<mujoco><asset><mesh name='a' ^vertex='0 0 0 1 0 0 0 1 0'/></asset><worldbody><geom type='mesh' "
     "mesh='a'/></worldbody></mujoco>",
     "expected at least 4"},
    {"<mujoco><asset><mesh name='a' ^vertex='0 0 0 1'/></asset><worldbody><geom type='mesh' "
     "mesh='a'/></worldbody></mujoco>",
     "a multiple of 3"},
    {"<mujoco><asset><mesh name='a' vertex='0 0 0 1 0 0 0 1 0 0 0 1' ^face='0 1 9'/></asset><worldbody><geom "
     "type='mesh' mesh='a'/></worldbody></mujoco>",
     "expected an integer from 0 to 3"},
    {"<mujoco><asset><mesh name='a' vertex='0 0 0 1 0 0 0 1 0 0 0 1' ^scale='1 0 "
     "1'/></asset><worldbody><geom type='mesh' mesh='a'/></worldbody></mujoco>",
     "a scale factor is zero"},
    {"<mujoco><asset><mesh ^file='none.stl'/></asset><worldbody><geom type='mesh' "
     "mesh='none'/></worldbody></mujoco>",
     "mesh file cannot be read"},
    {"<mujoco><asset><mesh ^file='none.stl'/></asset><worldbody><geom type='sphere' "
     "mesh='none'/></worldbody></mujoco>",
     "mesh file cannot be read"},
    {S("<contact>^<pair geom1='g'/></contact>"), "expected geom2="},
    {S("<contact><pair geom1='g' ^geom2='x'/></contact>"), "unknown geom \"x\""},
    {S("<contact><pair geom1='g' ^geom2='g'/></contact>"), "two different geoms"},
    {S("<contact><pair geom1='g' geom2='h' ^condim='5'/></contact>"), "expected 1, 3, 4 or 6"},
    {S("<contact><pair geom1='g' geom2='h' ^friction='-1'/></contact>"), "expected a number >= 0"},
    {S("<contact>^<exclude body1='b'/></contact>"), "expected body2="},
    {S("<contact><exclude body1='b' ^body2='cc'/></contact>"), "did you mean \"c\"?"},
    {S("<contact>^<exlude body1='b' body2='c'/></contact>"), "did you mean <exclude>?"},
    {S("<tendon>^<fixed name='t'/></tendon>"), "<fixed> without joints"},
    {S("<tendon><fixed name='t'>^<joint coef='1'/></fixed></tendon>"), "expected joint="},
    {S("<tendon><fixed name='t'>^<joint joint='j'/></fixed></tendon>"), "expected coef="},
    {S("<tendon><fixed name='t'><joint ^joint='f' coef='1'/></fixed></tendon>"), "expected hinge or slide"},
    {S("<tendon><fixed name='t'><joint joint='j' coef='1'/><joint ^joint='j' coef='1'/></fixed></tendon>"),
     "twice"},
    {S("<tendon>^<spatial name='t'><site site='s'/></spatial></tendon>"), "at least two"},
    {S("<tendon><spatial name='t'><site ^site='q'/></spatial></tendon>"), "unknown site \"q\""},
    {S("<equality>^<connect body1='b' body2='c'/></equality>"), "expected anchor="},
    {S("<equality>^<connect anchor='0 0 0'/></equality>"), "expected body1="},
    {S("<equality>^<connect body1='b' body2='b' anchor='0 0 0'/></equality>"), "between a body and itself"},
    {S("<equality><connect body1='b' ^body2='q' anchor='0 0 0'/></equality>"), "unknown body \"q\""},
    {S("<equality>^<connect site1='s'/></equality>"), "expected site1 and site2"},
    {S("<equality><weld body1='b' ^relpose='0 0 0'/></equality>"), "expected 7"},
    {S("<equality>^<joint joint2='j'/></equality>"), "expected joint1="},
    {S("<equality><joint ^joint1='f'/></equality>"), "expected a hinge or slide joint"},
    {S("<equality><joint joint1='j' ^polycoef='1 2 3 4 5 6'/></equality>"), "expected 1 to 5"},
    {S("<equality><tendon ^tendon1='t'/></equality>"), "unknown tendon \"t\""},
    {S("<equality>^<welt body1='b'/></equality>"), "did you mean <weld>?"},
    {S("<actuator>^<motor/></actuator>"), "acts on nothing"},
    {S("<actuator><motor ^joint='k'/></actuator>"), "did you mean"},
    {S("<actuator><motor ^tendon='k'/></actuator>"), "unknown tendon"},
    {S("<actuator><motor joint='j' ^site='s'/></actuator>"), "acts on two things"},
    {S("<actuator><motor joint='j' ^gear='1 2 3 4 5 6 7'/></actuator>"), "expected 1 to 6"},
    {S("<actuator><motor joint='j' ^ctrlrange='1 -1'/></actuator>"), "expected the first number smaller"},
    {S("<actuator><motor joint='j' ^forcerange='1 1'/></actuator>"), "expected the first number smaller"},
    {S("<actuator><position joint='j' ^kp='-1'/></actuator>"), "expected a number >= 0"},
    {S("<actuator><position joint='j' ^kv='-1'/></actuator>"), "expected a number >= 0"},
    {S("<actuator><position joint='j' kv='1' ^dampratio='1'/></actuator>"), "both kv and dampratio"},
    {S("<actuator><position joint='j' ^inheritrange='1'/></actuator>"), "a joint without range"},
    {S("<actuator><velocity joint='j' ^kv='-1'/></actuator>"), "expected a number >= 0"},
    {S("<actuator><general joint='j' ^gaintype='cubic'/></actuator>"), "expected one of: fixed, affine"},
    {S("<actuator><general joint='j' ^biastype='cubic'/></actuator>"), "expected one of: none, affine"},
    {S("<actuator><general joint='j' ^dyntype='slow'/></actuator>"), "expected one of: none, integrator"},
    {S("<actuator><motor name='m' joint='j'/><motor ^name='m' joint='j'/></actuator>"),
     "actuator name \"m\" is taken"},
    {S("<actuator><motor joint='j' ^kp='1'/></actuator>"), "unknown attribute \"kp\" of <motor>"},
    {S("<actuator>^<motr joint='j'/></actuator>"), "did you mean <motor>?"},
    {S("<keyframe><key ^qpos='0'/></keyframe>"), "qpos has 1 numbers, the model needs 8"},
    {S("<keyframe><key ^qvel='0'/></keyframe>"), "the model needs 7"},
    {S("<keyframe><key ^ctrl='0'/></keyframe>"), "the model needs 0"},
    {S("<keyframe><key ^time='soon'/></keyframe>"), "not a finite number"},
    {S("<sensor><jointpos ^joint='q'/></sensor>"), "unknown joint \"q\""},
    {S("<sensor><gyro ^site='q'/></sensor>"), "unknown site \"q\""},
    {S("<sensor>^<giro site='s'/></sensor>"), "did you mean <gyro>?"},
    {S("<sensor><gyro site='s' ^noise='loud'/></sensor>"), "not a finite number"},
};

#define R(x) "<robot name='r'>\n" x "\n</robot>"
#define INERTIA                                                                                              \
  "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
#define TWO(x)                                                                                               \
  R("<link name='a'/><link name='b'>" INERTIA                                                                \
    "</link>\n<joint name='j' type='revolute'><parent link='a'/><child link='b'/><limit lower='0' "          \
    "upper='1' effort='1' velocity='1'/>" x "</joint>")

static const defect urdf[] = {
    {"^<robot name='r'/>", "<robot> without links"},
    {R("^<link/>"), "<link> without a name"},
    {R("<link name='a'/><link ^name='a'/>"), "link name \"a\" is taken"},
    {R("<link name='a'/>^<link name='b'/>"), "expected one root"},
    {R("<link name='a'/>\n^<joint type='fixed'><parent link='a'/><child link='a'/></joint>"),
     "<joint> without a name"},
    {R("<link name='a'/>\n^<joint name='j'><parent link='a'/><child link='a'/></joint>"),
     "<joint> without type"},
    {R("<link name='a'/>\n^<joint name='j' type='fixed'><parent link='a'/><child link='a'/></joint>"),
     "connects a link with itself"},
    {R("<link name='a'/>\n<joint name='j' ^type='hinge'/>"), "expected one of: revolute"},
    {R("<link name='a'/>\n^<joint name='j' type='fixed'/>"), "without parent link"},
    {R("<link name='a'/>\n^<joint name='j' type='fixed'><parent link='a'/></joint>"), "without child link"},
    {R("<link name='a'/>\n<joint name='j' type='fixed'>^<parent/></joint>"), "expected <parent link="},
    {R("<link name='base'/>\n<joint name='j' type='fixed'><parent ^link='bse'/></joint>"),
     "did you mean \"base\"?"},
    {R("<link name='a'/>\n<joint name='j' type='fixed'><parent link='a'/><child ^link='zzzzz'/></joint>"),
     "unknown link \"zzzzz\""},
    {R("<link name='a'/><link name='b'/><joint name='j' type='fixed'><parent link='a'/><child "
       "link='b'/></joint>\n^<joint name='k' type='fixed'><parent link='a'/><child link='b'/></joint>"),
     "two parents"},
    {"^<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='fixed'><parent link='a'/><child "
     "link='b'/></joint><joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint></robot>",
     "the joints form a cycle"},
    {R("<link name='r'/>^<link name='a'/><link name='b'/><joint name='j' type='fixed'><parent "
       "link='a'/><child link='b'/></joint><joint name='k' type='fixed'><parent link='b'/><child "
       "link='a'/></joint>"),
     "part of a cycle"},
    {TWO("<axis ^xyz='0 0 0'/>"), "the joint axis is zero"},
    {TWO("<axis ^xyz='0 0'/>"), "expected 3"},
    {TWO("<origin ^xyz='a b c'/>"), "not a finite number"},
    {TWO("<origin ^rpy='0 0'/>"), "expected 3"},
    {TWO("<dynamics ^damping='-1'/>"), "expected a number >= 0"},
    {TWO("<dynamics ^friction='-1'/>"), "expected a number >= 0"},
    {TWO("^<mimic/>"), "expected joint="},
    {TWO("<mimic ^joint='jj'/>"), "did you mean \"j\"?"},
    {TWO("^<mimic joint='j'/>"), "of a joint with itself"},
    {TWO("<limit ^lower='low'/>"), "not a finite number"},
    {R("<link name='a'/><link name='b'/>\n^<joint name='j' type='revolute'><parent link='a'/><child "
       "link='b'/></joint>"),
     "moves nothing that has inertia"},
    {R("<link name='a'>^<inertial/></link>"), "<inertial> without mass"},
    {R("<link name='a'><inertial>^<mass/></inertial></link>"), "<inertial> without mass"},
    {R("<link name='a'>^<inertial><mass value='1'/></inertial></link>"), "<inertial> without inertia"},
    {R("<link name='a'><inertial><mass value='1'/>^<inertia ixx='1'/></inertial></link>"),
     "<inertia> without iyy"},
    {R("<link name='a'><inertial><mass ^value='-1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' "
       "izz='1'/></inertial></link>"),
     "mass is -1"},
    {R("<link name='a'><inertial><mass ^value='heavy'/></inertial></link>"), "not a finite number"},
    {R("<link name='a'>^<collision/></link>"), "<collision> without a shape"},
    {R("<link name='a'><collision>^<geometry/></collision></link>"), "expected <geometry> with box"},
    {R("<link name='a'><collision><geometry>^<box/></geometry></collision></link>"), "<box> without size"},
    {R("<link name='a'><collision><geometry><box ^size='1 1'/></geometry></collision></link>"), "expected 3"},
    {R("<link name='a'><collision><geometry><box ^size='1 1 0'/></geometry></collision></link>"),
     "expected a length > 0"},
    {R("<link name='a'><collision><geometry>^<sphere/></geometry></collision></link>"), "without radius"},
    {R("<link name='a'><collision><geometry><sphere ^radius='-1'/></geometry></collision></link>"),
     "expected a length > 0"},
    {R("<link name='a'><collision><geometry>^<cylinder radius='1'/></geometry></collision></link>"),
     "without length"},
    {R("<link name='a'><collision><geometry>^<mesh/></geometry></collision></link>"), "expected filename="},
    {R("<link name='a'><collision><geometry><mesh "
       "^filename='package://none/x.stl'/></geometry></collision></link>"),
     "was not found"},
    {R("<link name='a'><collision><geometry><mesh ^filename='x.stl'/></geometry></collision></link>"),
     "was not found"},
    {R("<link name='a'><visual><geometry><mesh filename='x.stl' ^scale='1 1'/></geometry></visual></link>"),
     "expected 1 or 3"},
    {R("<link name='a'><visual><geometry><mesh filename='x.stl' ^scale='0'/></geometry></visual></link>"),
     "a scale factor is zero"},
    {R("<link name='a'><contact><lateral_friction ^value='-1'/></contact><collision><geometry><sphere "
       "radius='1'/></geometry></collision></link>"),
     "expected a number >= 0"},
    {R("<link name='a'><contact><restitution ^value='2'/></contact><collision><geometry><sphere "
       "radius='1'/></geometry></collision></link>"),
     "a number from 0 to 1"},
    {R("<material name='m'><color ^rgba='1 1'/></material><link name='a'/>"), "expected 3 to 4"},
    {"<robot name='r' xmlns:xacro='http://ros.org/wiki/xacro'>\n^<xacro:macro name='m'/></robot>",
     "run `xacro FILE > robot.urdf`"},
    {"<robot ^name='${name}'/>", "run `xacro FILE > robot.urdf`"},
    {R("<link name='a'/><link name='b'/><joint name='j' type='revolute'><origin ^xyz='$(arg x) 0 "
       "0'/></joint>"),
     "xacro text"},
};

TEST(defects_of_the_xml_are_told_at_their_place) { CHECK(run(xml, sizeof xml / sizeof *xml) >= 15); }
TEST(defects_of_mjcf_are_told_at_their_place) { CHECK(run(mjcf, sizeof mjcf / sizeof *mjcf) >= 25); }
TEST(defects_of_mjcf_bodies_are_told_at_their_place) {
  CHECK(run(bodies, sizeof bodies / sizeof *bodies) >= 60);
}
TEST(defects_of_mjcf_sections_are_told_at_their_place) {
  CHECK(run(sections, sizeof sections / sizeof *sections) >= 70);
}
TEST(defects_of_urdf_are_told_at_their_place) { CHECK(run(urdf, sizeof urdf / sizeof *urdf) >= 45); }

/* ---- the same for every attribute and element of the schemas ---- */

/* Opening tags from the root down to the parent of a row, one per line. */
static bool open_path(char* out, size_t room, const kn_schema* s, const char* kind, int depth) {
  if (!*kind || depth > 8) return !*kind;
  for (int i = 0; i < s->rows; i++) {
    const kn_schema_row* r = &s->row[i];
    if (strcmp(r->kind, kind) != 0 || strcmp(r->parent, kind) == 0 ||
        (r->use != ' ' && r->use != '?' && r->use != '-'))
      continue;
    if (!open_path(out, room, s, r->parent, depth + 1)) continue;
    size_t n = strlen(out);
    snprintf(out + n, room - n, "<%s>\n", r->name);
    return true;
  }
  return false;
}

/* The document with its open elements closed, so that only the defect is wrong. */
static bool expect_in(const char* path, const char* piece, const char* says, const char* label) {
  char text[2000];
  size_t n = (size_t)snprintf(text, sizeof text, "%s%s", path, piece);
  const char* tag[16];
  int depth = 0;
  for (const char* p = path; (p = strchr(p, '<')); p++) tag[depth++] = p + 1;
  while (depth--)
    n += (size_t)snprintf(text + n, sizeof text - n, "</%.*s>", (int)strcspn(tag[depth], ">"), tag[depth]);
  return expect(text, says, label);
}

static int attribute_defects(const kn_schema_row* r, const char* path) {
  int count = 0;
  for (const char* p = r->attributes; *p;) {
    size_t n = strcspn(p, ":");
    char type = p[n + 1], text[300], name[64];
    snprintf(name, sizeof name, "%.*s", (int)n, p);
    if (type == 'r' || type == 'i') {
      snprintf(text, sizeof text, "<%s ^%s='1 abc'/>", r->name, name);
      expect_in(path, text, "is not a finite number, expected numbers", r->name), count++;
      if (p[n + 2] >= '1' && p[n + 2] <= '9') {
        snprintf(text, sizeof text, "<%s ^%s='0 0 0 0 0 0 0 0 0 0 0 0'/>", r->name, name);
        expect_in(path, text, "expected", r->name), count++;
      }
    } else if (type == 'b' || type == '{') {
      snprintf(text, sizeof text, "<%s ^%s='perhaps'/>", r->name, name);
      expect_in(path, text, "expected one of:", r->name), count++;
    }
    p += strcspn(p, " ");
    p += strspn(p, " ");
  }
  return count;
}

static int schema_defects(const kn_schema* s) {
  int count = 0;
  for (int i = 0; i < s->rows; i++) {
    const kn_schema_row* r = &s->row[i];
    char path[512] = "", text[200];
    if (r->use == '!' || r->use == '.' || !open_path(path, sizeof path, s, r->parent, 0)) continue;
    count += attribute_defects(r, path);
    if (s->lenient) continue;
    snprintf(text, sizeof text, "<%s ^qqqqqqq='1'/>", r->name);
    expect_in(path, text, "unknown attribute \"qqqqqqq\"", r->name), count++;
    if (!r->parent[0]) continue;
    snprintf(text, sizeof text, "^<%sxx/>", r->name);
    expect_in(path, text, "unknown element", r->name), count++;
  }
  return count;
}

TEST(every_attribute_and_element_of_the_schemas_is_checked) {
  int n = schema_defects(&kn_mjcf_schema), m = schema_defects(&kn_urdf_schema);
  printf("%d generated defects in MJCF, %d in URDF\n", n, m);
  CHECK(n >= 500);
  CHECK(m >= 40);
}

/* Numbers that no model means: each attribute with values too small and too large, at its place. %s: the value. */
static void numbers(const char* marked, const char* const* value, const char* says) {
  for (; *value; value++) {
    char text[1024];
    snprintf(text, sizeof text, marked, *value);
    expect(text, says, *value);
  }
}

TEST(denormal_and_huge_numbers_are_refused_with_their_place) {
  static const char *const both[] = {"1e-320", "5e-324", "1e-310", "1e61", "1e200", "1.7e308", NULL},
                           *const large[] = {"1e61", "-1e61", "1e200", "-1.7e308", "1e-320", NULL};
  numbers("<mujoco>\n<option ^timestep='%s'/>\n</mujoco>", both, "timestep");
  numbers("<mujoco>\n<option ^gravity='0 0 %s'/>\n</mujoco>", large, "gravity");
  numbers(W("<body ^pos='0 %s 0'><freejoint/><geom size='1'/></body>"), large, "pos");
  numbers(W("<body><freejoint/><geom size='1' ^mass='%s'/></body>"), both, "mass");
  numbers(W("<body><freejoint/><geom size='1' ^density='%s'/></body>"), both, "density");
  numbers(W("<body><freejoint/><geom type='box' ^size='1 %s 1'/></body>"), both, "size");
  numbers(W("<body><freejoint/><inertial pos='0 0 0' ^mass='%s' diaginertia='1 1 1'/></body>"), both, "mass");
  numbers(W("<body><freejoint/><inertial pos='0 0 0' mass='1' ^diaginertia='1 1 %s'/></body>"), both,
          "diaginertia");
  numbers(W("<geom type='capsule' size='1' ^fromto='0 0 0 0 0 %s'/>"), large, "fromto");
#define U(mass, ixx, xyz, size)                                                                              \
  "<robot name='r'><link name='a'/><link name='b'>\n<inertial><mass " mass "/><inertia " ixx                 \
  " ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>\n<collision><geometry><box " size                   \
  "/></geometry></collision></link>\n<joint name='j' type='continuous'><parent link='a'/><child "            \
  "link='b'/><origin " xyz "/></joint></robot>"
  numbers(U("^value='%s'", "ixx='1'", "xyz='0 0 0'", "size='1 1 1'"), both, "value");
  numbers(U("value='1'", "^ixx='%s'", "xyz='0 0 0'", "size='1 1 1'"), both, "ixx");
  numbers(U("value='1'", "ixx='1'", "^xyz='0 %s 0'", "size='1 1 1'"), large, "xyz");
  numbers(U("value='1'", "ixx='1'", "xyz='0 0 0'", "^size='1 1 %s'"), both, "size");
}

/* What files really hold is taken: zeros, rounding that float exporters leave, limits of 1e308 that mean none. */
TEST(small_and_large_numbers_that_are_meant_are_taken) {
  static const char* const text[] = {
      W("<body pos='1e-45 -3e-17 0'><freejoint/><geom size='1e-3' mass='1e-3'/></body>"),
      W("<geom type='plane' size='0 0 .05'/>"),
      W("<body><joint axis='1e-45 0 1' range='-1e300 1e300'/><geom size='1'/></body>"),
      U("value='1e-12'", "ixx='1'", "xyz='1.2e-34 0 0'", "size='1e-3 1 1'")};
  for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
    kn_spec* spec = NULL;
    CHECK_OK(kn_load_text(&spec, NULL, "fine.xml", text[i], strlen(text[i]), NULL));
    kn_spec_destroy(spec);
  }
}

/* What only the whole model can tell is refused by kn_compile, at the element it is told of; also in included files
   and after what the loader made of it (replicas, total masses). */
TEST(what_kn_compile_refuses_has_its_place) {
  static const defect list[] = {
      {"<mujoco><worldbody><body><freejoint/><geom name='a' size='1'/></body><body><freejoint/><geom "
       "name='b' "
       "size='1'/></body></worldbody>\n<contact>^<pair geom1='a' geom2='b' margin='-1'/></contact></mujoco>",
       "margin is -1"},
      {W("<body>\n^<freejoint/><inertial pos='0 0 1e6' mass='2' diaginertia='.02 .02 .02'/></body>"),
       "nothing with inertia moves"},
      {"<mujoco><compiler boundmass='1e58'/><worldbody><replicate count='2'><body>\n^<freejoint/><geom "
       "size='.1' "
       "pos='0 0 .1'/></body></replicate></worldbody></mujoco>",
       "nothing with inertia moves"},
      {W("<body name='a'>^<joint/><joint/><geom size='1'/></body>"), "inertia"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    char text[1024], place[64];
    const char* mark = strchr(list[i].text, '^');
    int line = 1, column = 1;
    for (const char* c = list[i].text; c < mark; c++) column = *c == '\n' ? (line++, 1) : column + 1;
    snprintf(text, sizeof text, "%.*s%s", (int)(mark - list[i].text), list[i].text, mark + 1);
    snprintf(place, sizeof place, "whole.xml:%d:%d: ", line, column);
    kn_spec* spec = NULL;
    kn_model* model = NULL;
    CHECK_OK(kn_load_text(&spec, NULL, "whole.xml", text, strlen(text), NULL));
    CHECK(spec && kn_compile(&model, spec) != KN_OK);
    if (!CHECK(strncmp(kn_last_error(), place, strlen(place)) == 0 && strstr(kn_last_error(), list[i].says)))
      printf("  expected %s…%s, got %s\n", place, list[i].says, kn_last_error());
    kn_model_destroy(model);
    kn_spec_destroy(spec);
  }
}
