/* A program outside the project: it sees the installed headers and library only. */
#include <stdio.h>
#include <string.h>

#include "knuckle/status.h"

int main(void) {
  if (strcmp(kn_status_name(KN_NOT_FOUND), "NOT_FOUND") != 0) return 1;
  puts("outside: ok");
  return 0;
}
