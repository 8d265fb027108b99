/* Counts allocations by standing in for the C library's entry points (glibc keeps the real ones under
   __libc_ names). Sanitizer builds bring their own allocator, so there the count stays zero. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "test.h"

static atomic_size_t allocations;

size_t kn_test_allocations(void) { return atomic_load(&allocations); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
bool kn_test_counts_allocations(void) { return false; }
#else
bool kn_test_counts_allocations(void) { return true; }
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

void* malloc(size_t n) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t n) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return __libc_realloc(p, n);
}
int posix_memalign(void** p, size_t align, size_t n) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  *p = __libc_memalign(align, n);
  return *p ? 0 : ENOMEM;
}
void* aligned_alloc(size_t align, size_t n) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  return __libc_memalign(align, n);
}
#endif
