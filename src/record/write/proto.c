/* Protobuf by hand (shown.h). Lengths of messages are written as varints of four bytes, which readers take like
   shorter ones, so that they can be filled in afterwards. */
#include "record/write/shown.h"

#include <math.h>
#include <stdio.h>

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

static void varint(kn_bytes* b, uint64_t n) {
  for (; n > 127; n >>= 7) kn_put_u8(b, (uint8_t)(n | 128));
  kn_put_u8(b, (uint8_t)n);
}

static void tag(kn_bytes* b, int field, int kind) { varint(b, (uint64_t)field << 3 | (uint64_t)kind); }

size_t kn_proto_begin(kn_bytes* b, int field) {
  tag(b, field, LENGTH);
  kn_put_u32(b, 0);
  return b->n;
}

void kn_proto_end(kn_bytes* b, size_t start) {
  size_t n = b->n - start;
  if (b->failed) return;
  for (int i = 0; i < 4; i++)
    b->at[start - 4 + (size_t)i] = (uint8_t)((n >> (7 * i) & 127) | (i < 3 ? 128 : 0));
}

void kn_proto_number(kn_bytes* b, int field, double x) {
  if (x == 0.0 || !isfinite(x)) return;
  tag(b, field, FIXED64);
  kn_put(b, &x, sizeof x);
}

void kn_proto_numbers(kn_bytes* b, int field, const double* x, int n) {
  for (int k = 0; k < n; k++) kn_proto_number(b, field + k, x[k]);
}

void kn_proto_count(kn_bytes* b, int field, uint64_t n) {
  if (n == 0) return;
  tag(b, field, VARINT);
  varint(b, n);
}

void kn_proto_fixed(kn_bytes* b, int field, const uint32_t* x, size_t n) {
  if (n == 0) return;
  tag(b, field, LENGTH);
  varint(b, 4 * n);
  kn_put(b, x, 4 * n);
}

/* Bytes of the UTF-8 character at p, 0: there is none. */
static int character(const unsigned char* p) {
  int n = p[0] < 0x80                   ? 1
          : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
          : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
          : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                        : 0;
  for (int i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  bool bad = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
             (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
  return bad ? 0 : n;
}

void kn_proto_text(kn_bytes* b, int field, const char* text) {
  if (!text || !text[0]) return;
  size_t start = kn_proto_begin(b, field);
  for (const unsigned char* p = (const unsigned char*)text; *p;) {
    int n = character(p);
    if (n > 1)
      kn_put(b, p, (size_t)n);
    else
      kn_put_u8(b, n == 0 ? '?' : *p < 32 ? ' ' : *p);
    p += n ? n : 1;
  }
  kn_proto_end(b, start);
}

void kn_proto_time(kn_bytes* b, int field, double t) {
  double at = fmax(t, 0.0), seconds = floor(at);
  size_t start = kn_proto_begin(b, field);
  kn_proto_count(b, 1, (uint64_t)seconds);
  kn_proto_count(b, 2, (uint64_t)((at - seconds) * 1e9));
  kn_proto_end(b, start);
}

void kn_proto_vector(kn_bytes* b, int field, const double x[3]) {
  size_t start = kn_proto_begin(b, field);
  kn_proto_numbers(b, 1, x, 3);
  kn_proto_end(b, start);
}

/* ---- schemas ---- */

/* A line per message: its name, then its fields, numbered from 1. *: repeated. Kinds: d double, i int32, f fixed32, b bool,
   s string, y bytes, T Timestamp, D Duration, E an enum of the message called Type, or a message of the package.
   The first package is Foxglove's (foxglove.dev, schemas); test/record/opens.py compares it with theirs. */
static const char foxglove[] =
    "Vector3 x:d y:d z:d\n"
    "Point3 x:d y:d z:d\n"
    "Quaternion x:d y:d z:d w:d\n"
    "Pose position:Vector3 orientation:Quaternion\n"
    "Color r:d g:d b:d a:d\n"
    "KeyValuePair key:s value:s\n"
    "FrameTransform timestamp:T parent_frame_id:s child_frame_id:s translation:Vector3 rotation:Quaternion\n"
    "FrameTransforms *transforms:FrameTransform\n"
    "ArrowPrimitive pose:Pose shaft_length:d shaft_diameter:d head_length:d head_diameter:d color:Color\n"
    "CubePrimitive pose:Pose size:Vector3 color:Color\n"
    "SpherePrimitive pose:Pose size:Vector3 color:Color\n"
    "CylinderPrimitive pose:Pose size:Vector3 bottom_scale:d top_scale:d color:Color\n"
    "LinePrimitive type:E=LINE_STRIP,LINE_LOOP,LINE_LIST pose:Pose thickness:d scale_invariant:b "
    "*points:Point3 color:Color "
    "*colors:Color *indices:f\n"
    "TriangleListPrimitive pose:Pose *points:Point3 color:Color *colors:Color *indices:f\n"
    "TextPrimitive pose:Pose billboard:b font_size:d scale_invariant:b color:Color text:s\n"
    "ModelPrimitive pose:Pose scale:Vector3 color:Color override_color:b url:s media_type:s data:y\n"
    "SceneEntityDeletion timestamp:T type:E=MATCHING_ID,ALL id:s\n"
    "SceneEntity timestamp:T frame_id:s id:s lifetime:D frame_locked:b *metadata:KeyValuePair "
    "*arrows:ArrowPrimitive "
    "*cubes:CubePrimitive *spheres:SpherePrimitive *cylinders:CylinderPrimitive *lines:LinePrimitive "
    "*triangles:TriangleListPrimitive *texts:TextPrimitive *models:ModelPrimitive\n"
    "SceneUpdate *deletions:SceneEntityDeletion *entities:SceneEntity\n";

static const char knuckle[] =
    "Vector3 x:d y:d z:d\n"
    "JointState name:s position:d velocity:d effort:d\n"
    "JointStates timestamp:T *joints:JointState\n"
    "Contact a:s b:s body_a:s body_b:s point:Vector3 force:Vector3 impulse:Vector3 normal:d tangential:d "
    "tangent_1:d tangent_2:d "
    "gap:d mode:s impact:b determinate:s\n"
    "Contacts timestamp:T *contacts:Contact\n"
    "BodyForce timestamp:T x:d y:d z:d normal:d tangential:d impulse_normal:d contacts:i determinate:s\n"
    "Energy timestamp:T kinetic:d potential:d spring:d total:d\n"
    "Report timestamp:T contacts:i residual:d penetration:d closure:d iterations:i events:i verdict:s\n"
    "Sensor name:s unit:s x:d y:d z:d w:d\n"
    "Sensors timestamp:T *sensors:Sensor\n";

enum { DOUBLE = 1, INT32 = 5, FIXED32 = 7, BOOL = 8, STRING = 9, MESSAGE = 11, BYTES = 12, ENUM = 14 };

static void part(kn_bytes* b, int field, const char* text, size_t n) {
  char name[96];
  snprintf(name, sizeof name, "%.*s", (int)n, text);
  kn_proto_text(b, field, name);
}

/* EnumDescriptorProto {name = 1, value = 2 {name = 1, number = 2}} called Type. */
static void enumeration(kn_bytes* b, const char* values, size_t n) {
  size_t start = kn_proto_begin(b, 4);
  kn_proto_text(b, 1, "Type");
  for (uint64_t number = 0; n; number++) {
    size_t length = 0;
    while (length < n && values[length] != ',') length++;
    size_t value = kn_proto_begin(b, 2);
    part(b, 1, values, length);
    kn_proto_count(b, 2, number);
    kn_proto_end(b, value);
    values += length + (length < n), n -= length + (length < n);
  }
  kn_proto_end(b, start);
}

/* FieldDescriptorProto {name = 1, number = 3, label = 4, type = 5, type_name = 6} of "*name:kind". */
static void describe_field(kn_bytes* b, const char* field, size_t n, int number, const char* package,
                           const char* message) {
  static const char kinds[] = "difbsyE";
  static const int types[] = {DOUBLE, INT32, FIXED32, BOOL, STRING, BYTES, ENUM};
  bool repeated = field[0] == '*';
  const char *name = field + repeated, *kind = memchr(field, ':', n);
  size_t left = (size_t)(field + n - ++kind);
  const char* one = left == 1 || kind[0] == 'E' ? strchr(kinds, kind[0]) : NULL;
  char type[128] = "";
  size_t start = kn_proto_begin(b, 2);
  part(b, 1, name, (size_t)(kind - 1 - name));
  kn_proto_count(b, 3, (uint64_t)number);
  kn_proto_count(b, 4, repeated ? 3 : 1);
  kn_proto_count(b, 5, (uint64_t)(one ? types[one - kinds] : MESSAGE));
  if (kind[0] == 'E')
    snprintf(type, sizeof type, ".%s.%s.Type", package, message);
  else if (!one && left == 1)
    snprintf(type, sizeof type, ".google.protobuf.%s", kind[0] == 'T' ? "Timestamp" : "Duration");
  else if (!one)
    snprintf(type, sizeof type, ".%s.%.*s", package, (int)left, kind);
  kn_proto_text(b, 6, type);
  kn_proto_end(b, start);
  if (kind[0] == 'E') enumeration(b, kind + 2, left - 2);
}

/* DescriptorProto {name = 1, field = 2, enum_type = 4} of a line. */
static void describe_message(kn_bytes* b, const char* line, size_t n, const char* package) {
  size_t start = kn_proto_begin(b, 4), length = strcspn(line, " ");
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)length, line);
  kn_proto_text(b, 1, name);
  const char *p = line + length + 1, *end = line + n;
  for (int number = 1; p < end; number++) {
    size_t size = strcspn(p, " \n");
    describe_field(b, p, size, number, package, name);
    p += size + 1;
  }
  kn_proto_end(b, start);
}

/* Timestamp and Duration: {int64 seconds = 1; int32 nanos = 2}. */
static void describe_time(kn_bytes* b, const char* name, const char* file) {
  static const char* const fields[] = {"seconds", "nanos"};
  size_t start = kn_proto_begin(b, 1);
  kn_proto_text(b, 1, file);
  kn_proto_text(b, 2, "google.protobuf");
  size_t message = kn_proto_begin(b, 4);
  kn_proto_text(b, 1, name);
  for (int i = 0; i < 2; i++) {
    size_t field = kn_proto_begin(b, 2);
    kn_proto_text(b, 1, fields[i]);
    kn_proto_count(b, 3, (uint64_t)i + 1);
    kn_proto_count(b, 4, 1);
    kn_proto_count(b, 5, i == 0 ? 3 : INT32); /* int64 */
    kn_proto_end(b, field);
  }
  kn_proto_end(b, message);
  kn_proto_text(b, 12, "proto3");
  kn_proto_end(b, start);
}

/* FileDescriptorSet {file = 1 {name = 1, package = 2, dependency = 3, message_type = 4, syntax = 12}}. */
void kn_proto_schema(kn_bytes* b, const char* package) {
  char file[64];
  const char* line = strcmp(package, "foxglove") == 0 ? foxglove : knuckle;
  snprintf(file, sizeof file, "%s.proto", package);
  describe_time(b, "Timestamp", "google/protobuf/timestamp.proto");
  describe_time(b, "Duration", "google/protobuf/duration.proto");
  size_t start = kn_proto_begin(b, 1);
  kn_proto_text(b, 1, file);
  kn_proto_text(b, 2, package);
  kn_proto_text(b, 3, "google/protobuf/timestamp.proto");
  kn_proto_text(b, 3, "google/protobuf/duration.proto");
  for (; *line; line += strcspn(line, "\n") + 1) describe_message(b, line, strcspn(line, "\n"), package);
  kn_proto_text(b, 12, "proto3");
  kn_proto_end(b, start);
}
