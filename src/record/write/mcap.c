/* MCAP records as bytes (mcap.h). */
#include "record/write/mcap.h"

#include <stdio.h>

#include "record/write/shown.h"

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

/* By number of their schema and channel. Others read `protobuf` channels by their schema; ours are our own. */
static const struct {
  const char *topic, *encoding, *schema, *schema_encoding;
} channels[KN_CHANNELS] = {
    [KN_CHANNEL_MODEL] = {"knuckle/model", "knuckle", "knuckle.Model", ""},
    [KN_CHANNEL_SETTINGS] = {"knuckle/settings", "json", "knuckle.Settings", "jsonschema"},
    [KN_CHANNEL_STEP] = {"knuckle/step", "knuckle", "knuckle.Step", ""},
    [KN_CHANNEL_TF] = {"/tf", "protobuf", "foxglove.FrameTransforms", "protobuf"},
    [KN_CHANNEL_SCENE] = {"/scene", "protobuf", "foxglove.SceneUpdate", "protobuf"},
    [KN_CHANNEL_JOINTS] = {"/joint_states", "protobuf", "knuckle.JointStates", "protobuf"},
    [KN_CHANNEL_CONTACTS] = {"/contacts", "protobuf", "knuckle.Contacts", "protobuf"},
    [KN_CHANNEL_ENERGY] = {"/energy", "protobuf", "knuckle.Energy", "protobuf"},
    [KN_CHANNEL_REPORT] = {"/report", "protobuf", "knuckle.Report", "protobuf"},
    [KN_CHANNEL_SENSORS] = {"/sensors", "protobuf", "knuckle.Sensors", "protobuf"},
    [KN_CHANNEL_BODY] = {"/force_on/", "protobuf", "knuckle.BodyForce", "protobuf"},
};

static const char settings[] = "{\"title\":\"knuckle.Settings\",\"type\":\"object\"}";

static void put_schema(kn_bytes* b, uint16_t id) {
  kn_bytes data = {0};
  size_t at = kn_mcap_begin(b, KN_MCAP_SCHEMA);
  kn_put_u16(b, id);
  kn_put_text(b, channels[id].schema);
  kn_put_text(b, channels[id].schema_encoding);
  if (strcmp(channels[id].schema_encoding, "protobuf") == 0)
    kn_proto_schema(&data, channels[id].schema[0] == 'f' ? "foxglove" : "knuckle");
  else if (channels[id].schema_encoding[0])
    kn_put(&data, settings, sizeof settings - 1);
  kn_put_u32(b, (uint32_t)data.n);
  kn_put(b, data.at, data.n);
  b->failed = b->failed || data.failed;
  free(data.at);
  kn_mcap_end(b, at);
}

void kn_mcap_schemas(kn_bytes* b) {
  for (uint16_t id = 1; id < KN_CHANNELS; id++) put_schema(b, id);
}

static void put_channel(kn_bytes* b, uint16_t id, uint16_t schema, const char* name) {
  char topic[256];
  snprintf(topic, sizeof topic, "%s%s", channels[schema].topic, name);
  size_t at = kn_mcap_begin(b, KN_MCAP_CHANNEL);
  kn_put_u16(b, id);
  kn_put_u16(b, schema);
  kn_put_text(b, topic);
  kn_put_text(b, channels[schema].encoding);
  kn_put_u32(b, 0);
  kn_mcap_end(b, at);
}

void kn_mcap_channels(kn_bytes* b) {
  for (uint16_t c = 1; c < KN_CHANNEL_BODY; c++) put_channel(b, c, c, "");
}

void kn_mcap_body_channel(kn_bytes* b, uint16_t id, const char* body) {
  put_channel(b, id, KN_CHANNEL_BODY, body);
}
