/* Columns of numbers as a file of HDF5, for export and sweep. libhdf5 crashes where a disk is full: it writes in a child with
   limits on its time and memory, whose death is a failure like any other. */
#include "export.h"

#ifdef KN_HAVE_HDF5
#include <errno.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/file.h"

enum { SECONDS = 3600, MEGABYTES = 2048 };

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

/* A name for the file: '/' would mean a group, so it becomes '|', and what is there already gets another '|'. NULL: no memory. */
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
  if (ok && c->unit[0]) ok = put_unit(set, c->unit);
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  free(name);
  return ok;
}

static bool put_all(const char* path, const kn_column* column, int columns, long rows) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), how = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(how, 0); /* no clock in the file: equal rows, equal bytes */
  bool ok = file >= 0;
  for (int i = 0; i < columns && ok; i++) ok = put_column(file, how, &column[i], (hsize_t)rows);
  H5Pclose(how);
  return file >= 0 && H5Fclose(file) >= 0 && ok;
}

/* What the process has mapped already does not count against the limit. */
static rlim_t mapped(void) {
  unsigned long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f && fscanf(f, "%lu", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages ? (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) : (rlim_t)64 << 30;
}

static void limit(int what, rlim_t most) { setrlimit(what, &(struct rlimit){most, most}); }

static bool in_child(const char* path, const kn_column* column, int columns, long rows) {
  int how = 0;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, SECONDS);
    limit(RLIMIT_AS, mapped() + ((rlim_t)MEGABYTES << 20));
    _exit(put_all(path, column, columns, rows) ? 0 : 1);
  }
  while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR) {}
  if (pid > 0 && !WIFEXITED(how)) errno = ENOSPC; /* the only known cause */
  return pid > 0 && WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

kn_exit kn_out_hdf5(const kn_args* args, const char* path, const kn_column* column, int columns, long rows) {
  kn_file file;
  kn_exit code = kn_out_reserve(&file, args, path, NULL);
  if (code != KN_EXIT_OK) return code;
  errno = 0;
  return kn_out_commit(&file, args, in_child(file.part, column, columns, rows) ? KN_OK : KN_IO, NULL);
}
#else
kn_exit kn_out_hdf5(const kn_args* args, const char* path, const kn_column* column, int columns, long rows) {
  (void)column, (void)columns, (void)rows;
  return kn_complain(args, KN_EXIT_USAGE, "%s: built without HDF5 (KN_HDF5), expected .csv or .json", path);
}
#endif
