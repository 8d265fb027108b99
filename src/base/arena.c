/* Bump allocation in one block (arena.h). The same code runs twice: first to measure, then to carve. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ALIGN = 64 };

#ifdef __wasm__
/* calloc of WebAssembly writes every page, fresh pages of the memory are zero and cost nothing until they are
   used: large blocks come from there. The memory cannot be given back, so freed blocks are kept, and used
   again (cleared, which costs) once the memory has grown to PLENTY. */
enum { PAGE = 65536, LARGE = 16 * PAGE, SPARES = 64, PLENTY = 1 << 30 };
static struct spare {
  void* block;
  size_t bytes;
} spares[SPARES];

static void* zeroed(size_t bytes) {
  if (bytes < LARGE) return calloc(1, bytes);
  struct spare* best = NULL;
  bool scarce = __builtin_wasm_memory_size(0) * (size_t)PAGE + bytes > PLENTY;
  for (struct spare* s = spares; scarce && s < spares + SPARES; s++)
    if (s->block && s->bytes >= bytes && (!best || s->bytes < best->bytes)) best = s;
  if (best) {
    void* block = best->block;
    best->block = NULL;
    return memset(block, 0, bytes);
  }
  size_t old = __builtin_wasm_memory_grow(0, (bytes + PAGE - 1) / PAGE);
  return old == (size_t)-1 ? NULL : (void*)(old * PAGE);
}

static void release(void* block, size_t bytes) {
  if (bytes < LARGE) free(block);
  if (bytes < LARGE || !block) return;
  struct spare* at = spares; /* when all places are taken the smallest block is forgotten */
  for (struct spare* s = spares; s < spares + SPARES && at->block; s++)
    if (!s->block || s->bytes < at->bytes) at = s;
  if (!at->block || at->bytes < bytes) *at = (struct spare){block, (bytes + PAGE - 1) / PAGE * PAGE};
}
#elif defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
/* Fresh pages are zero and cost nothing until they are used. calloc gives such pages only until the first large block is
   freed: then the C library keeps blocks of this size in its heap and clears all of them, some 20 MB for a simulator. */
#include <sys/mman.h>
enum { LARGE = 1 << 20 };
static void* zeroed(size_t bytes) {
  if (bytes < LARGE) return calloc(1, bytes);
  void* block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}
static void release(void* block, size_t bytes) {
  if (bytes < LARGE)
    free(block);
  else if (block)
    munmap(block, bytes);
}
#else
static void* zeroed(size_t bytes) { return calloc(1, bytes); } /* untouched pages cost nothing */
static void release(void* block, size_t bytes) { (void)bytes, free(block); }
#endif

kn_status kn_arena_create(kn_arena* arena, size_t capacity) {
  size_t rounded = (capacity + ALIGN - 1) / ALIGN * ALIGN;
  *arena = (kn_arena){0};
  arena->block = zeroed(rounded + ALIGN);
  if (!arena->block) return kn_fail(KN_OUT_OF_MEMORY, "%zu bytes could not be allocated", rounded);
  arena->base = (char*)(((uintptr_t)arena->block + ALIGN - 1) / ALIGN * ALIGN);
  arena->capacity = rounded;
  return KN_OK;
}

void kn_arena_destroy(kn_arena* arena) {
  release(arena->block, arena->capacity + ALIGN);
  *arena = (kn_arena){0};
}

void* kn_arena_take(kn_arena* arena, size_t bytes) {
  size_t start = arena->used;
  arena->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!arena->base || arena->used > arena->capacity) return NULL;
  return arena->base + start;
}
