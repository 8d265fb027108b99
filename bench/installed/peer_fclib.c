#include <fclib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "peer.h"

/* W[2][2] of a one-contact problem after writing and reading it. */
static double answer(void) {
  static double read_back;
  if (read_back != 0) return read_back;
  char path[] = "/tmp/knuckle-fclib-XXXXXX";
  int p[] = {0, 1, 2, 3}, i[] = {0, 1, 2}, file = mkstemp(path);
  double x[] = {1, 1, 7}, q[] = {-1, 0, 0}, mu[] = {0.5};
  struct fclib_matrix w = {.nzmax = 3, .m = 3, .n = 3, .p = p, .i = i, .x = x, .nz = -1};
  struct fclib_local problem = {.W = &w, .mu = mu, .q = q, .spacedim = 3};
  if (file < 0) return 0;
  close(file);
  remove(path);
  if (!fclib_write_local(&problem, path)) return 0;
  struct fclib_local* again = fclib_read_local(path);
  read_back = again ? again->W->x[2] : 0;
  remove(path);
  return read_back;
}

KN_PEER_EXPORT const installed_peer kn_peer = {"a problem file written and read", 7, answer};
