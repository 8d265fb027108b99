/* The dynamics of trees for one instruction set: the kernels below, and their table. */
#include "base/isa.h"

#include "dynamics/kinematics_kernel.h"

#include "dynamics/aba_kernel.h"
#include "dynamics/energy_kernel.h"
#include "dynamics/forward_kernel.h"
#include "dynamics/rows_kernel.h"

#include "dynamics/links_kernel.h"
#include "dynamics/planar_kernel.h"

#include "dynamics/kernel_table.h"
