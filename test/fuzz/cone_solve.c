/* Any bytes as a problem in blocks (byte 0: number of blocks and solver, then a byte per block and numbers):
   never a crash, a NaN or a hang, and "solved" only with errors that the judge confirms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/comp.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { BLOCKS = 5, ROWS = 3 * BLOCKS };

typedef struct stream {
  const uint8_t* at;
  size_t left;
} stream;

static uint8_t byte(stream* s) {
  if (s->left == 0) return 0;
  s->left--;
  return *s->at++;
}

/* Small numbers from one byte, or any double from eight. */
static double number(stream* s) {
  uint8_t b = byte(s);
  double x = 0.0;
  if (b != 255 || s->left < sizeof x) return (b - 100) / 16.0;
  memcpy(&x, s->at, sizeof x);
  s->at += sizeof x, s->left -= sizeof x;
  return x;
}

static int read_blocks(kn_block* block, stream* s, int blocks) {
  int rows = 0;
  for (int b = 0; b < blocks; b++) {
    uint8_t k = byte(s);
    block[b] = (kn_block){.set = (kn_set)(k % 5), .row = rows, .mu = k / 64 == 3 ? INFINITY : (k / 5) / 16.0};
    block[b].lo = number(s), block[b].hi = block[b].lo + fabs(number(s));
    rows += kn_set_rows(block[b].set);
  }
  return rows;
}

static void check(const kn_problem* p, const double* r, kn_status status, double tol) {
  if (status != KN_OK && status != KN_NOT_CONVERGED) return;
  for (int i = 0; i < p->rows; i++)
    if (!isfinite(r[i])) abort();
  bool good = kn_problem_error(p, r) <= tol && kn_problem_error_scaled(p, r) <= tol;
  if (good != (status == KN_OK)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static kn_solver_work* work;
  if (!work && kn_solver_work_create(&work, ROWS, BLOCKS, 0) != KN_OK) return 0;
  stream s = {data, size};
  uint8_t head = byte(&s);
  kn_block block[BLOCKS];
  double W[ROWS * ROWS], q[ROWS], r[ROWS];
  int blocks = head % (BLOCKS + 1), solver = head / (BLOCKS + 1) % 10, rows = read_blocks(block, &s, blocks);
  bool symmetric = byte(&s) & 1;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < rows; j++) W[i * rows + j] = symmetric && j < i ? W[j * rows + i] : number(&s);
  for (int i = 0; i < rows; i++) q[i] = number(&s), r[i] = number(&s);
  kn_problem p = {rows, blocks, block, W, NULL, q, NULL};
  kn_solve_settings settings = kn_solve_default();
  const kn_cone_solver* list = kn_cone_solvers();
  for (int k = 0; k < solver && list[k].name; k++) settings.solver = list[k].name;
  settings.warm_start = head & 1;
  settings.max_iterations = 100;
  kn_status status = kn_problem_solve(r, NULL, &p, &settings, work);
  check(&p, r, status, settings.tol);
  return 0;
}
