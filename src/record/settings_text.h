/* The settings of a recording: a JSON object of texts, {"name": "text", …}, as the recorder writes it. */
#pragma once

#include "base/hoard.h"
#include "record/bytes.h"

/* name, text, name, text, …, "": each ended by a zero byte. NULL when the bytes are anything else. */
const char* kn_settings_parse(kn_hoard* pool, kn_view bytes);
const char* kn_settings_find(const char* settings, const char* name); /* NULL: none */
