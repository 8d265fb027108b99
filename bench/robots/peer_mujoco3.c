/* The last MuJoCo 3, beside 4.0.0 whose sparse factor is wrong: the faster of the two counts. */
#define NAME "mujoco3"
#include "peer_mujoco.c"
