/* Controls that act some steps after they were given. They wait in a block of the state, so that a saved
   world has them too: `steps` rows of nu numbers, the one to act next at the place step mod steps. */
#include <string.h>

#include "base/error.h"
#include "pool/pool.h"

enum { MOST_DELAY = 100000 };

kn_status kn_delay_set(kn_state* x, int steps) {
  int nu = x->model->nu;
  kn_state_block* b = kn_state_find_block(x, "delay");
  if (steps < 0 || steps > MOST_DELAY)
    return kn_fail(KN_BAD_ARGUMENT, "a delay of %d steps: 0 … %d", steps, MOST_DELAY);
  if (b) memset(b->data, 0, b->capacity), b->used = 0;
  if (steps == 0 || nu == 0) return KN_OK;
  size_t row = (size_t)nu * sizeof(double);
  KN_TRY(kn_state_add_block(&b, x, "delay", (size_t)steps * row));
  for (int i = 0; i < steps; i++) memcpy((char*)b->data + (size_t)i * row, x->ctrl, row);
  b->used = (size_t)steps * row;
  return KN_OK;
}

void kn_delay_pass(kn_state* x, double* ctrl) {
  kn_state_block* b = kn_state_find_block(x, "delay");
  size_t row = (size_t)x->model->nu * sizeof(double);
  size_t rows = b && row ? b->used / row : 0;
  if (!rows) return;
  double* waiting = (double*)((char*)b->data + (size_t)x->step % rows * row);
  for (int i = 0; i < x->model->nu; i++) {
    double now = waiting[i];
    waiting[i] = ctrl[i];
    ctrl[i] = now;
  }
}
