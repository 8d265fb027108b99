/* What the mesh readers share: growing arrays under a limit, and a cursor over text that counts lines. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "knuckle/mesh.h"

/* A mesh under construction. */
typedef struct kn_mesh_builder {
  const char* name; /* for messages */
  double* vertices;
  int32_t* triangles;
  size_t nvertex, vertex_room;
  size_t ntriangle, triangle_room;
} kn_mesh_builder;

kn_status kn_mesh_builder_vertex(kn_mesh_builder* b, const double x[3]);
kn_status kn_mesh_builder_triangle(kn_mesh_builder* b, int32_t i, int32_t j, int32_t k);
void kn_mesh_builder_free(kn_mesh_builder* b);
/* Hands the arrays over; refuses a mesh without vertices. */
kn_status kn_mesh_builder_finish(kn_mesh_data* out, kn_mesh_builder* b);

/* Position in a text of given end (not NUL-terminated). */
typedef struct kn_text {
  const char *at, *end;
  long line;
} kn_text;

/* Goes to the start of the next line. */
void kn_text_next_line(kn_text* t);
/* Next word on this line; length 0 at its end. */
size_t kn_text_word(kn_text* t, const char** word);
/* Next word on this or a later line; length 0 at the end of the text. */
size_t kn_text_word_any(kn_text* t, const char** word);
/* A finite decimal number that fills the word; independent of the locale. */
int kn_text_number(double* out, const char* word, size_t length);
/* An integer at the start of [word, end); returns characters used, 0 if none or beyond int32. */
size_t kn_text_integer(int32_t* out, const char* word, const char* end);

/* Numbers of binary files, little endian on every machine. */
static inline uint32_t kn_mesh_u32(const unsigned char* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline float kn_mesh_f32(const unsigned char* p) {
  uint32_t u = kn_mesh_u32(p);
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

kn_status kn_stl_read(kn_mesh_builder* b, const unsigned char* bytes, size_t size);
kn_status kn_msh_read(kn_mesh_builder* b, const unsigned char* bytes, size_t size);
kn_status kn_obj_read(kn_mesh_builder* b, const char* bytes, size_t size);
/* `hint` is the ending without the dot. KN_UNSUPPORTED when built without assimp. */
kn_status kn_assimp_read(kn_mesh_builder* b, const char* bytes, size_t size, const char* hint);
/* From the path instead, so that files beside it are found. */
kn_status kn_assimp_load(kn_mesh_builder* b, const char* path);

/* Triangulates the polygon loop[n] of builder vertices (n >= 3) and appends. */
kn_status kn_mesh_builder_polygon(kn_mesh_builder* b, int32_t* loop, size_t n);
