#include "step/compliant.h"
kn_status kn_judge_create(struct kn_judge** judge, const kn_sim* sim) {
  (void)sim;
  *judge = NULL;
  return KN_OK;
}
void kn_judge_destroy(struct kn_judge* judge) { (void)judge; }
kn_status kn_hybrid_decide(kn_sim* s, kn_state* x, double dt) {
  (void)x;
  (void)dt;
  for (int i = 0; i < s->islands; i++) s->soft->soft[i] = false;
  return KN_OK;
}
kn_status kn_hybrid_return(kn_sim* s, kn_state* x) {
  (void)s;
  (void)x;
  return KN_OK;
}
