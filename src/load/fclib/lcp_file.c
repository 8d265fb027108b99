/* Readers of LCP files. The JSON format:

     {"title": "two boxes", "n": 2, "M": [[2, 1], [1, 2]], "q": [-5, -6], "lo": [0, null], "hi": [null, 3]}

   or bodies at rest without friction (kn_frictionless):

     {"M": [[1, 0], [0, 1]], "J": [[0, 1]], "Q": [0, -9.81]}

   n may be left out; M is a list of rows or one list of n n numbers; lo and hi may be left out (0 and no
   bound) and null in them means no bound on that side. Other keys are skipped. Siconos' .dat: n, storage (0
   dense, 1 blocks), then as its writer puts them; dense values and the values inside a block are
   column-major, block sizes are cumulative; text after q is ignored. */
#include "knuckle/lcp_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "base/plain.h"
#include "load/fclib/fclib.h"

static kn_status make_room(kn_lcp_file* out, int n, const kn_scan* t) {
  if (n < 0 || n > KN_LCP_FILE_ROWS) return kn_scan_fail(t, "%d rows, expected 0 … %d", n, KN_LCP_FILE_ROWS);
  size_t size = (size_t)n;
  double* memory = calloc(size * size + 3 * size + 1, sizeof(double));
  if (!memory) return kn_fail(KN_OUT_OF_MEMORY, "%s: %d rows do not fit into memory", t->name, n);
  out->memory = memory;
  out->lcp = (kn_lcp){n, memory, memory + size * size, NULL, NULL};
  return KN_OK;
}

/* The arrays belong to this file; kn_lcp shows them read-only. */
static double* matrix(kn_lcp_file* f) { return f->memory; }
static double* vector(kn_lcp_file* f, int k) {
  size_t n = (size_t)f->lcp.n;
  return (double*)f->memory + n * n + (size_t)k * n;
}

/* ---- .lcp ---- */

static kn_status parse_binary(kn_lcp_file* out, const kn_scan* t) {
  size_t size = (size_t)(t->end - t->at);
  int32_t n;
  if (size < 4)
    return kn_fail(KN_BAD_FILE, "%s: byte %zu: file ends before the number of rows", t->name, size);
  memcpy(&n, t->at, 4);
  if (n < 0 || n > KN_LCP_FILE_ROWS)
    return kn_fail(KN_BAD_FILE, "%s: byte 0: %d rows, expected 0 … %d", t->name, n, KN_LCP_FILE_ROWS);
  size_t rows = (size_t)n, expected = 4 + 8 * (rows * rows + rows);
  if (size != expected)
    return kn_fail(KN_BAD_FILE, "%s: byte %zu: file has %zu bytes, %d rows need %zu", t->name,
                   size < expected ? size : expected, size, n, expected);
  KN_TRY(make_room(out, n, t));
  memcpy(matrix(out), t->at + 4, 8 * rows * rows);
  memcpy(vector(out, 0), t->at + 4 + 8 * rows * rows, 8 * rows);
  for (size_t k = 0; k < rows * rows + rows; k++)
    if (!isfinite(matrix(out)[k]))
      return kn_fail(KN_BAD_FILE, "%s: byte %zu: entry %zu is not a finite number", t->name, 4 + 8 * k, k);
  return KN_OK;
}

/* ---- .dat ---- */

static kn_status dat_int(int* out, kn_scan* t, int least, int most, const char* what) {
  double v;
  kn_scan_blanks(t);
  kn_scan start = *t;
  KN_TRY(kn_scan_number(&v, t, what));
  if (v != floor(v) || v < least || v > most)
    return kn_scan_fail(&start, "%s is %g, expected a whole number from %d to %d", what, v, least, most);
  *out = (int)v;
  return KN_OK;
}

static kn_status dat_dense(kn_lcp_file* out, kn_scan* t, int n) {
  int again;
  for (int k = 0; k < 2; k++) KN_TRY(dat_int(&again, t, n, n, "size of the matrix"));
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      KN_TRY(kn_scan_number(&matrix(out)[(size_t)i * (size_t)n + (size_t)j], t, "an entry of M"));
  return KN_OK;
}

typedef struct block_index {
  int *rows, *cols, *start, *column; /* cumulative sizes; block rows; block columns */
  int nr, nc, starts, count;
} block_index;

static kn_status dat_index(block_index* b, kn_scan* t, int n) {
  int total = 0;
  KN_TRY(dat_int(&total, t, 0, n * n, "number of blocks"));
  KN_TRY(dat_int(&b->nr, t, 0, n, "number of block rows"));
  KN_TRY(dat_int(&b->nc, t, 0, n, "number of block columns"));
  b->rows = calloc((size_t)(b->nr + b->nc + 2), sizeof(int));
  if (!b->rows) return kn_fail(KN_OUT_OF_MEMORY, "%s: block index", t->name);
  b->cols = b->rows + b->nr + 1;
  for (int k = 0; k < b->nr; k++) KN_TRY(dat_int(&b->rows[k + 1], t, b->rows[k], n, "end of a block row"));
  for (int k = 0; k < b->nc; k++) KN_TRY(dat_int(&b->cols[k + 1], t, b->cols[k], n, "end of a block column"));
  KN_TRY(dat_int(&b->starts, t, b->nr, b->nr + 1, "number of block row starts"));
  KN_TRY(dat_int(&b->count, t, total, total, "number of stored blocks"));
  b->start = calloc((size_t)(b->nr + 1 + total + 1), sizeof(int));
  if (!b->start) return kn_fail(KN_OUT_OF_MEMORY, "%s: block index", t->name);
  b->column = b->start + b->nr + 1;
  for (int k = 0; k < b->starts; k++)
    KN_TRY(dat_int(&b->start[k], t, k ? b->start[k - 1] : 0, total, "start of a block row"));
  b->start[b->nr] = total;
  for (int k = 0; k < total; k++) KN_TRY(dat_int(&b->column[k], t, 0, b->nc - 1, "block column"));
  return KN_OK;
}

static kn_status dat_block(kn_lcp_file* out, kn_scan* t, const block_index* b, int row, int k) {
  int id, n = out->lcp.n, c = b->column[k];
  KN_TRY(dat_int(&id, t, k, k, "number of the block"));
  for (int j = b->cols[c]; j < b->cols[c + 1]; j++)
    for (int i = b->rows[row]; i < b->rows[row + 1]; i++)
      KN_TRY(kn_scan_number(&matrix(out)[(size_t)i * (size_t)n + (size_t)j], t, "an entry of M"));
  return KN_OK;
}

static kn_status dat_blocks(kn_lcp_file* out, kn_scan* t, int n) {
  block_index b = {0};
  kn_status status = dat_index(&b, t, n);
  for (int row = 0; status == KN_OK && row < b.nr; row++)
    for (int k = b.start[row]; status == KN_OK && k < b.start[row + 1]; k++)
      status = dat_block(out, t, &b, row, k);
  free(b.rows);
  free(b.start);
  return status;
}

static kn_status parse_dat(kn_lcp_file* out, kn_scan* t) {
  int n = 0, storage = 0, again;
  KN_TRY(dat_int(&n, t, 0, KN_LCP_FILE_ROWS, "number of rows"));
  KN_TRY(dat_int(&storage, t, 0, 1, "storage (0 dense, 1 blocks)"));
  for (int k = 0; k < 2; k++) KN_TRY(dat_int(&again, t, n, n, "size of the matrix"));
  KN_TRY(make_room(out, n, t));
  KN_TRY(storage == 0 ? dat_dense(out, t, n) : dat_blocks(out, t, n));
  for (int i = 0; i < n; i++) KN_TRY(kn_scan_number(&vector(out, 0)[i], t, "an entry of q"));
  return KN_OK;
}

/* ---- JSON ---- */

/* Numbers of a list, rows of lists flattened; null becomes nothing (NaN) where allowed. */
typedef struct list {
  double* value;
  size_t count, capacity;
  int rows, width; /* of nested lists; width -1: not nested */
  kn_scan where;
} list;

static kn_status push(list* l, double v, const kn_scan* t) {
  size_t most = (size_t)KN_LCP_FILE_ROWS * KN_LCP_FILE_ROWS;
  if (l->count == l->capacity) {
    size_t more = l->capacity ? 2 * l->capacity : 64;
    double* grown = more <= 2 * most ? realloc(l->value, more * sizeof *grown) : NULL;
    if (!grown) return kn_scan_fail(t, "too many numbers");
    l->value = grown;
    l->capacity = more;
  }
  l->value[l->count++] = v;
  return KN_OK;
}

static kn_status read_list(list* l, kn_scan* t, const char* what, bool nulls, int depth) {
  kn_scan_blanks(t);
  if (depth == 0) l->where = *t, l->width = -1;
  KN_TRY(kn_scan_expect(t, '['));
  size_t before = l->count;
  for (bool first = true; !kn_scan_skip(t, ']'); first = false) {
    if (!first) KN_TRY(kn_scan_expect(t, ','));
    kn_scan_blanks(t);
    if (t->at < t->end && *t->at == '[') {
      if (depth > 0 || nulls) return kn_scan_fail(t, "%s: a list too deep", what);
      KN_TRY(read_list(l, t, what, nulls, depth + 1));
      l->rows++;
    } else if (nulls && kn_scan_word(t, "null"))
      KN_TRY(push(l, NAN, t));
    else {
      double v;
      if (depth == 0 && l->rows > 0) return kn_scan_fail(t, "%s: expected a row, a list of numbers", what);
      KN_TRY(kn_scan_number(&v, t, what));
      KN_TRY(push(l, v, t));
    }
  }
  int width = (int)(l->count - before);
  if (depth == 0) return KN_OK;
  if (l->width >= 0 && l->width != width)
    return kn_scan_fail(t, "%s: row %d has %d numbers, the first has %d", what, l->rows, width, l->width);
  l->width = width;
  return KN_OK;
}

typedef struct members {
  list M, q, lo, hi, J, Q;
  int n;
} members;

static kn_status read_member(members* m, kn_lcp_file* out, kn_scan* t, const char* key) {
  if (strcmp(key, "M") == 0 && !m->M.value) return read_list(&m->M, t, "M", false, 0);
  if (strcmp(key, "q") == 0 && !m->q.value) return read_list(&m->q, t, "q", false, 0);
  if (strcmp(key, "J") == 0 && !m->J.value) return read_list(&m->J, t, "J", false, 0);
  if (strcmp(key, "Q") == 0 && !m->Q.value) return read_list(&m->Q, t, "Q", false, 0);
  if (strcmp(key, "lo") == 0 && !m->lo.value) return read_list(&m->lo, t, "lo", true, 0);
  if (strcmp(key, "hi") == 0 && !m->hi.value) return read_list(&m->hi, t, "hi", true, 0);
  if (strcmp(key, "title") == 0) return kn_scan_string(out->title, sizeof out->title, t);
  if (strcmp(key, "n") == 0) return dat_int(&m->n, t, 0, KN_LCP_FILE_ROWS, "n");
  return kn_scan_value(t, 0);
}

static kn_status read_members(members* m, kn_lcp_file* out, kn_scan* t) {
  KN_TRY(kn_scan_expect(t, '{'));
  for (bool first = true; !kn_scan_skip(t, '}'); first = false) {
    char key[32];
    if (!first) KN_TRY(kn_scan_expect(t, ','));
    KN_TRY(kn_scan_string(key, sizeof key, t));
    KN_TRY(kn_scan_expect(t, ':'));
    kn_scan_blanks(t);
    KN_TRY(read_member(m, out, t, key));
  }
  kn_scan_blanks(t);
  return t->at == t->end ? KN_OK : kn_scan_fail(t, "text after the problem");
}

static kn_status check_counts(const members* m, int n) {
  size_t size = (size_t)n;
  if (m->M.width >= 0 && (m->M.rows != n || m->M.width != n))
    return kn_scan_fail(&m->M.where, "M has %d rows of %d numbers, expected %d x %d", m->M.rows, m->M.width,
                        n, n);
  if (m->M.count != size * size)
    return kn_scan_fail(&m->M.where, "M has %zu numbers, expected %d x %d", m->M.count, n, n);
  if (m->q.count != size) return kn_scan_fail(&m->q.where, "q has %zu numbers, expected %d", m->q.count, n);
  if (m->lo.where.at && m->lo.count != size)
    return kn_scan_fail(&m->lo.where, "lo has %zu numbers, expected %d", m->lo.count, n);
  if (m->hi.where.at && m->hi.count != size)
    return kn_scan_fail(&m->hi.where, "hi has %zu numbers, expected %d", m->hi.count, n);
  return KN_OK;
}

static kn_status store(kn_lcp_file* out, const members* m, const kn_scan* t, int n) {
  KN_TRY(make_room(out, n, t));
  if (n == 0) return KN_OK;
  memcpy(matrix(out), m->M.value, m->M.count * sizeof(double));
  memcpy(vector(out, 0), m->q.value, m->q.count * sizeof(double));
  double *lo = vector(out, 1), *hi = vector(out, 2);
  for (int i = 0; i < n; i++) {
    lo[i] = !m->lo.where.at ? 0.0 : isnan(m->lo.value[i]) ? -INFINITY : m->lo.value[i];
    hi[i] = !m->hi.where.at || isnan(m->hi.value[i]) ? INFINITY : m->hi.value[i];
    if (lo[i] > hi[i])
      return kn_scan_fail(m->hi.where.at ? &m->hi.where : &m->lo.where, "bounds of row %d: [%g, %g] is empty",
                          i, lo[i], hi[i]);
  }
  if (m->lo.where.at || m->hi.where.at) out->lcp.lo = lo, out->lcp.hi = hi;
  return KN_OK;
}

/* M, J, Q: n from Q, contacts from the rows of J. */
static kn_status store_bodies(kn_lcp_file* out, const members* m, const kn_scan* t) {
  size_t n = m->Q.count;
  if (!m->J.where.at) return kn_scan_fail(t, "\"J\" is missing");
  if (!m->Q.where.at) return kn_scan_fail(t, "\"Q\" is missing");
  if (n < 1 || n > KN_LCP_FILE_ROWS)
    return kn_scan_fail(&m->Q.where, "Q has %zu numbers, expected 1 … %d", n, KN_LCP_FILE_ROWS);
  if (m->M.count != n * n || (m->M.width >= 0 && (size_t)m->M.width != n))
    return kn_scan_fail(&m->M.where, "M has %zu numbers, expected %zu x %zu as Q has %zu", m->M.count, n, n,
                        n);
  if (m->J.count % n != 0 || (m->J.width >= 0 && (size_t)m->J.width != n))
    return kn_scan_fail(&m->J.where, "J has %zu numbers, expected rows of %zu", m->J.count, n);
  double* memory = calloc(m->M.count + m->J.count + n, sizeof(double));
  if (!memory) return kn_fail(KN_OUT_OF_MEMORY, "%s: %zu coordinates do not fit into memory", t->name, n);
  out->memory = memory;
  memcpy(memory, m->M.value, m->M.count * sizeof(double));
  if (m->J.count) memcpy(memory + n * n, m->J.value, m->J.count * sizeof(double));
  memcpy(memory + n * n + m->J.count, m->Q.value, n * sizeof(double));
  out->frictionless = (kn_frictionless){.n = (int)n,
                                        .m = (int)(m->J.count / n),
                                        .M = memory,
                                        .J = memory + n * n,
                                        .Q = memory + n * n + m->J.count};
  return KN_OK;
}

static kn_status parse_json(kn_lcp_file* out, kn_scan* t) {
  members m = {.n = -1};
  kn_status status = read_members(&m, out, t);
  if (status == KN_OK && !m.M.where.at) status = kn_scan_fail(t, "\"M\" is missing");
  bool bodies = status == KN_OK && (m.J.where.at || m.Q.where.at) && !m.q.where.at;
  if (bodies) status = store_bodies(out, &m, t);
  if (status == KN_OK && !bodies && !m.q.where.at) status = kn_scan_fail(t, "\"q\" is missing");
  int n = m.n >= 0 ? m.n : m.q.count <= KN_LCP_FILE_ROWS ? (int)m.q.count : KN_LCP_FILE_ROWS;
  if (status == KN_OK && !bodies) status = check_counts(&m, n);
  if (status == KN_OK && !bodies) status = store(out, &m, t, n);
  free(m.M.value), free(m.q.value), free(m.lo.value), free(m.hi.value), free(m.J.value), free(m.Q.value);
  return status;
}

/* ---- files ---- */

static bool ends_with(const char* name, const char* ending) {
  size_t a = strlen(name), b = strlen(ending);
  return a >= b && strcmp(name + a - b, ending) == 0;
}

kn_status kn_lcp_file_parse(kn_lcp_file* out, const char* name, const void* data, size_t size) {
  KN_REQUIRE(out != NULL && name != NULL && (data != NULL || size == 0));
  *out = (kn_lcp_file){.format = ends_with(name, ".lcp") ? "lcp" : ends_with(name, ".dat") ? "dat" : "json"};
  kn_scan t = {name, data, data, (const char*)data + size};
  kn_status status = out->format[0] == 'l'   ? parse_binary(out, &t)
                     : out->format[0] == 'd' ? parse_dat(out, &t)
                                             : parse_json(out, &t);
  if (status != KN_OK) kn_lcp_file_free(out);
  return status;
}

/* The whole file with a closing zero, so that number readers stop. */
static kn_status slurp(char** data, size_t* size, const char* path) {
  FILE* f;
  size_t claimed;
  KN_TRY(kn_input_open(&f, &claimed, path));
  size_t capacity = 65536, used = 0, most = (size_t)1 << 31;
  char* buffer = malloc(capacity + 1);
  while (buffer) {
    used += fread(buffer + used, 1, capacity - used, f);
    if (used < capacity || capacity >= most) break;
    capacity *= 2;
    char* grown = realloc(buffer, capacity + 1);
    if (!grown) free(buffer);
    buffer = grown;
  }
  bool bad = ferror(f) != 0;
  fclose(f);
  if (!buffer) return kn_fail(KN_OUT_OF_MEMORY, "%s does not fit into memory", path);
  if (bad || used >= most) {
    free(buffer);
    return kn_fail(KN_IO, "%s: %s", path, bad ? "could not be read" : "too large");
  }
  buffer[used] = 0;
  *data = buffer;
  *size = used;
  return KN_OK;
}

kn_status kn_lcp_file_read(kn_lcp_file* out, const char* path) {
  KN_REQUIRE(out != NULL && path != NULL);
  *out = (kn_lcp_file){0};
  char* data = NULL;
  size_t size = 0;
  KN_TRY(slurp(&data, &size, path));
  kn_status status = kn_lcp_file_parse(out, path, data, size);
  free(data);
  return status;
}

void kn_lcp_file_free(kn_lcp_file* file) {
  if (!file) return;
  free(file->memory);
  *file = (kn_lcp_file){0};
}

static void write_numbers(FILE* f, const char* key, const double* v, int n) {
  fprintf(f, ",\n \"%s\": [", key);
  for (int i = 0; i < n; i++) {
    if (isfinite(v[i]))
      fprintf(f, "%s%.17g", i ? ", " : "", v[i]);
    else
      fprintf(f, "%snull", i ? ", " : "");
  }
  fputs("]", f);
}

kn_status kn_lcp_file_write(const char* path, const kn_lcp* lcp, const char* title, const double* z) {
  KN_REQUIRE(path != NULL);
  KN_TRY(kn_lcp_check(lcp));
  FILE* f = fopen(path, "w");
  if (!f) return kn_fail(KN_IO, "%s: %s", path, strerror(errno));
  locale_t before = kn_plain_begin();
  fprintf(f, "{\"n\": %d", lcp->n);
  if (title) {
    fputs(", \"title\": \"", f);
    for (const char* c = title; *c; c++)
      if ((unsigned char)*c >= ' ') fprintf(f, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fputs("\"", f);
  }
  fputs(",\n \"M\": [", f);
  for (int i = 0; i < lcp->n; i++) {
    fputs(i ? ",\n       [" : "[", f);
    for (int j = 0; j < lcp->n; j++)
      fprintf(f, "%s%.17g", j ? ", " : "", lcp->M[(size_t)i * (size_t)lcp->n + (size_t)j]);
    fputs("]", f);
  }
  fputs("]", f);
  write_numbers(f, "q", lcp->q, lcp->n);
  if (lcp->lo) write_numbers(f, "lo", lcp->lo, lcp->n);
  if (lcp->hi) write_numbers(f, "hi", lcp->hi, lcp->n);
  if (z) write_numbers(f, "z", z, lcp->n);
  fputs("}\n", f);
  kn_plain_end(before);
  bool bad = ferror(f) != 0;
  if (fclose(f) != 0 || bad) return kn_fail(KN_IO, "%s could not be written", path);
  return KN_OK;
}
