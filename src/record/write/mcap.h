/* MCAP records (mcap.dev/spec). */
#pragma once

#include "record/bytes.h"

enum {
  KN_MCAP_HEADER = 1,
  KN_MCAP_FOOTER,
  KN_MCAP_SCHEMA,
  KN_MCAP_CHANNEL,
  KN_MCAP_MESSAGE,
  KN_MCAP_CHUNK,
  KN_MCAP_MESSAGE_INDEX,
  KN_MCAP_CHUNK_INDEX,
  KN_MCAP_STATISTICS = 11,
  KN_MCAP_SUMMARY_OFFSET = 14,
  KN_MCAP_DATA_END = 15
};

enum {
  KN_CHANNEL_MODEL = 1,
  KN_CHANNEL_SETTINGS,
  KN_CHANNEL_STEP,
  KN_CHANNEL_TF,
  KN_CHANNEL_SCENE,
  KN_CHANNEL_JOINTS,
  KN_CHANNEL_CONTACTS,
  KN_CHANNEL_ENERGY,
  KN_CHANNEL_REPORT,
  KN_CHANNEL_SENSORS,
  KN_CHANNEL_BODY, /* this one and those after it: forces on one body each */
  KN_CHANNELS,
  KN_BODIES_MOST = 128 /* of larger models only /contacts has the forces */
};

extern const uint8_t kn_mcap_magic[8];

/* Begins a record; the length is filled in by kn_mcap_end. */
size_t kn_mcap_begin(kn_bytes* b, uint8_t opcode);
void kn_mcap_end(kn_bytes* b, size_t start);

void kn_mcap_header(kn_bytes* b);
void kn_mcap_schemas(kn_bytes* b);  /* all of them */
void kn_mcap_channels(kn_bytes* b); /* but those of bodies */
void kn_mcap_body_channel(kn_bytes* b, uint16_t id, const char* body);
