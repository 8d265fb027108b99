/* FCLIB files: reading the HDF5 groups into plain arrays. Every size and index is checked here; nothing is
   trusted. Traps of the format: in triplets i is the row and p the column; nz >= 0 triplet, -1 compressed
   columns, -2 rows. */
#include "load/fclib/fclib.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"

#ifdef KN_HAVE_HDF5
#include <hdf5.h>

typedef struct reader {
  hid_t file;
  const char* path; /* of the file, for messages */
} reader;

static bool exists(const reader* r, const char* name) {
  char part[128];
  size_t n = strlen(name);
  for (size_t i = 1; i <= n; i++) { /* every link on the way must exist */
    if (name[i] != '/' && name[i] != 0) continue;
    memcpy(part, name, i);
    part[i] = 0;
    if (H5Lexists(r->file, part, H5P_DEFAULT) <= 0) return false;
  }
  return H5Oexists_by_name(r->file, name, H5P_DEFAULT) > 0;
}

/* Whole dataset of a group as int or double; *count entries. */
static kn_status read_array(const reader* r, const char* group, const char* member, hid_t type, void** out,
                            size_t* count) {
  char name[128];
  *out = NULL;
  snprintf(name, sizeof name, "%s/%s", group, member);
  if (!exists(r, name)) return kn_fail(KN_BAD_FILE, "%s: %s is missing", r->path, name);
  hid_t data = H5Dopen2(r->file, name, H5P_DEFAULT);
  if (data < 0) return kn_fail(KN_BAD_FILE, "%s: %s is not a dataset", r->path, name);
  hid_t space = H5Dget_space(data), own = H5Dget_type(data);
  hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  H5T_class_t class = own < 0 ? H5T_NO_CLASS : H5Tget_class(own);
  kn_status status = KN_OK;
  if (n < 0 || n > KN_FCLIB_MOST_ENTRIES || (class != H5T_INTEGER && class != H5T_FLOAT))
    status = kn_fail(KN_BAD_FILE, "%s: %s has a wrong size or type", r->path, name);
  if (status == KN_OK &&
      !(*out = calloc((size_t)n + 1, type == H5T_NATIVE_INT ? sizeof(int) : sizeof(double))))
    status = kn_fail(KN_OUT_OF_MEMORY, "%s: %s of %lld entries", r->path, name, (long long)n);
  if (status == KN_OK && n > 0 && H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out) < 0)
    status = kn_fail(KN_BAD_FILE, "%s: %s cannot be read", r->path, name);
  if (own >= 0) H5Tclose(own);
  if (space >= 0) H5Sclose(space);
  H5Dclose(data);
  *count = n > 0 ? (size_t)n : 0;
  if (status != KN_OK) free(*out), *out = NULL;
  return status;
}

static kn_status read_int(const reader* r, const char* group, const char* name, int* out) {
  int* x;
  size_t n;
  KN_TRY(read_array(r, group, name, H5T_NATIVE_INT, (void**)&x, &n));
  kn_status status =
      n == 1 ? KN_OK : kn_fail(KN_BAD_FILE, "%s: %s/%s has %zu entries, expected 1", r->path, group, name, n);
  *out = n ? x[0] : 0;
  free(x);
  return status;
}

static kn_status read_vector(const reader* r, const char* group, const char* name, double** x,
                             size_t expected) {
  size_t n;
  KN_TRY(read_array(r, group, name, H5T_NATIVE_DOUBLE, (void**)x, &n));
  if (n == expected || expected == SIZE_MAX) return KN_OK;
  return kn_fail(KN_BAD_FILE, "%s: %s/%s has %zu entries, expected %zu", r->path, group, name, n, expected);
}

typedef struct storage {
  int nz, *p, *i;
  size_t np, ni, nx;
} storage;

static kn_status expand_compressed(kn_entries* e, const storage* s, const reader* r, const char* group) {
  int major = s->nz == -1 ? e->n : e->m;
  if (s->np != (size_t)major + 1 || s->p[0] != 0)
    return kn_fail(KN_BAD_FILE, "%s: %s/p has %zu entries, expected %d starting at 0", r->path, group, s->np,
                   major + 1);
  for (int k = 0; k < major; k++)
    if (s->p[k + 1] < s->p[k]) return kn_fail(KN_BAD_FILE, "%s: %s/p falls at %d", r->path, group, k);
  e->count = (size_t)s->p[major];
  if (e->count > s->ni || e->count > s->nx)
    return kn_fail(KN_BAD_FILE, "%s: %s/p asks for %zu entries, stored %zu", r->path, group, e->count, s->ni);
  e->row = malloc((e->count + 1) * sizeof(int));
  e->col = malloc((e->count + 1) * sizeof(int));
  if (!e->row || !e->col) return kn_fail(KN_OUT_OF_MEMORY, "%s: %s", r->path, group);
  for (int k = 0; k < major; k++)
    for (int j = s->p[k]; j < s->p[k + 1]; j++)
      e->row[j] = s->nz == -1 ? s->i[j] : k, e->col[j] = s->nz == -1 ? k : s->i[j];
  return KN_OK;
}

static kn_status check_entries(const kn_entries* e, const reader* r, const char* group) {
  for (size_t k = 0; k < e->count; k++)
    if (e->row[k] < 0 || e->row[k] >= e->m || e->col[k] < 0 || e->col[k] >= e->n)
      return kn_fail(KN_BAD_FILE, "%s: %s entry %zu at (%d,%d) of %d x %d", r->path, group, k, e->row[k],
                     e->col[k], e->m, e->n);
  return KN_OK;
}

static kn_status expand(kn_entries* e, storage* s, const reader* r, const char* group) {
  if (s->nz == -1 || s->nz == -2) return expand_compressed(e, s, r, group);
  e->count = (size_t)s->nz;
  if (s->nz < 0 || e->count > s->ni || e->count > s->np || e->count > s->nx)
    return kn_fail(KN_BAD_FILE, "%s: %s/nz is %d with %zu entries stored", r->path, group, s->nz, s->nx);
  e->row = s->i, e->col = s->p;
  s->i = s->p = NULL;
  return KN_OK;
}

static kn_status read_matrix(const reader* r, const char* group, kn_entries* e) {
  storage s = {0};
  KN_TRY(read_int(r, group, "m", &e->m));
  KN_TRY(read_int(r, group, "n", &e->n));
  KN_TRY(read_int(r, group, "nz", &s.nz));
  if (e->m < 0 || e->n < 0 || e->m > KN_FCLIB_MOST_ROWS || e->n > KN_FCLIB_MOST_ROWS)
    return kn_fail(KN_BAD_FILE, "%s: %s is %d x %d", r->path, group, e->m, e->n);
  kn_status status = read_array(r, group, "p", H5T_NATIVE_INT, (void**)&s.p, &s.np);
  if (status == KN_OK) status = read_array(r, group, "i", H5T_NATIVE_INT, (void**)&s.i, &s.ni);
  if (status == KN_OK) status = read_array(r, group, "x", H5T_NATIVE_DOUBLE, (void**)&e->x, &s.nx);
  if (status == KN_OK) status = expand(e, &s, r, group);
  free(s.p);
  free(s.i);
  return status == KN_OK ? check_entries(e, r, group) : status;
}

static kn_status expect(const reader* r, const char* group, const kn_entries* e, size_t m, size_t n) {
  if ((size_t)e->m == m && (size_t)e->n == n) return KN_OK;
  return kn_fail(KN_BAD_FILE, "%s: %s is %d x %d, expected %zu x %zu", r->path, group, e->m, e->n, m, n);
}

static kn_status read_contacts(const reader* r, kn_fclib_raw* raw, const char* vectors) {
  size_t n;
  KN_TRY(read_array(r, vectors, "mu", H5T_NATIVE_DOUBLE, (void**)&raw->mu, &n));
  raw->contacts = n;
  if (raw->dimension != 2 && raw->dimension != 3)
    return kn_fail(KN_BAD_FILE, "%s: spacedim is %d, expected 2 or 3", r->path, raw->dimension);
  if (raw->rows != n * (size_t)raw->dimension)
    return kn_fail(KN_BAD_FILE, "%s: %zu rows for %zu contacts of dimension %d", r->path, raw->rows, n,
                   raw->dimension);
  return KN_OK;
}

static kn_status read_local(const reader* r, kn_fclib_raw* raw) {
  KN_TRY(read_int(r, "/fclib_local", "spacedim", &raw->dimension));
  KN_TRY(read_matrix(r, "/fclib_local/W", &raw->W));
  raw->rows = (size_t)raw->W.m;
  KN_TRY(expect(r, "/fclib_local/W", &raw->W, raw->rows, raw->rows));
  KN_TRY(read_contacts(r, raw, "/fclib_local/vectors"));
  KN_TRY(read_vector(r, "/fclib_local/vectors", "q", &raw->q, raw->rows));
  if (!exists(r, "/fclib_local/R")) return KN_OK;
  KN_TRY(read_matrix(r, "/fclib_local/R", &raw->R));
  KN_TRY(read_matrix(r, "/fclib_local/V", &raw->V));
  raw->equalities = (size_t)raw->R.m;
  KN_TRY(expect(r, "/fclib_local/R", &raw->R, raw->equalities, raw->equalities));
  KN_TRY(expect(r, "/fclib_local/V", &raw->V, raw->rows, raw->equalities));
  return read_vector(r, "/fclib_local/vectors", "s", &raw->s, raw->equalities);
}

static kn_status read_global(const reader* r, kn_fclib_raw* raw) {
  raw->global = true;
  KN_TRY(read_int(r, "/fclib_global", "spacedim", &raw->dimension));
  KN_TRY(read_matrix(r, "/fclib_global/M", &raw->R));
  KN_TRY(read_matrix(r, "/fclib_global/H", &raw->W));
  raw->dofs = (size_t)raw->R.m, raw->rows = (size_t)raw->W.n;
  KN_TRY(expect(r, "/fclib_global/M", &raw->R, raw->dofs, raw->dofs));
  KN_TRY(expect(r, "/fclib_global/H", &raw->W, raw->dofs, raw->rows));
  KN_TRY(read_contacts(r, raw, "/fclib_global/vectors"));
  KN_TRY(read_vector(r, "/fclib_global/vectors", "f", &raw->f, raw->dofs));
  KN_TRY(read_vector(r, "/fclib_global/vectors", "w", &raw->q, raw->rows));
  if (!exists(r, "/fclib_global/G")) return KN_OK;
  KN_TRY(read_matrix(r, "/fclib_global/G", &raw->V));
  raw->equalities = (size_t)raw->V.n;
  KN_TRY(expect(r, "/fclib_global/G", &raw->V, raw->dofs, raw->equalities));
  return read_vector(r, "/fclib_global/vectors", "b", &raw->s, raw->equalities);
}

static void read_title(const reader* r, kn_fclib_raw* raw) {
  const char* name = raw->global ? "/fclib_global/info/title" : "/fclib_local/info/title";
  if (!exists(r, name)) return;
  hid_t data = H5Dopen2(r->file, name, H5P_DEFAULT), type = data < 0 ? -1 : H5Dget_type(data);
  char text[4096] = {0};
  if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) <= 0 &&
      H5Tget_size(type) < sizeof text)
    if (H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0)
      snprintf(raw->title, sizeof raw->title, "%.127s", text);
  if (type >= 0) H5Tclose(type);
  if (data >= 0) H5Dclose(data);
}

static kn_status read_raw(kn_fclib_raw* raw, const char* path) {
  *raw = (kn_fclib_raw){0};
  KN_TRY(kn_input_check(path));
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  reader r = {H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), path};
  if (r.file < 0) return kn_fail(KN_BAD_FILE, "%s: cannot be opened as HDF5", path);
  kn_status status;
  if (exists(&r, "/fclib_local"))
    status = read_local(&r, raw);
  else if (exists(&r, "/fclib_global"))
    status = read_global(&r, raw);
  else if (exists(&r, "/fclib_local_rolling") || exists(&r, "/fclib_global_rolling"))
    status = kn_fail(KN_UNSUPPORTED, "%s: rolling friction (dimension 5) is not supported", path);
  else
    status = kn_fail(KN_BAD_FILE, "%s: neither fclib_local nor fclib_global is there", path);
  if (status == KN_OK) read_title(&r, raw);
  if (status == KN_BAD_FILE && raw->dimension == 5)
    status = kn_fail(KN_UNSUPPORTED, "%s: rolling friction (dimension 5) is not supported", path);
  H5Fclose(r.file);
  return status;
}

#else

static kn_status read_raw(kn_fclib_raw* raw, const char* path) {
  *raw = (kn_fclib_raw){0};
  return kn_fail(KN_UNSUPPORTED, "%s: built without HDF5 (KN_HDF5)", path);
}

#endif

static void free_entries(kn_entries* e) {
  free(e->row);
  free(e->col);
  free(e->x);
}

static void free_raw(kn_fclib_raw* raw) {
  free_entries(&raw->W);
  free_entries(&raw->V);
  free_entries(&raw->R);
  free(raw->mu);
  free(raw->q);
  free(raw->s);
  free(raw->f);
}

void kn_fclib_free(kn_fclib* fclib) {
  if (!fclib) return;
  free(fclib->memory);
  *fclib = (kn_fclib){0};
}

kn_status kn_fclib_read_trusted(kn_fclib* out, const char* path) {
  KN_REQUIRE(out != NULL && path != NULL);
  *out = (kn_fclib){0};
  kn_fclib_raw raw;
  kn_status status = read_raw(&raw, path);
  if (status == KN_OK) status = kn_fclib_build(out, &raw, path);
  free_raw(&raw);
  if (status != KN_OK) kn_fclib_free(out);
  return status;
}
