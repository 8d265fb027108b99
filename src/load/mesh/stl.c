/* STL: 84 + 50 n bytes of binary, or "facet … endfacet" text. A tenth of the binary files in use begin with
   "solid", so the size decides first and the first word only when the size does not fit. */
#include <math.h>

#include "base/error.h"
#include "load/mesh/mesh_reader.h"

enum { HEAD = 84, FACET = 50 };

static kn_status read_binary(kn_mesh_builder* b, const unsigned char* bytes, size_t size) {
  if (size < HEAD)
    return kn_fail(KN_BAD_FILE, "%s:%zu: truncated in the 84-byte head of a binary STL", b->name, size);
  uint64_t n = kn_mesh_u32(bytes + 80);
  if (HEAD + FACET * n > size)
    return kn_fail(KN_BAD_FILE, "%s:%zu: truncated: the head says %llu triangles, there are bytes for %zu",
                   b->name, size, (unsigned long long)n, (size - HEAD) / FACET);
  if (n == 0) return kn_fail(KN_BAD_FILE, "%s:80: no triangles", b->name);
  if (3 * n > KN_MESH_MAX_COUNT)
    return kn_fail(KN_NO_ROOM, "%s:80: %llu triangles are too many", b->name, (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    const unsigned char* facet = bytes + HEAD + FACET * i + 12; /* after the normal, which is often wrong */
    for (int c = 0; c < 3; c++) {
      double x[3];
      for (int k = 0; k < 3; k++) {
        x[k] = kn_mesh_f32(facet + 12 * c + 4 * k);
        if (!isfinite(x[k]))
          return kn_fail(KN_BAD_FILE, "%s:%zu: coordinate is not finite", b->name,
                         (size_t)(facet - bytes) + (size_t)(12 * c + 4 * k));
      }
      KN_TRY(kn_mesh_builder_vertex(b, x));
    }
    int32_t v = (int32_t)(3 * i);
    KN_TRY(kn_mesh_builder_triangle(b, v, v + 1, v + 2));
  }
  return KN_OK;
}

static int word_is(const char* w, size_t n, const char* text) {
  if (n != strlen(text)) return 0;
  for (size_t i = 0; i < n; i++)
    if ((w[i] | 32) != text[i]) return 0;
  return 1;
}

static kn_status expected(const kn_mesh_builder* b, const kn_text* t, const char* what, const char* w,
                          size_t n) {
  if (!n) return kn_fail(KN_BAD_FILE, "%s:%ld: file ends where %s was expected", b->name, t->line, what);
  return kn_fail(KN_BAD_FILE, "%s:%ld: expected %s, found '%.*s'", b->name, t->line, what,
                 (int)(n < 40 ? n : 40), w);
}

static kn_status read_vertex(kn_mesh_builder* b, kn_text* t) {
  double x[3];
  for (int k = 0; k < 3; k++) {
    const char* w;
    size_t n = kn_text_word(t, &w);
    if (!n || !kn_text_number(&x[k], w, n))
      return expected(b, t, "a finite number", n ? w : "end of line", n ? n : 11);
    x[k] = (double)(float)x[k]; /* the format's precision: text and binary of one mesh agree */
    if (!isfinite(x[k])) return expected(b, t, "a number within single precision", w, n);
  }
  return kn_mesh_builder_vertex(b, x);
}

/* Facets may have more than three corners in the wild; they are cut as polygons. */
static kn_status read_facet(kn_mesh_builder* b, kn_text* t) {
  enum { MAX = 64 };
  int32_t loop[MAX];
  size_t corners = 0;
  kn_text_next_line(t); /* rest of "facet normal x y z" */
  for (;;) {
    const char* w;
    size_t n = kn_text_word_any(t, &w);
    if (word_is(w, n, "vertex")) {
      if (corners == MAX)
        return kn_fail(KN_BAD_FILE, "%s:%ld: more than %d corners in a facet", b->name, t->line, MAX);
      loop[corners++] = (int32_t)b->nvertex;
      KN_TRY(read_vertex(b, t));
    } else if (word_is(w, n, "endfacet")) {
      break;
    } else if (!word_is(w, n, "outer") && !word_is(w, n, "loop") && !word_is(w, n, "endloop")) {
      return expected(b, t, "'vertex' or 'endfacet'", w, n);
    }
  }
  if (corners < 3) return kn_fail(KN_BAD_FILE, "%s:%ld: facet with %zu corners", b->name, t->line, corners);
  return kn_mesh_builder_polygon(b, loop, corners);
}

static kn_status read_ascii(kn_mesh_builder* b, const char* bytes, size_t size) {
  kn_text t = {bytes, bytes + size, 1};
  kn_text_next_line(&t); /* "solid NAME" */
  for (;;) {
    const char* w;
    size_t n = kn_text_word_any(&t, &w);
    if (word_is(w, n, "facet")) {
      KN_TRY(read_facet(b, &t));
    } else if (word_is(w, n, "solid") || word_is(w, n, "endsolid")) {
      kn_text_next_line(&t);
    } else if (n) {
      return expected(b, &t, "'facet' or 'endsolid'", w, n);
    } else {
      break;
    }
  }
  return b->ntriangle ? KN_OK : kn_fail(KN_BAD_FILE, "%s:%ld: no triangles", b->name, t.line);
}

/* Text by its look: "solid" first and no control bytes near the start. */
static int looks_ascii(const unsigned char* bytes, size_t size) {
  size_t i = 0, look = size < 1024 ? size : 1024;
  while (i < size && (bytes[i] == ' ' || bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r')) i++;
  if (size - i < 5 || !word_is((const char*)bytes + i, 5, "solid")) return 0;
  for (; i < look; i++)
    if (bytes[i] < 9 || bytes[i] == 127) return 0;
  return 1;
}

kn_status kn_stl_read(kn_mesh_builder* b, const unsigned char* bytes, size_t size) {
  if (!size) return kn_fail(KN_BAD_FILE, "%s:0: the file is empty", b->name);
  int sized = size >= HEAD && HEAD + (uint64_t)FACET * kn_mesh_u32(bytes + 80) == size;
  return !sized && looks_ascii(bytes, size) ? read_ascii(b, (const char*)bytes, size)
                                            : read_binary(b, bytes, size);
}
