/* Files to read: plain ones only. Opening a FIFO would wait for a writer, a device never ends. */
#pragma once

#include <stdio.h>

#include "knuckle/status.h"

/* NOT_FOUND, or BAD_FILE when it is no plain file or cannot be read; the sentence begins with path:1:1. */
kn_status kn_input_open(FILE** file, size_t* size, const char* path);
/* The same without opening it. */
kn_status kn_input_check(const char* path);
