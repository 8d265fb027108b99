/* Every other format through assimp's C interface, when it was there at build time. Node transforms are
   applied, and the unit of COLLADA files with them; their up axis is not (as the robots' tools do: a mesh
   stays in its link's axes). */
#include "load/mesh/mesh_reader.h"

#include "base/error.h"

#ifdef KN_HAVE_ASSIMP
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <math.h>
#include <stdio.h>

#include "base/child.h"

enum { MAX_DEPTH = 200 };

static kn_status add_mesh(kn_mesh_builder* b, const struct aiMesh* mesh, const struct aiMatrix4x4* m) {
  size_t base = b->nvertex;
  for (unsigned i = 0; i < mesh->mNumVertices; i++) {
    struct aiVector3D v = mesh->mVertices[i];
    double x[3] = {(double)m->a1 * v.x + (double)m->a2 * v.y + (double)m->a3 * v.z + m->a4,
                   (double)m->b1 * v.x + (double)m->b2 * v.y + (double)m->b3 * v.z + m->b4,
                   (double)m->c1 * v.x + (double)m->c2 * v.y + (double)m->c3 * v.z + m->c4};
    if (!isfinite(x[0] + x[1] + x[2]))
      return kn_fail(KN_BAD_FILE, "%s: vertex %zu is not finite", b->name, b->nvertex);
    KN_TRY(kn_mesh_builder_vertex(b, x));
  }
  for (unsigned i = 0; i < mesh->mNumFaces; i++) {
    const struct aiFace* f = &mesh->mFaces[i];
    if (f->mNumIndices != 3) continue; /* points and lines */
    for (int k = 0; k < 3; k++)
      if (f->mIndices[k] >= mesh->mNumVertices)
        return kn_fail(KN_BAD_FILE, "%s: face %u names vertex %u of %u", b->name, i, f->mIndices[k],
                       mesh->mNumVertices);
    KN_TRY(kn_mesh_builder_triangle(b, (int32_t)(base + f->mIndices[0]), (int32_t)(base + f->mIndices[1]),
                                    (int32_t)(base + f->mIndices[2])));
  }
  return KN_OK;
}

static kn_status add_node(kn_mesh_builder* b, const struct aiScene* scene, const struct aiNode* node,
                          struct aiMatrix4x4 m, int depth) {
  if (depth > MAX_DEPTH) return kn_fail(KN_BAD_FILE, "%s: nodes nested deeper than %d", b->name, MAX_DEPTH);
  aiMultiplyMatrix4(&m, &node->mTransformation);
  for (unsigned i = 0; i < node->mNumMeshes; i++)
    if (node->mMeshes[i] < scene->mNumMeshes) KN_TRY(add_mesh(b, scene->mMeshes[node->mMeshes[i]], &m));
  for (unsigned i = 0; i < node->mNumChildren; i++)
    KN_TRY(add_node(b, scene, node->mChildren[i], m, depth + 1));
  return KN_OK;
}

static const struct aiScene* import(const char* path, const char* bytes, size_t size, const char* hint) {
  const unsigned flags = aiProcess_Triangulate | aiProcess_JoinIdenticalVertices | aiProcess_RemoveComponent;
  struct aiPropertyStore* p = aiCreatePropertyStore();
  if (!p) return NULL;
  aiSetImportPropertyInteger(p, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
  aiSetImportPropertyInteger(p, AI_CONFIG_PP_RVC_FLAGS,
                             aiComponent_NORMALS | aiComponent_TANGENTS_AND_BITANGENTS | aiComponent_COLORS |
                                 aiComponent_TEXCOORDS | aiComponent_TEXTURES | aiComponent_MATERIALS);
  const struct aiScene* scene =
      path ? aiImportFileExWithProperties(path, flags, NULL, p)
           : aiImportFileFromMemoryWithProperties(bytes, (unsigned)size, flags, hint, p);
  aiReleasePropertyStore(p);
  return scene;
}

static kn_status take(kn_mesh_builder* b, const struct aiScene* scene) {
  if (!scene) return kn_fail(KN_BAD_FILE, "%s: %s", b->name, aiGetErrorString());
  struct aiMatrix4x4 identity;
  aiIdentityMatrix4(&identity);
  kn_status status = scene->mRootNode ? add_node(b, scene, scene->mRootNode, identity, 0)
                                      : kn_fail(KN_BAD_FILE, "%s: no scene in the file", b->name);
  aiReleaseImport(scene);
  return status;
}

/* ---- in a child: assimp aborts, hangs and overflows on some files ---- */

typedef struct request {
  kn_mesh_builder* b;
  const char *path, *bytes, *hint;
  size_t size;
} request;

static kn_status read_in_child(int pipe, void* context) {
  const request* x = context;
  KN_TRY(take(x->b, import(x->path, x->bytes, x->size, x->hint)));
  uint64_t count[2] = {x->b->nvertex, x->b->ntriangle};
  kn_child_send(pipe, count, sizeof count);
  kn_child_send(pipe, x->b->vertices, 3 * x->b->nvertex * sizeof(double));
  kn_child_send(pipe, x->b->triangles, 3 * x->b->ntriangle * sizeof(int32_t));
  return KN_OK;
}

static kn_status receive(kn_child* child, void* context) {
  kn_mesh_builder* b = ((const request*)context)->b;
  uint64_t count[2];
  if (!kn_child_get(child, count, sizeof count) || count[0] > KN_MESH_MAX_COUNT ||
      count[1] > KN_MESH_MAX_COUNT)
    return kn_fail(KN_BAD_FILE, "%s: assimp gave impossible sizes", b->name);
  for (uint64_t i = 0; i < count[0]; i++) {
    double v[3];
    if (!kn_child_get(child, v, sizeof v) || !isfinite(v[0] + v[1] + v[2]))
      return kn_fail(KN_BAD_FILE, "%s: assimp gave no vertex %llu", b->name, (unsigned long long)i);
    KN_TRY(kn_mesh_builder_vertex(b, v));
  }
  for (uint64_t i = 0; i < count[1]; i++) {
    int32_t t[3];
    bool ok = kn_child_get(child, t, sizeof t);
    for (int k = 0; k < 3; k++) ok = ok && t[k] >= 0 && (uint64_t)t[k] < count[0];
    if (!ok) return kn_fail(KN_BAD_FILE, "%s: assimp gave no triangle %llu", b->name, (unsigned long long)i);
    KN_TRY(kn_mesh_builder_triangle(b, t[0], t[1], t[2]));
  }
  return KN_OK;
}

static kn_status apart(request* x) {
  static const kn_child_limits limits = {.seconds = 60.0, .megabytes = 8192};
  char what[300];
  snprintf(what, sizeof what, "%.200s: assimp", x->b->name);
  return kn_child_run(read_in_child, receive, x, &limits, what);
}

kn_status kn_assimp_read(kn_mesh_builder* b, const char* bytes, size_t size, const char* hint) {
  if (size > (size_t)1 << 31) return kn_fail(KN_NO_ROOM, "%s: larger than 2 GiB", b->name);
  return apart(&(request){.b = b, .bytes = bytes, .size = size, .hint = hint});
}

kn_status kn_assimp_load(kn_mesh_builder* b, const char* path) {
  return apart(&(request){.b = b, .path = path});
}

bool kn_mesh_has_assimp(void) { return true; }
#else
kn_status kn_assimp_read(kn_mesh_builder* b, const char* bytes, size_t size, const char* hint) {
  (void)bytes, (void)size;
  return kn_fail(KN_UNSUPPORTED,
                 "%s: format '%s' needs assimp, which was not there when the library was built", b->name,
                 hint);
}

kn_status kn_assimp_load(kn_mesh_builder* b, const char* path) {
  return kn_fail(KN_UNSUPPORTED, "%s: formats other than STL and OBJ need assimp (file %s)", b->name, path);
}

bool kn_mesh_has_assimp(void) { return false; }
#endif
