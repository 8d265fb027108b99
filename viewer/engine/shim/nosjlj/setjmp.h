/* qhull gives up by longjmp, which WebAssembly does not have here: then the instance ends in a trap, and the
   page makes a new one. kn_hull_create checks its points first, so that this does not happen with finite
   points. */
#ifndef KN_SHIM_SETJMP_H
#define KN_SHIM_SETJMP_H
typedef int jmp_buf[1];
#define setjmp(buffer)         ((void)(buffer), 0)
#define longjmp(buffer, value) __builtin_trap()
#endif
