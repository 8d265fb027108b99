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

kn_status kn_assimp_read(kn_mesh_builder* b, const char* bytes, size_t size, const char* hint) {
  if (size > (size_t)1 << 31) return kn_fail(KN_NO_ROOM, "%s: larger than 2 GiB", b->name);
  return take(b, import(NULL, bytes, size, hint));
}

kn_status kn_assimp_load(kn_mesh_builder* b, const char* path) {
  return take(b, import(path, NULL, 0, NULL));
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
