#define NARROW_MPR 1
#include "peer_ccd_narrow.c"
