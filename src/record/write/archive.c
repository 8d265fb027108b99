/* Public face of model_io.c: {magic, size, checksum} and the model as recordings have it. */
#include "knuckle/archive.h"

#include "base/error.h"
#include "base/hash.h"
#include "record/model_io.h"

static const uint64_t MAGIC = 0x314c444d4e4b0000u; /* reads differently on the other byte order */

typedef struct header {
  uint64_t magic, size, checksum;
} header;

kn_status kn_model_save(void** bytes, size_t* size, const kn_model* model) {
  KN_REQUIRE(bytes != NULL && size != NULL && model != NULL);
  *bytes = NULL;
  *size = 0;
  for (int i = 0; i < model->nloop; i++)
    if (model->loop[i].motion.kind == KN_MOTION_CALLBACK)
      return kn_fail(KN_UNSUPPORTED, "loop '%s': its motion is a function, which cannot be saved",
                     model->loop[i].name);
  kn_bytes out = {0};
  header h = {.magic = MAGIC};
  kn_put(&out, &h, sizeof h);
  kn_status status = kn_model_write(&out, model);
  if (status != KN_OK || out.failed) {
    free(out.at);
    return status != KN_OK ? status : kn_fail(KN_OUT_OF_MEMORY, "no memory to save the model");
  }
  h.size = out.n;
  h.checksum = kn_hash_bytes(0, out.at + sizeof h, out.n - sizeof h);
  memcpy(out.at, &h, sizeof h);
  *bytes = out.at;
  *size = out.n;
  return KN_OK;
}

void kn_archive_free(void* bytes) { free(bytes); }

kn_status kn_model_load(kn_model** model, const void* bytes, size_t size) {
  KN_REQUIRE(model != NULL);
  *model = NULL;
  KN_REQUIRE(bytes != NULL);
  header h;
  if (size < sizeof h) return kn_fail(KN_BAD_FILE, "saved model: too short for its header");
  memcpy(&h, bytes, sizeof h);
  const uint8_t* content = (const uint8_t*)bytes + sizeof h;
  if (h.magic != MAGIC) return kn_fail(KN_BAD_FILE, "saved model: does not begin like one");
  if (h.size != size || h.checksum != kn_hash_bytes(0, content, size - sizeof h))
    return kn_fail(KN_BAD_FILE, "saved model: the bytes were changed or cut off");
  uint64_t hash;
  KN_TRY(kn_model_read(model, &hash, (kn_view){content, size - sizeof h, false}));
  if (kn_model_hash(*model) == hash) return KN_OK;
  kn_model_destroy(*model);
  *model = NULL;
  return kn_fail(KN_BAD_FILE, "saved model: it cannot be rebuilt to the bit (hash %016llx)",
                 (unsigned long long)hash);
}
