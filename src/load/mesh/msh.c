/* MSH, MuJoCo's binary mesh: four int32 (vertices, normals, texture coordinates, triangles), then float[3] for each
   vertex and each normal, float[2] for each texture coordinate, int32[3] for each triangle; little endian. The file's
   size follows from the head to the byte. Normals and texture coordinates are passed over. Files without triangles are
   points, of which a hull can be made. Used by robosuite, dm_control and the Adroit hand, for example. */
#include <math.h>

#include "base/error.h"
#include "load/mesh/mesh_reader.h"

enum { HEAD = 16 };

typedef struct counts {
  uint64_t vertex, normal, texture, triangle;
} counts;

static kn_status read_head(counts* n, const kn_mesh_builder* b, const unsigned char* bytes, size_t size) {
  if (size < HEAD)
    return kn_fail(KN_BAD_FILE, "%s:%zu: truncated in the 16-byte head of an MSH file", b->name, size);
  *n = (counts){kn_mesh_u32(bytes), kn_mesh_u32(bytes + 4), kn_mesh_u32(bytes + 8), kn_mesh_u32(bytes + 12)};
  if (n->vertex > KN_MESH_MAX_COUNT || n->triangle > KN_MESH_MAX_COUNT || n->normal > INT32_MAX ||
      n->texture > INT32_MAX)
    return kn_fail(KN_BAD_FILE,
                   "%s:0: the head says %llu vertices and %llu triangles, which is too many or negative",
                   b->name, (unsigned long long)n->vertex, (unsigned long long)n->triangle);
  uint64_t expected = HEAD + 12 * (n->vertex + n->normal + n->triangle) + 8 * n->texture;
  if (expected != size)
    return kn_fail(KN_BAD_FILE, "%s:%zu: the head of this MSH file asks for %llu bytes, the file has %zu",
                   b->name, size, (unsigned long long)expected, size);
  return KN_OK;
}

static kn_status read_vertices(kn_mesh_builder* b, const unsigned char* bytes, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    double x[3];
    for (int k = 0; k < 3; k++) {
      size_t at = HEAD + 12 * (size_t)i + 4 * (size_t)k;
      x[k] = kn_mesh_f32(bytes + at);
      if (!isfinite(x[k])) return kn_fail(KN_BAD_FILE, "%s:%zu: coordinate is not finite", b->name, at);
    }
    KN_TRY(kn_mesh_builder_vertex(b, x));
  }
  return KN_OK;
}

kn_status kn_msh_read(kn_mesh_builder* b, const unsigned char* bytes, size_t size) {
  counts n = {0};
  KN_TRY(read_head(&n, b, bytes, size));
  KN_TRY(read_vertices(b, bytes, n.vertex));
  size_t at = size - 12 * (size_t)n.triangle;
  for (uint64_t i = 0; i < n.triangle; i++, at += 12) {
    uint32_t v[3] = {kn_mesh_u32(bytes + at), kn_mesh_u32(bytes + at + 4), kn_mesh_u32(bytes + at + 8)};
    for (int k = 0; k < 3; k++)
      if (v[k] >= n.vertex)
        return kn_fail(KN_BAD_FILE, "%s:%zu: a triangle names vertex %u, expected 0 to %llu", b->name,
                       at + 4 * (size_t)k, v[k], (unsigned long long)n.vertex - 1);
    KN_TRY(kn_mesh_builder_triangle(b, (int32_t)v[0], (int32_t)v[1], (int32_t)v[2]));
  }
  return KN_OK;
}
