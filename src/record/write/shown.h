/* The channels that other programs show and plot: which messages a step becomes, at the rate of the scene. Called by the
   writer thread (recorder.c). */
#pragma once

#include "knuckle/force.h"
#include "knuckle/step.h"
#include "record/bytes.h"
#include "record/snapshot.h"

typedef struct kn_shown kn_shown;
typedef void (*kn_shown_put)(void* context, uint16_t channel, const kn_bytes* message);

kn_status kn_shown_create(kn_shown** out, const kn_model* model, kn_force_choice choice, double v_rest);
void kn_shown_destroy(kn_shown* shown);
/* One past the last channel; the records of those that this model adds. */
int kn_shown_end(const kn_shown* shown);
void kn_shown_channels(const kn_shown* shown, kn_bytes* out);
/* The shapes, once; a step. False: no memory. */
bool kn_shown_shapes(kn_shown* shown, kn_shown_put put, void* context);
/* Every step, shown or not: the next one starts from it. */
void kn_shown_passed(kn_shown* shown, const kn_snapshot* s);
bool kn_shown_step(kn_shown* shown, const kn_snapshot* s, kn_shown_put put, void* context);

/* What others can plot: joint states, contacts, forces on bodies, energy, report and sensors as Protobuf, at the rate of the scene.
   Called by the writer thread (recorder.c); schemas in proto.c. */
void kn_series_joints(kn_bytes* out, const kn_model* model, const kn_snapshot* s);
void kn_series_contacts(kn_bytes* out, const kn_model* model, const kn_snapshot* s,
                        const kn_contact_load* load);
void kn_series_body(kn_bytes* out, double t, const kn_load_sum* sum); /* sum NULL: nothing touches it */
void kn_series_energy(kn_bytes* out, const kn_snapshot* s);
void kn_series_report(kn_bytes* out, const kn_snapshot* s);
void kn_series_sensors(kn_bytes* out, const kn_model* model, const kn_snapshot* s);

/* Foxglove messages as Protobuf: transforms of the bodies, shapes once, contact forces as arrows with names and
   values. */
enum { KN_NAME = 128 };
/* What a body or geom is called: "world", its name, or its kind and number. */
/* `own`, or where there is none the kind and the number: joint3. */
const char* kn_scene_name(char name[KN_NAME], const char* own, const char* kind, int i);
const char* kn_scene_body(char name[KN_NAME], const kn_model* model, kn_body body);
const char* kn_scene_geom(char name[KN_NAME], const kn_model* model, kn_geom geom);

void kn_scene_shapes(kn_bytes* out, const kn_model* model, double t);
void kn_scene_transforms(kn_bytes* out, const kn_model* model, const kn_data* data, double t);
void kn_scene_contacts(kn_bytes* out, const kn_model* model, const kn_report* report,
                       const kn_contact_load* load, double t);

/* Protobuf messages as bytes, and the schemas that say what they mean (protobuf.dev, encoding and descriptor.proto):
   a field is its number and kind, then a number, or a length and bytes. Fields that are zero are left out. */
/* A message within the message; its length is filled in by kn_proto_end. */
size_t kn_proto_begin(kn_bytes* b, int field);
void kn_proto_end(kn_bytes* b, size_t start);

void kn_proto_number(kn_bytes* b, int field, double x);                /* what is not finite is left out */
void kn_proto_numbers(kn_bytes* b, int field, const double* x, int n); /* of fields that follow each other */
void kn_proto_count(kn_bytes* b, int field, uint64_t n);
void kn_proto_fixed(kn_bytes* b, int field, const uint32_t* x, size_t n); /* packed fixed32 */
void kn_proto_text(kn_bytes* b, int field, const char* text);             /* made valid UTF-8, one line */
void kn_proto_time(kn_bytes* b, int field, double seconds);               /* Timestamp or Duration */
void kn_proto_vector(kn_bytes* b, int field, const double x[3]);          /* {x = 1, y = 2, z = 3} */

/* FileDescriptorSet of a package: "foxglove" or "knuckle". */
void kn_proto_schema(kn_bytes* b, const char* package);
