/* Counts allocations by standing in for the C library's entry points (glibc keeps the real ones under
   __libc_ names). Sanitizer builds bring their own allocator, so there the count stays zero. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "test.h"

static atomic_size_t allocations;

size_t kn_test_allocations(void) { return atomic_load(&allocations); }

#if defined(__has_feature)
#if __has_feature(memory_sanitizer) /* clang has no macro for it */
#define KN_SANITIZE_MEMORY
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(KN_SANITIZE_MEMORY) ||          \
    !defined(__GLIBC__)
#define KN_FOREIGN_ALLOCATOR
#endif

#ifdef KN_FOREIGN_ALLOCATOR
bool kn_test_counts_allocations(void) { return false; }
#else
bool kn_test_counts_allocations(void) { return true; }
#endif

#ifndef KN_FOREIGN_ALLOCATOR
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static atomic_long fail_at, live; /* 0: none; how many are held */

void kn_test_fail_allocation(long n) { atomic_store(&fail_at, n); }
bool kn_test_allocation_failed(void) { return atomic_load(&fail_at) == -1; }
long kn_test_live_allocations(void) { return atomic_load(&live); }

/* Counts; true: this is the one that is to fail. */
static bool fails(void) {
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  if (atomic_load_explicit(&fail_at, memory_order_relaxed) <= 0) return false;
  if (atomic_fetch_sub(&fail_at, 1) != 1) return false;
  atomic_store(&fail_at, -1);
  errno = ENOMEM;
  return true;
}
static void* held(void* p) {
  if (p) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
  return p;
}

void* malloc(size_t n) { return fails() ? NULL : held(__libc_malloc(n)); }
void* calloc(size_t n, size_t size) { return fails() ? NULL : held(__libc_calloc(n, size)); }
void* realloc(void* p, size_t n) {
  if (fails()) return NULL;
  void* fresh = __libc_realloc(p, n);
  if (!p) held(fresh);
  return fresh;
}
int posix_memalign(void** p, size_t align, size_t n) {
  *p = fails() ? NULL : held(__libc_memalign(align, n));
  return *p ? 0 : ENOMEM;
}
void* aligned_alloc(size_t align, size_t n) { return fails() ? NULL : held(__libc_memalign(align, n)); }
void free(void* p) {
  if (p) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  __libc_free(p);
}
#else
void kn_test_fail_allocation(long n) { (void)n; }
bool kn_test_allocation_failed(void) { return false; }
long kn_test_live_allocations(void) { return 0; }
#endif
