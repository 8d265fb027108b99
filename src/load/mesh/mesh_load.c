/* Mesh files by ending. The whole file is read first, so every count in it can be checked against its size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "load/mesh/mesh_reader.h"

#define MAX_FILE_BYTES ((uint64_t)8 << 30)

static const char* ending_of(const char* name) {
  const char* dot = strrchr(name, '.');
  return dot && !strchr(dot, '/') ? dot + 1 : "";
}

static kn_status open_regular(FILE** file, size_t* size, const char* path) {
  KN_TRY(kn_input_open(file, size, path));
  if ((uint64_t)*size <= MAX_FILE_BYTES) return KN_OK;
  fclose(*file);
  return kn_fail(KN_NO_ROOM, "%s: larger than 8 GiB", path);
}

static kn_status read_all(char** bytes, size_t* size, const char* path) {
  FILE* file;
  KN_TRY(open_regular(&file, size, path));
  kn_status status = KN_OK;
  *bytes = malloc(*size + 1);
  if (!*bytes)
    status = kn_fail(KN_OUT_OF_MEMORY, "%s: no memory for %zu bytes", path, *size);
  else if (fread(*bytes, 1, *size, file) != *size)
    status = kn_fail(KN_IO, "%s: reading failed", path);
  fclose(file);
  if (status != KN_OK) {
    free(*bytes);
    *bytes = NULL;
  }
  return status;
}

typedef enum format { STL, OBJ, MSH, OTHER } format;

static format format_of(const char* name) {
  const char* ending = ending_of(name);
  if (!strcasecmp(ending, "stl")) return STL;
  if (!strcasecmp(ending, "obj")) return OBJ;
  if (!strcasecmp(ending, "msh")) return MSH;
  return OTHER;
}

/* What `knuckle view` puts into a page instead of Collada and the like, under the file's own name: OBJ. */
static format format_in(const char* name, const char* bytes, size_t size) {
  static const char first[] = "# knuckle mesh\n";
  if (size >= sizeof first - 1 && memcmp(bytes, first, sizeof first - 1) == 0) return OBJ;
  return format_of(name);
}

static kn_status parse(kn_mesh_builder* b, const char* bytes, size_t size) {
  switch (format_in(b->name, bytes, size)) {
  case STL: return kn_stl_read(b, (const unsigned char*)bytes, size);
  case OBJ: return kn_obj_read(b, bytes, size);
  case MSH: return kn_msh_read(b, (const unsigned char*)bytes, size);
  default: return kn_assimp_read(b, bytes, size, ending_of(b->name));
  }
}

static kn_status finish(kn_mesh_data* out, kn_mesh_builder* b, kn_status status) {
  if (status == KN_OK) status = kn_mesh_builder_finish(out, b);
  kn_mesh_builder_free(b);
  if (status == KN_OK && format_of(b->name) == STL) {
    status = kn_mesh_data_weld(out, 0);
    if (status != KN_OK) kn_mesh_data_free(out);
  }
  return status;
}

kn_status kn_mesh_data_read(kn_mesh_data* out, const char* name, const void* bytes, size_t size) {
  KN_REQUIRE(out && name && (bytes || !size));
  memset(out, 0, sizeof *out);
  kn_mesh_builder b = {.name = name};
  return finish(out, &b, parse(&b, bytes ? bytes : "", size));
}

kn_status kn_mesh_data_load(kn_mesh_data* out, const char* path) {
  KN_REQUIRE(out && path);
  memset(out, 0, sizeof *out);
  kn_mesh_builder b = {.name = path};
  char* bytes = NULL;
  size_t size = 0;
  KN_TRY(read_all(&bytes, &size, path));
  bool other = format_in(path, bytes, size) == OTHER;
  kn_status status = other ? kn_assimp_load(&b, path) : parse(&b, bytes, size);
  free(bytes);
  return finish(out, &b, status);
}
