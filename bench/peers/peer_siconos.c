/* Siconos' friction solvers on problems of our steps: the same module as in the bench of the solvers. */
#include "bench/solvers/peer_siconos_cone.c"
