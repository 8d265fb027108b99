/* Work that may crash, hang or eat memory is done in a child process: libraries of others on files of strangers.
   The child runs a function that sends bytes through a pipe; the parent receives them and believes none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "knuckle/status.h"

typedef struct kn_child_limits {
  double seconds;   /* of wall time, and of processor time */
  size_t megabytes; /* of memory beyond what the parent has; 0: any */
  bool may_write;   /* files may be written; otherwise nothing but the pipe */
} kn_child_limits;

typedef struct kn_child kn_child; /* the parent's end */

/* In the child: does the work and sends what it found by kn_child_send. Its status and the text of its last error
   reach the parent by themselves. */
typedef kn_status (*kn_child_fn)(int pipe, void* context);
/* In the parent: receives by kn_child_get, exactly what the child sent when it succeeded. */
typedef kn_status (*kn_parent_fn)(kn_child* child, void* context);

/* Runs work in a child, then receive (may be NULL) in the parent. what: begins the message when the child died, as
   "robot.off: assimp". The child's own failure is returned with its message. */
kn_status kn_child_run(kn_child_fn work, kn_parent_fn receive, void* context, const kn_child_limits* limits,
                       const char* what);

bool kn_child_send(int pipe, const void* bytes, size_t size);
bool kn_child_get(kn_child* child, void* bytes, size_t size);

/* A filter of system calls for child processes that read strangers' files with libraries of others. */
/* From here on this process can open no sockets, run no programs, look into no other process and, unless may_write,
   change no file: such calls fail with EPERM. It cannot be undone. False where the system has no such filter
   (another kernel, another processor, sanitizers): nothing changed. */
bool kn_filter_enter(bool may_write);
