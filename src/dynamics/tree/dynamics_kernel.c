/* The dynamics of trees for one instruction set: the kernels below, and their table. */
#include "base/isa.h"

#include "dynamics/tree/kinematics_kernel.h"

#include "dynamics/rows/rows_kernel.h"
#include "dynamics/tree/aba_kernel.h"
#include "dynamics/tree/energy_kernel.h"
#include "dynamics/tree/forward_kernel.h"

#include "dynamics/planar/planar_kernel.h"
#include "dynamics/tree/links_kernel.h"

#include "dynamics/tree/kernel_table.h"
