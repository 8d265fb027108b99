/* A model as bytes: to send it to another process, keep it beside saved states, or load it without its files.
 */
#ifndef KNUCKLE_ARCHIVE_H
#define KNUCKLE_ARCHIVE_H

#include "knuckle/model.h"

KN_BEGIN_DECLS

/* The bytes in memory of the library's own; release them with kn_archive_free. KN_UNSUPPORTED for a model
   with a motion that is a function: it cannot be written. */
KN_API kn_status kn_model_save(void** bytes, size_t* size, const kn_model* model);
KN_API void kn_archive_free(void* bytes);
/* The same model again, with the same hash: simulating it gives the same bits. Damaged bytes: KN_BAD_FILE. */
KN_API kn_status kn_model_load(kn_model** model, const void* bytes, size_t size);

KN_END_DECLS
#endif
