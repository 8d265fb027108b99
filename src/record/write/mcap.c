/* MCAP records as bytes (mcap.h). */
#include "record/write/mcap.h"

const uint8_t kn_mcap_magic[8] = {0x89, 'M', 'C', 'A', 'P', 0x30, '\r', '\n'};

size_t kn_mcap_begin(kn_bytes* b, uint8_t opcode) {
  kn_put_u8(b, opcode);
  kn_put_u64(b, 0);
  return b->n;
}

void kn_mcap_end(kn_bytes* b, size_t start) {
  uint64_t n = b->n - start;
  if (!b->failed) memcpy(b->at + start - 8, &n, 8);
}

void kn_mcap_header(kn_bytes* b) {
  kn_put(b, kn_mcap_magic, sizeof kn_mcap_magic);
  size_t at = kn_mcap_begin(b, KN_MCAP_HEADER);
  kn_put_text(b, "");
  kn_put_text(b, "knuckle");
  kn_mcap_end(b, at);
}

#define VECTOR                                                                                               \
  "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},\"y\":{\"type\":\"number\"},\"z\":{"     \
  "\"type\":\"number\"}}}"
#define QUATERNION                                                                                           \
  "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},\"y\":{\"type\":\"number\"},\"z\":{"     \
  "\"type\":\"number\"},\"w\":{\"type\":\"number\"}}}"
#define TIME                                                                                                 \
  "{\"type\":\"object\",\"title\":\"time\",\"properties\":{\"sec\":{\"type\":\"integer\"},\"nsec\":{"        \
  "\"type\":\"integer\"}}}"
#define NUMBER(name) "\"" name "\":{\"type\":\"number\"}"
#define WORD(name)   "\"" name "\":{\"type\":\"string\"}"
#define FLAG(name)   "\"" name "\":{\"type\":\"boolean\"}"
#define LIST         "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"

static const struct {
  uint16_t id;
  const char *name, *encoding, *data;
} schemas[] = {
    {KN_CHANNEL_MODEL, "knuckle.Model", "", ""},
    {KN_CHANNEL_SETTINGS, "knuckle.Settings", "jsonschema",
     "{\"title\":\"knuckle.Settings\",\"type\":\"object\"}"},
    {KN_CHANNEL_STEP, "knuckle.Step", "", ""},
    {KN_CHANNEL_TF, "foxglove.FrameTransforms", "jsonschema",
     "{\"title\":\"foxglove.FrameTransforms\",\"type\":\"object\",\"properties\":{\"transforms\":{\"type\":"
     "\"array\",\"items\":{\"type\":\"object\","
     "\"properties\":{\"timestamp\":" TIME ",\"parent_frame_id\":{\"type\":\"string\"},\"child_frame_id\":{"
     "\"type\":\"string\"},\"translation\":" VECTOR ",\"rotation\":" QUATERNION "}}}}}"},
    {KN_CHANNEL_SCENE, "foxglove.SceneUpdate", "jsonschema",
     "{\"title\":\"foxglove.SceneUpdate\",\"type\":\"object\",\"properties\":{\"deletions\":" LIST
     ",\"entities\":{\"type\":\"array\",\"items\":{\"type\":"
     "\"object\",\"properties\":{\"timestamp\":" TIME
     ",\"frame_id\":{\"type\":\"string\"},\"id\":{\"type\":\"string\"},\"lifetime\":" TIME
     ",\"frame_locked\":{\"type\":\"boolean\"},\"metadata\":" LIST ",\"arrows\":" LIST ",\"cubes\":" LIST
     ",\"spheres\":" LIST ",\"cylinders\":" LIST ",\"lines\":" LIST ",\"triangles\":" LIST ",\"texts\":" LIST
     ",\"models\":" LIST "}}}}}"},
    {KN_CHANNEL_JOINTS, "knuckle.JointStates", "jsonschema",
     "{\"title\":\"knuckle.JointStates\",\"type\":\"object\",\"properties\":{\"timestamp\":" TIME
     ",\"joints\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{" WORD(
         "name") "," NUMBER("position") "," NUMBER("velocity") "," NUMBER("effort") "}}}}}"},
    {KN_CHANNEL_CONTACTS, "knuckle.Contacts", "jsonschema",
     "{\"title\":\"knuckle.Contacts\",\"type\":\"object\",\"properties\":{\"timestamp\":" TIME
     ",\"contacts\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{" WORD("a") "," WORD("b") "," WORD(
         "body_a") "," WORD("body_b") ",\"point\":" VECTOR ",\"force\":" VECTOR ",\"impulse\":" VECTOR
                                      "," NUMBER("normal") "," NUMBER("tangential") "," NUMBER(
                                          "gap") "," FLAG("slipping") "," FLAG("impact") "," WORD("determinat"
                                                                                                  "e") "}}}}"
                                                                                                       "}"},
    {KN_CHANNEL_ENERGY, "knuckle.Energy", "jsonschema",
     "{\"title\":\"knuckle.Energy\",\"type\":\"object\",\"properties\":{\"timestamp\":" TIME
     "," NUMBER("kinetic") "," NUMBER("potential") "," NUMBER("spring") "," NUMBER("total") "}}"},
    {KN_CHANNEL_REPORT, "knuckle.Report", "jsonschema",
     "{\"title\":\"knuckle.Report\",\"type\":\"object\",\"properties\":{\"timestamp\":" TIME
     "," NUMBER("contacts") "," NUMBER("residual") "," NUMBER("penetration") "," NUMBER("closure") "," NUMBER(
         "iterations") "," NUMBER("events") "," WORD("verdict") "}}"},
};

void kn_mcap_schemas(kn_bytes* b) {
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
    size_t at = kn_mcap_begin(b, KN_MCAP_SCHEMA);
    kn_put_u16(b, schemas[i].id);
    kn_put_text(b, schemas[i].name);
    kn_put_text(b, schemas[i].encoding);
    kn_put_text(b, schemas[i].data);
    kn_mcap_end(b, at);
  }
}

void kn_mcap_channels(kn_bytes* b) {
  static const char* const topics[] = {"",        "knuckle/model", "knuckle/settings", "knuckle/step",
                                       "/tf",     "/scene",        "/joint_states",    "/contacts",
                                       "/energy", "/report"};
  static const char* const encodings[] = {"",     "knuckle", "json", "knuckle", "json",
                                          "json", "json",    "json", "json",    "json"};
  for (uint16_t c = 1; c < KN_CHANNELS; c++) {
    size_t at = kn_mcap_begin(b, KN_MCAP_CHANNEL);
    kn_put_u16(b, c);
    kn_put_u16(b, c); /* the schema of the same number */
    kn_put_text(b, topics[c]);
    kn_put_text(b, encodings[c]);
    kn_put_u32(b, 0);
    kn_mcap_end(b, at);
  }
}
