/* The compiled model as bytes, and back through a spec. */
#pragma once

#include "model/model.h"
#include "record/bytes.h"

kn_status kn_model_write(kn_bytes* out, const kn_model* model);
/* *hash: as written. The rebuilt model has the same one, unless it was written by an older program (version
   2: hulls were made anew) or has a motion that is a function. */
kn_status kn_model_read(kn_model** model, uint64_t* hash, kn_view in);
