/* What the files of knuckle export share. */
#ifndef KN_CLI_EXPORT_H
#define KN_CLI_EXPORT_H

#include "knuckle/hdf5.h"
#include "loads.h"

#ifdef KN_HAVE_HDF5
enum { KN_OUT_HDF5 = 1 };
#else
enum { KN_OUT_HDF5 = 0 };
#endif
/* hdf5.c: the file at `path`, whole or not at all. */
kn_exit kn_out_hdf5(const kn_args* args, const char* path, const kn_column* column, int columns, long rows);

/* export_loads.c: the table of --table (contacts, pairs, bodies), row by row. */
kn_status kn_export_loads(FILE* f, bool json, kn_recording* recording, const kn_args* args, long* rows);

#endif
