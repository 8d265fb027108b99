/* Columns of numbers as a file of HDF5. libhdf5 crashes where a disk is full, so it writes in a child. */
#include "base/error.h"
#include "knuckle/hdf5.h"

#ifdef KN_HAVE_HDF5
#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"

enum { SECONDS = 3600, MEGABYTES = 2048 };

typedef struct table {
  const char* path;
  const kn_column* column;
  int columns;
  hsize_t rows;
} table;

static bool put_unit(hid_t set, const char* unit) {
  hid_t text = H5Tcopy(H5T_C_S1), one = H5Screate(H5S_SCALAR);
  H5Tset_size(text, strlen(unit));
  hid_t at = H5Acreate2(set, "unit", text, one, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = at >= 0 && H5Awrite(at, text, unit) >= 0;
  if (at >= 0) H5Aclose(at);
  H5Sclose(one);
  H5Tclose(text);
  return ok;
}

/* A name for the file: '/' would mean a group. NULL: no memory. */
static char* free_name(hid_t file, const char* name) {
  size_t n = strlen(name);
  char* own = malloc(n + 64);
  if (!own) return NULL;
  memcpy(own, name, n + 1);
  for (char* c = own; *c; c++)
    if (*c == '/') *c = '|';
  for (size_t i = n; i < n + 62 && H5Lexists(file, own, H5P_DEFAULT) > 0; i++) memcpy(own + i, "|", 2);
  return own;
}

static bool put_column(hid_t file, hid_t how, const kn_column* c, hsize_t rows) {
  char* name = free_name(file, c->name);
  if (!name) return false;
  hid_t space = H5Screate_simple(1, &rows, NULL),
        set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
  bool ok = set >= 0 && H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, c->x) >= 0;
  if (ok && c->unit && c->unit[0]) ok = put_unit(set, c->unit);
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  free(name);
  return ok;
}

static kn_status write_in_child(int pipe, void* context) {
  const table* t = context;
  (void)pipe;
  errno = 0;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fcreate(t->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
        how = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(how, 0);
  bool ok = file >= 0;
  for (int i = 0; i < t->columns && ok; i++) ok = put_column(file, how, &t->column[i], t->rows);
  H5Pclose(how);
  ok = file >= 0 && H5Fclose(file) >= 0 && ok;
  return ok ? KN_OK : kn_fail(KN_IO, "%s: %s", t->path, errno ? strerror(errno) : "the HDF5 library failed");
}

kn_status kn_hdf5_write(const char* path, const kn_column* column, int columns, long rows) {
  KN_REQUIRE(path && columns >= 0 && rows >= 0 && (column || !columns));
  for (int i = 0; i < columns; i++) KN_REQUIRE(column[i].name && (column[i].x || !rows));
  static const kn_child_limits limits = {.seconds = SECONDS, .megabytes = MEGABYTES, .may_write = true};
  char what[300];
  snprintf(what, sizeof what, "%.200s: the HDF5 library", path);
  table t = {path, column, columns, (hsize_t)rows};
  return kn_child_run(write_in_child, NULL, &t, &limits, what);
}

#else

kn_status kn_hdf5_write(const char* path, const kn_column* column, int columns, long rows) {
  KN_REQUIRE(path && columns >= 0 && rows >= 0 && (column || !columns));
  return kn_fail(KN_UNSUPPORTED, "%s: built without HDF5 (KN_HDF5)", path);
}

#endif
