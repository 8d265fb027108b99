/* Where the loaders get their files from: the disk, or the caller (kn_load_settings.files). */
#pragma once

#include "base/hoard.h"
#include "knuckle/load.h"
#include "knuckle/mesh.h"

/* `files` may be NULL, or have no `read`: the disk. */
/* Whole file in pool memory, zero-terminated. */
kn_status kn_files_read(char** bytes, size_t* size, kn_hoard* pool, const char* path, const kn_files* files);
bool kn_files_have(const char* path, const kn_files* files);
kn_status kn_files_mesh(kn_mesh_data* out, const char* path, const kn_files* files);
/* Are two paths the same file? On the disk also when links lead there. */
bool kn_files_same(const char* a, const char* b, const kn_files* files);
