#if defined(__x86_64__)
#define KN_W       8
#define KN_NAME(f) f##_avx512
#include "dynamics/kinematics_kernel.h"

#include "dynamics/aba_kernel.h"
#include "dynamics/energy_kernel.h"
#include "dynamics/forward_kernel.h"
#include "dynamics/rows_kernel.h"

#include "dynamics/links_kernel.h"
#include "dynamics/planar_kernel.h"

#include "dynamics/kernel_table.h"
#endif
typedef int kn_dynamics_avx512_not_empty;
