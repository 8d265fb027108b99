/* Writing a kn_problem as an FCLIB local problem: W (and V, R for equality rows) as triplets. */
#ifdef KN_HAVE_HDF5
#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "load/fclib/fclib.h"

static bool put(hid_t at, const char* name, hid_t type, hsize_t n, const void* data) {
  hid_t space = H5Screate_simple(1, &n, NULL);
  hid_t set = space < 0 ? -1 : H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = set >= 0 && (n == 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  if (set >= 0) H5Dclose(set);
  if (space >= 0) H5Sclose(space);
  return ok;
}

static bool put_text(hid_t at, const char* name, const char* text) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  bool ok = H5Tset_size(type, strlen(text) + 1) >= 0;
  hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  ok = ok && set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0;
  if (set >= 0) H5Dclose(set);
  H5Sclose(space);
  H5Tclose(type);
  return ok;
}

static bool put_matrix(hid_t at, const char* name, const kn_entries* e) {
  hid_t g = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int nz = (int)e->count;
  bool ok = g >= 0 && put(g, "nzmax", H5T_NATIVE_INT, 1, &nz) && put(g, "m", H5T_NATIVE_INT, 1, &e->m) &&
            put(g, "n", H5T_NATIVE_INT, 1, &e->n) && put(g, "nz", H5T_NATIVE_INT, 1, &nz) &&
            put(g, "p", H5T_NATIVE_INT, e->count, e->col) && put(g, "i", H5T_NATIVE_INT, e->count, e->row) &&
            put(g, "x", H5T_NATIVE_DOUBLE, e->count, e->x);
  if (g >= 0) H5Gclose(g);
  return ok;
}

/* Rows [r0, r1) and columns [c0, c1) of W. First call counts (row NULL), second fills. */
static void extract(kn_entries* e, const kn_problem* p, int r0, int r1, int c0, int c1) {
  e->m = r1 - r0, e->n = c1 - c0, e->count = 0;
  for (int b = 0; b < p->blocks; b++) {
    int row = p->block[b].row, rows = kn_set_rows(p->block[b].set),
        many = p->W ? p->blocks : p->sparse->start[b + 1];
    for (int k = p->W ? 0 : p->sparse->start[b]; k < many; k++) {
      const kn_block* c = &p->block[p->W ? k : p->sparse->col[k]];
      int cols = kn_set_rows(c->set);
      if (row < r0 || row >= r1 || c->row < c0 || c->row >= c1) continue;
      for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
          double x = p->W ? p->W[(size_t)(row + i) * (size_t)p->rows + (size_t)(c->row + j)]
                          : p->sparse->value[p->sparse->at[k] + i * cols + j];
          if (x == 0.0) continue;
          if (e->row) e->row[e->count] = row + i - r0, e->col[e->count] = c->row + j - c0, e->x[e->count] = x;
          e->count++;
        }
    }
  }
}

static bool write_part(hid_t at, const char* name, const kn_problem* p, int r0, int r1, int c0, int c1) {
  kn_entries e = {0};
  extract(&e, p, r0, r1, c0, c1);
  e.row = malloc((e.count + 1) * sizeof(int));
  e.col = malloc((e.count + 1) * sizeof(int));
  e.x = malloc((e.count + 1) * sizeof(double));
  bool ok = e.row && e.col && e.x;
  if (ok) extract(&e, p, r0, r1, c0, c1);
  ok = ok && put_matrix(at, name, &e);
  free(e.row);
  free(e.col);
  free(e.x);
  return ok;
}

static bool write_vectors(hid_t at, const kn_problem* p, int contacts, int rows) {
  double* mu = malloc(((size_t)contacts + 1) * sizeof *mu);
  if (!mu) return false;
  for (int b = 0; b < contacts; b++) mu[b] = p->block[b].mu;
  hid_t g = H5Gcreate2(at, "vectors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = g >= 0 && put(g, "mu", H5T_NATIVE_DOUBLE, (hsize_t)contacts, mu) &&
            put(g, "q", H5T_NATIVE_DOUBLE, (hsize_t)rows, p->q);
  if (ok && p->rows > rows) ok = put(g, "s", H5T_NATIVE_DOUBLE, (hsize_t)(p->rows - rows), p->q + rows);
  if (g >= 0) H5Gclose(g);
  free(mu);
  return ok;
}

static bool write_solution(hid_t file, const kn_problem* p, const double* r, int rows) {
  double* u = malloc(((size_t)p->rows + 1) * sizeof *u);
  if (!u) return false;
  kn_problem_velocity(u, p, r);
  hid_t g = H5Gcreate2(file, "solution", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = g >= 0 && put(g, "u", H5T_NATIVE_DOUBLE, (hsize_t)rows, u) &&
            put(g, "r", H5T_NATIVE_DOUBLE, (hsize_t)rows, r);
  if (ok && p->rows > rows) ok = put(g, "l", H5T_NATIVE_DOUBLE, (hsize_t)(p->rows - rows), r + rows);
  if (g >= 0) H5Gclose(g);
  free(u);
  return ok;
}

/* Number of leading cones, all of one dimension; -1 when the format cannot say the problem. */
static int leading_cones(const kn_problem* p) {
  int contacts = 0;
  while (contacts < p->blocks && p->block[contacts].set == p->block[0].set && p->block[0].set >= KN_SET_CONE2)
    contacts++;
  for (int b = contacts; b < p->blocks; b++)
    if (p->block[b].set != KN_SET_FREE) return -1;
  return contacts;
}

static bool write_local(hid_t file, const kn_problem* p, int contacts, const char* title) {
  int dim = kn_set_rows(p->block[0].set), rows = contacts * dim;
  hid_t g = H5Gcreate2(file, "fclib_local", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (g < 0) return false;
  bool ok = put(g, "spacedim", H5T_NATIVE_INT, 1, &dim) && write_part(g, "W", p, 0, rows, 0, rows) &&
            write_vectors(g, p, contacts, rows);
  if (ok && p->rows > rows)
    ok = write_part(g, "V", p, 0, rows, rows, p->rows) && write_part(g, "R", p, rows, p->rows, rows, p->rows);
  if (ok && title) {
    hid_t info = H5Gcreate2(g, "info", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ok = info >= 0 && put_text(info, "title", title) && put_text(info, "description", "") &&
         put_text(info, "math_info", "");
    if (info >= 0) H5Gclose(info);
  }
  H5Gclose(g);
  return ok;
}

typedef struct request {
  const char *path, *title;
  const kn_problem* p;
  const double* r;
  int contacts;
} request;

static kn_status write_in_child(int pipe, void* context) {
  const request* x = context;
  (void)pipe;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fcreate(x->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) return kn_fail(KN_IO, "%s: cannot be created", x->path);
  bool ok = write_local(file, x->p, x->contacts, x->title);
  if (ok && x->r) ok = write_solution(file, x->p, x->r, x->contacts * kn_set_rows(x->p->block[0].set));
  ok = H5Fclose(file) >= 0 && ok;
  return ok ? KN_OK : kn_fail(KN_IO, "%s: writing failed", x->path);
}

/* The HDF5 library may crash where a disk is full: it writes beside the file, in a child, and a whole file takes the
   name at the end. */
kn_status kn_fclib_write(const char* path, const kn_problem* p, const char* title, const double* r) {
  KN_REQUIRE(path != NULL);
  KN_TRY(kn_problem_check(p));
  int contacts = leading_cones(p);
  if (contacts <= 0)
    return kn_fail(KN_UNSUPPORTED,
                   "FCLIB holds cones of one dimension followed by equality rows, nothing else");
  static const kn_child_limits limits = {.seconds = 600.0, .may_write = true};
  char part[4096], what[300];
  int n = snprintf(part, sizeof part, "%s.part-%ld", path, (long)getpid());
  if (n < 0 || (size_t)n >= sizeof part) return kn_fail(KN_IO, "%.200s…: the path is too long", path);
  snprintf(what, sizeof what, "%.200s: the HDF5 library", path);
  request x = {part, title, p, r, contacts};
  kn_status status = kn_child_run(write_in_child, NULL, &x, &limits, what);
  if (status == KN_OK && rename(part, path) != 0)
    status = kn_fail(KN_IO, "%s: cannot be written: %s", path, strerror(errno));
  if (status != KN_OK) unlink(part);
  return status;
}

#else

#include "base/error.h"
#include "load/fclib/fclib.h"

kn_status kn_fclib_write(const char* path, const kn_problem* problem, const char* title, const double* r) {
  KN_REQUIRE(path != NULL && problem != NULL);
  (void)title, (void)r;
  return kn_fail(KN_UNSUPPORTED, "%s: built without HDF5 (KN_HDF5)", path);
}

#endif
