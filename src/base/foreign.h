/* Memory that a library of others wrote (qhull, LAPACK, SUNDIALS, expat): the memory sanitizer, which does not see into them, is told
   that it was written. Nothing in other builds. */
#pragma once

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define KN_WRITTEN_ELSEWHERE(p, bytes) __msan_unpoison(p, bytes)
#define KN_TEXT_FROM_ELSEWHERE(text)   __msan_unpoison_string(text)
#endif
#endif
#ifndef KN_WRITTEN_ELSEWHERE
#define KN_WRITTEN_ELSEWHERE(p, bytes) ((void)0)
#define KN_TEXT_FROM_ELSEWHERE(text)   ((void)0)
#endif
