/* Rows of loose bodies: private to rows.c, rows_loose.c and its kernels. */
#pragma once

#include "base/isa.h"
#include "dynamics/rows/rows.h"
#include "dynamics/tree/data.h"

/* Y of the halves at a link, 6 dofs x 4 (three rows), one half after the other; scale: sqrt(1/D) of its dofs. */
KN_KERNEL(void, kn_loose_push,
          (double* Y, double* scale, const kn_data* d, int link, const kn_row_block* block,
           const kn_half* half, int first));
/* e of the link's dofs: Σ Yᵀ λ over its members (block, first row, rows), back in the units of e. */
KN_KERNEL(void, kn_loose_apply,
          (kn_dof_factor * fac, const double* scale, const double* Y, const int32_t* member, int count,
           const double* lambda));

void kn_rows_loose_apply(const kn_rows* rows, kn_data* data, const double* lambda);
