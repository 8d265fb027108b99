/* In place of cli/stream.c: a page is no terminal. */
#include "command.h"

FILE* kn_terminal(void) { return stderr; }
bool kn_colours(void) { return false; }
