/* Files of a load: from the disk, or asked of the caller (xml.h). */
#include "load/text/xml.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"

static bool given(const kn_files* files) { return files && files->read; }

static kn_status allowed(const char* path, const kn_files* files) {
  if (!files || !files->allow) return KN_OK;
  kn_fail(KN_OK, "%s", "");
  kn_status status = files->allow(path, files->context);
  if (status != KN_OK && !kn_last_error()[0])
    kn_fail_at(status, path, 1, 1, "not to be read: %s", kn_status_text(status));
  return status;
}

/* What the caller gives, until `release`. A failure without a sentence of its own gets one. */
static kn_status ask(const void** bytes, size_t* size, const char* path, const kn_files* files) {
  *bytes = NULL;
  *size = 0;
  kn_fail(KN_OK, "%s", "");
  kn_status status = files->read(bytes, size, path, files->context);
  if (status == KN_OK && !*bytes && *size) status = KN_IO;
  if (status != KN_OK && !kn_last_error()[0])
    kn_fail_at(status, path, 1, 1, "cannot open the file: %s", kn_status_text(status));
  return status;
}

static void release(const void* bytes, size_t size, const kn_files* files) {
  if (files->done) files->done(bytes, size, files->context);
}

static kn_status too_large(const char* path) {
  return kn_fail_at(KN_BAD_FILE, path, 1, 1, "the file is larger than 256 MB");
}

static kn_status read_given(char** out, size_t* size, kn_hoard* pool, const char* path,
                            const kn_files* files) {
  const void* bytes;
  KN_TRY(ask(&bytes, size, path, files));
  kn_status status = *size > KN_XML_MAX_BYTES ? too_large(path) : KN_OK;
  if (status == KN_OK && !(*out = kn_hoard_take(pool, *size + 1)))
    status = kn_fail(KN_OUT_OF_MEMORY, "%s: no memory for %zu bytes", path, *size);
  if (status == KN_OK && *size) memcpy(*out, bytes, *size);
  release(bytes, *size, files);
  return status;
}

kn_status kn_files_read(char** bytes, size_t* size, kn_hoard* pool, const char* path, const kn_files* files) {
  *bytes = NULL;
  *size = 0;
  KN_TRY(allowed(path, files));
  if (given(files)) return read_given(bytes, size, pool, path, files);
  FILE* f;
  size_t n;
  KN_TRY(kn_input_open(&f, &n, path));
  if (n > KN_XML_MAX_BYTES) {
    fclose(f);
    return too_large(path);
  }
  char* out = kn_hoard_take(pool, n + 1);
  size_t got = out ? fread(out, 1, n, f) : 0;
  fclose(f);
  if (!out) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory for %zu bytes", path, n);
  if (got != n) return kn_fail_at(KN_IO, path, 1, 1, "reading stopped after %zu of %zu bytes", got, n);
  *bytes = out;
  *size = n;
  return KN_OK;
}

bool kn_files_have(const char* path, const kn_files* files) {
  if (given(files)) {
    const void* bytes;
    size_t size;
    if (ask(&bytes, &size, path, files) != KN_OK) return false;
    release(bytes, size, files);
    return true;
  }
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

kn_status kn_files_mesh(kn_mesh_data* out, const char* path, const kn_files* files) {
  memset(out, 0, sizeof *out);
  KN_TRY(allowed(path, files));
  if (!given(files)) return kn_mesh_data_load(out, path);
  const void* bytes;
  size_t size;
  KN_TRY(ask(&bytes, &size, path, files));
  kn_status status = kn_mesh_data_read(out, path, bytes, size);
  release(bytes, size, files);
  return status;
}

bool kn_files_same(const char* a, const char* b, const kn_files* files) {
  if (strcmp(a, b) == 0) return true;
  struct stat ia, ib;
  if (given(files) || stat(a, &ia) != 0 || stat(b, &ib) != 0) return false;
  return ia.st_ino != 0 && ia.st_dev == ib.st_dev && ia.st_ino == ib.st_ino;
}
