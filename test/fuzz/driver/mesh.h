/* Any bytes as a mesh file: a status and valid numbers, or a refusal with a message. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/mesh.h"

static int read_mesh(const char* name, const uint8_t* data, size_t size) {
  kn_mesh_data mesh;
  kn_status status = kn_mesh_data_read(&mesh, name, data, size);
  if (status != KN_OK) {
    if (mesh.vertices || strlen(kn_last_error()) == 0) abort();
    return 0;
  }
  for (int32_t i = 0; i < 3 * mesh.nvertex; i++)
    if (!isfinite(mesh.vertices[i])) abort();
  for (int32_t i = 0; i < 3 * mesh.ntriangle; i++)
    if (mesh.triangles[i] < 0 || mesh.triangles[i] >= mesh.nvertex) abort();
  kn_mesh_data_free(&mesh);
  return 0;
}
