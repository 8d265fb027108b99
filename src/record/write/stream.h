/* Copying into memory that another core read last and will read next. Ordinary stores would first fetch every
   line from that core's cache, 2 us for a step of a humanoid; these go past the caches, 0.15 us. */
#pragma once

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { KN_STREAM_LINE = 64 };

/* n a multiple of a line, both aligned to one (from: to 16 bytes). Seen by whoever is told afterwards. */
static inline void kn_stream_copy(void* to, const void* from, size_t n) {
#if defined(__x86_64__)
  for (size_t i = 0; i < n; i += 16)
    _mm_stream_si128((void*)((char*)to + i), _mm_load_si128((const void*)((const char*)from + i)));
  _mm_sfence();
#else
  memcpy(to, from, n);
#endif
}
