/* sincos_block.h once more, for half as many angles: eight at a time are two operations of four each on some
   machines, and wasted on a few. */
#define kn_sc_vec     kn_sc_half
#define kn_sc_ivec    kn_sc_ihalf
#define kn_sincos_vec kn_sincos_half
#define kn_sincos_two kn_sincos_half_two
#pragma push_macro("KN_W")
#undef KN_W
#define KN_W 4
#include "math/sincos_block.h"
#pragma pop_macro("KN_W")
#undef kn_sc_vec
#undef kn_sc_ivec
#undef kn_sincos_vec
#undef kn_sincos_two
