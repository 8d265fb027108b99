/* A filter of system calls for child processes that read strangers' files with libraries of others. */
#pragma once

#include <stdbool.h>

/* From here on this process can open no sockets, run no programs, look into no other process and, unless may_write,
   change no file: such calls fail with EPERM. It cannot be undone. False where the system has no such filter
   (another kernel, another processor, sanitizers): nothing changed. */
bool kn_filter_enter(bool may_write);
