/* Tables of numbers as files of HDF5, for whoever reads them with h5py, pandas, MATLAB or Julia. */
#ifndef KNUCKLE_HDF5_H
#define KNUCKLE_HDF5_H

#include "knuckle/status.h"

KN_BEGIN_DECLS

/* A column of numbers with its name. */
typedef struct kn_column {
  const char *name, *unit; /* unit: attribute "unit" of the data set; "" or NULL: none */
  const double* x;         /* one number a row */
} kn_column;

/* One data set of doubles for each column, in this order; '/' in a name becomes '|', and what is called like a column before it
   gets another '|'. Equal rows give equal bytes: no clock is in the file. `path` is the file itself, not one beside it: after a
   failure it is not whole. The HDF5 library runs in a child with limits on time, memory and system calls; its death (it
   crashes where a disk is full) is KN_IO. KN_UNSUPPORTED: built without HDF5. */
KN_API kn_status kn_hdf5_write(const char* path, const kn_column* column, int columns, long rows);

KN_END_DECLS

#endif
