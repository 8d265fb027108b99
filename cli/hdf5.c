/* Columns of numbers as a file of HDF5, for export and sweep: whole or not at all. */
#include "export.h"
#include "output/file.h"

kn_exit kn_out_hdf5(const kn_args* args, const char* path, const kn_column* column, int columns, long rows) {
  kn_file file;
  if (!KN_OUT_HDF5)
    return kn_complain(args, KN_EXIT_USAGE, "%s: built without HDF5 (KN_HDF5), expected .csv or .json", path);
  kn_exit code = kn_out_reserve(&file, args, path, NULL);
  if (code != KN_EXIT_OK) return code;
  kn_status status = kn_hdf5_write(file.part, column, columns, rows);
  if (status == KN_OK) return kn_out_commit(&file, args, status, NULL);
  kn_file_commit(&file, false);
  return kn_complain(args, KN_EXIT_WRITE, "%s cannot be written: %s", path, kn_last_error());
}
