/* Protobuf messages as bytes, and the schemas that say what they mean (protobuf.dev, encoding and descriptor.proto):
   a field is its number and kind, then a number, or a length and bytes. Fields that are zero are left out. */
#pragma once

#include "record/bytes.h"

/* A message within the message; its length is filled in by kn_proto_end. */
size_t kn_proto_begin(kn_bytes* b, int field);
void kn_proto_end(kn_bytes* b, size_t start);

void kn_proto_number(kn_bytes* b, int field, double x); /* what is not finite is left out */
void kn_proto_count(kn_bytes* b, int field, uint64_t n);
void kn_proto_fixed(kn_bytes* b, int field, const uint32_t* x, size_t n); /* packed fixed32 */
void kn_proto_text(kn_bytes* b, int field, const char* text);             /* made valid UTF-8, one line */
void kn_proto_time(kn_bytes* b, int field, double seconds);               /* Timestamp or Duration */
void kn_proto_vector(kn_bytes* b, int field, const double x[3]);          /* {x = 1, y = 2, z = 3} */

/* FileDescriptorSet of a package: "foxglove" or "knuckle". */
void kn_proto_schema(kn_bytes* b, const char* package);
