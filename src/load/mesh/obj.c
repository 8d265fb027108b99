/* Wavefront OBJ: "v" and "f" of all objects and groups together; everything else is skipped. Faces may have
   any number of corners "v", "v/vt", "v//vn", "v/vt/vn", counted from 1, or backwards from the latest vertex
   when negative. */
#include <stdlib.h>

#include "base/error.h"
#include "base/hoard.h"
#include "load/mesh/mesh_reader.h"

typedef struct face {
  int32_t* loop;
  size_t n;
  int room;
} face;

static kn_status bad_word(const kn_mesh_builder* b, const kn_text* t, const char* what, const char* w,
                          size_t n) {
  return kn_fail(KN_BAD_FILE, "%s:%ld: %s: '%.*s'", b->name, t->line, what, (int)(n < 40 ? n : 40), w);
}

static kn_status read_vertex(kn_mesh_builder* b, kn_text* t) {
  double x[3];
  for (int k = 0; k < 3; k++) {
    const char* w;
    size_t n = kn_text_word(t, &w);
    if (!n) return kn_fail(KN_BAD_FILE, "%s:%ld: vertex with %d of 3 coordinates", b->name, t->line, k);
    if (!kn_text_number(&x[k], w, n)) return bad_word(b, t, "not a finite number", w, n);
  }
  return kn_mesh_builder_vertex(b, x); /* a weight or colour may follow */
}

static kn_status push(face* f, int32_t v, const kn_mesh_builder* b, const kn_text* t) {
  if (f->n >= INT32_MAX || !KN_ROOM(f->loop, f->room, (int)f->n + 1))
    return kn_fail(KN_OUT_OF_MEMORY, "%s:%ld: no memory for a face of %zu corners", b->name, t->line, f->n);
  f->loop[f->n++] = v;
  return KN_OK;
}

/* The rest of a corner after its vertex index: empty or "/…" with digits, signs and slashes. */
static int corner_tail_ok(const char* p, const char* end) {
  if (p < end && *p != '/') return 0;
  for (; p < end; p++)
    if (*p != '/' && *p != '-' && *p != '+' && (*p < '0' || *p > '9')) return 0;
  return 1;
}

/* `seen` vertices precede the face in the file. */
static kn_status read_face(kn_mesh_builder* b, kn_text* t, face* f, int64_t seen) {
  f->n = 0;
  for (;;) {
    const char* w;
    size_t n = kn_text_word(t, &w);
    if (!n || *w == '#') break;
    int32_t i;
    size_t used = kn_text_integer(&i, w, w + n);
    if (!used || !corner_tail_ok(w + used, w + n)) return bad_word(b, t, "not a face corner", w, n);
    int64_t v = i < 0 ? seen + i : (int64_t)i - 1;
    if (v < 0 || v >= (int64_t)b->nvertex)
      return kn_fail(KN_BAD_FILE, "%s:%ld: vertex %d of %zu does not exist", b->name, t->line, i, b->nvertex);
    KN_TRY(push(f, (int32_t)v, b, t));
  }
  if (f->n < 3) return kn_fail(KN_BAD_FILE, "%s:%ld: face with %zu corners", b->name, t->line, f->n);
  return kn_mesh_builder_polygon(b, f->loop, f->n);
}

static kn_status read_vertices(kn_mesh_builder* b, kn_text t) {
  for (; t.at < t.end; kn_text_next_line(&t)) {
    const char* w;
    if (kn_text_word(&t, &w) == 1 && *w == 'v') KN_TRY(read_vertex(b, &t));
  }
  return KN_OK;
}

static kn_status read_faces(kn_mesh_builder* b, kn_text t, face* f) {
  int64_t seen = 0;
  for (; t.at < t.end; kn_text_next_line(&t)) {
    const char* w;
    if (kn_text_word(&t, &w) != 1) continue;
    seen += *w == 'v';
    if (*w == 'f') KN_TRY(read_face(b, &t, f, seen));
  }
  return KN_OK;
}

/* Two passes: a face may name a vertex that comes later. */
kn_status kn_obj_read(kn_mesh_builder* b, const char* bytes, size_t size) {
  if (!size) return kn_fail(KN_BAD_FILE, "%s:1: the file is empty", b->name);
  kn_text t = {bytes, bytes + size, 1};
  KN_TRY(read_vertices(b, t));
  if (!b->nvertex) return kn_fail(KN_BAD_FILE, "%s:1: no vertices in the file", b->name);
  face f = {0};
  kn_status status = read_faces(b, t, &f);
  free(f.loop);
  return status;
}
