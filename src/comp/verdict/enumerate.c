/* All solutions of a small LCP: depth-first over the choice "z_i = 0 or w_i = 0" for each row.

   A table  basic = c + T nonbasic  starts as w = q + M z. Choosing z_i = 0 kills its column. Choosing w_i = 0
   makes row i and column i pending; pending rows are exchanged with pending columns on the largest entry (so
   singular principal blocks such as [0 1; 1 0] are no obstacle). A node is dropped when a row that must be >=
   0 has c < 0 and no positive entry in a live column, or a pending row cannot become 0: no point below it
   exists. At a leaf without pending rows c is the only candidate; with pending ones M_SS is singular, and
   membership in that complementary cone is an NNLS problem. Values too close to zero to call make the answer
   incomplete instead of wrong. */
#include "comp/verdict/enumerate.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "comp/lcp/lcp.h"

enum { UNDECIDED, ZERO, ACTIVE };
enum { ROW_W, ROW_Z };

typedef struct node {
  int n;
  double growth; /* largest table entry met on the way: rounding is 1e-16 of it */
  bool exchanged;
  int row_pair[KN_ENUMERATE_MAX], row_kind[KN_ENUMERATE_MAX]; /* basic variable of each row */
  int col_pair[KN_ENUMERATE_MAX]; /* nonbasic one of each column, always a z, or dead */
  bool live[KN_ENUMERATE_MAX];    /* column may be non-zero */
  int state[KN_ENUMERATE_MAX];    /* per pair */
} node;

typedef struct search {
  const kn_lcp* lcp;
  const kn_lcp_settings* settings;
  kn_lcp_work* work;
  const unsigned char* free_row;
  bool standard;
  double* solutions;
  int capacity;
  kn_lcp_enumeration* out;
  long nodes, most_nodes;
} search;

static const double sure = 1e-9;

void kn_enumerate_take(kn_enumerate_work* w, kn_arena* arena) {
  size_t m = KN_ENUMERATE_MAX;
  w->tableau = KN_TAKE(arena, double, (m + 1) * m * (m + 1));
  w->scratch = KN_TAKE(arena, double, 2 * m * m + 3 * m * m + 16 * m);
  w->passive = KN_TAKE(arena, int, 4 * m);
}

static double* table_at(const search* s, int depth) {
  return s->work->enumerate.tableau + (size_t)depth * KN_ENUMERATE_MAX * (KN_ENUMERATE_MAX + 1);
}

static bool is_free(const search* s, int pair) { return s->free_row && s->free_row[pair]; }
static bool row_is_pending(const node* nd, int r) {
  return nd->row_kind[r] == ROW_W && nd->state[nd->row_pair[r]] == ACTIVE;
}
static bool row_is_free(const search* s, const node* nd, int r) {
  return nd->row_kind[r] == ROW_Z && is_free(s, nd->row_pair[r]);
}
static bool col_is_pending(const node* nd, int c) {
  return nd->live[c] && nd->state[nd->col_pair[c]] == ACTIVE;
}

/* Exchange of row r (a w that is 0) with column c (a z): basic z_c = (w_r - c_r - …) / T_rc with w_r = 0. */
static void exchange(node* nd, double* T, int r, int c) {
  int n = nd->n, ld = n + 1;
  double* pr = T + r * ld;
  double inv = 1.0 / pr[c];
  pr[c] = 0.0;
  for (int j = 0; j <= n; j++) pr[j] *= -inv;
  for (int i = 0; i < n; i++) {
    double f = T[i * ld + c];
    if (i == r) continue;
    T[i * ld + c] = 0.0;
    if (f == 0.0) continue;
    for (int j = 0; j <= n; j++) T[i * ld + j] += f * pr[j];
  }
  for (int i = 0; i < n * ld; i++) nd->growth = fabs(T[i]) > nd->growth ? fabs(T[i]) : nd->growth;
  nd->exchanged = true;
  nd->row_kind[r] = ROW_Z;
  nd->row_pair[r] = nd->col_pair[c];
  nd->live[c] = false;
}

/* What is surely not zero in the constants of this table. */
static double margin(const node* nd) { return sure + 1e-13 * nd->growth; }

static void exchange_pending(node* nd, double* T) {
  for (;;) {
    int n = nd->n, br = -1, bc = -1;
    double most = 1e-11;
    for (int r = 0; r < n; r++)
      for (int c = 0; row_is_pending(nd, r) && c < n; c++)
        if (col_is_pending(nd, c) && fabs(T[r * (n + 1) + c]) > most)
          most = fabs(T[r * (n + 1) + c]), br = r, bc = c;
    if (br < 0) return;
    exchange(nd, T, br, bc);
  }
}

/* Table entries up to this may be zeros turned into rounding by exchanges; where entries grew much, small
   ones may be meant and are kept. */
static double entry_noise(const node* nd) {
  return nd->exchanged && nd->growth <= 10.0 ? 4e-16 * nd->growth : 0.0;
}

/* True when no choice of the live columns (>= 0, or any sign when free) can satisfy row r. */
static bool row_impossible(const search* s, const node* nd, const double* T, int r) {
  int n = nd->n;
  const double* row = T + r * (n + 1);
  double c = row[n], room = margin(nd);
  double noise = entry_noise(nd);
  if (row_is_free(s, nd, r)) return false;
  bool pending = row_is_pending(nd, r);
  if (pending ? fabs(c) <= room : c >= -room) return false;
  for (int j = 0; j < n; j++) {
    if (!nd->live[j]) continue;
    double t = c < 0.0 ? row[j] : -row[j];
    if (t > noise || (is_free(s, nd->col_pair[j]) && t < -noise)) return false;
  }
  return true;
}

/* Within rounding the answer could be another. */
static void unclear(search* s) { s->out->complete = false, s->out->close = true; }

/* w of the first solution is kept; a later one that differs in its own scale by 1e-6, and by more than rounding
   of the largest offset, is another motion. */
static void compare_motion(search* s, const double* z) {
  int n = s->lcp->n;
  const kn_lcp_scaled* unit = &s->work->scaled; /* scales of the standard form: of M itself without bounds */
  double *first = s->work->v[11], *w = s->work->v[12], differ = 0.0, beyond = 0.0;
  for (int i = 0; i < n; i++) {
    const double* row = s->lcp->M + (size_t)i * (size_t)n;
    double size = fabs(s->lcp->q[i]);
    w[i] = s->lcp->q[i];
    for (int j = 0; j < n; j++) w[i] += row[j] * z[j], size += fabs(row[j] * z[j]);
    if (s->out->count == 0) continue;
    double d = fabs(w[i] - first[i]);
    differ = fmax(differ, d / fmax(size, 1e-300));
    beyond = fmax(beyond, d * unit->s[i] / unit->qscale);
  }
  if (s->out->count == 0) memcpy(first, w, (size_t)n * sizeof *w);
  if (differ > 1e-6 && beyond > sure) s->out->motions_differ = true;
  if (differ > 1e-6 && beyond <= sure) unclear(s);
}

static void record(search* s, const double* z) {
  kn_lcp_enumeration* out = s->out;
  compare_motion(s, z);
  int n = s->lcp->n;
  double size = 0.0;
  for (int i = 0; i < n; i++) size = fmax(size, fabs(z[i]));
  for (int k = 0; k < out->count && k < s->capacity; k++) {
    double d = 0.0;
    for (int i = 0; i < n; i++) d = fmax(d, fabs(z[i] - s->solutions[(size_t)k * (size_t)n + (size_t)i]));
    if (d <= 1e-7 * fmax(size, 1e-300)) return;
  }
  if (out->count < s->capacity)
    memcpy(s->solutions + (size_t)out->count * (size_t)n, z, (size_t)n * sizeof *z);
  else
    out->complete = false; /* no room to tell new from known */
  out->count++;
}

/* x: values of the live columns (or NULL: zero). Judges the point; true when it is a solution. */
static bool offer(search* s, const node* nd, const double* T, const double* x) {
  int n = nd->n;
  double* zs = s->work->v[8];
  memset(zs, 0, (size_t)kn_pad8(n) * sizeof *zs);
  for (int c = 0; c < n; c++)
    if (x && nd->live[c]) zs[nd->col_pair[c]] = x[c];
  for (int r = 0; r < n; r++) {
    if (nd->row_kind[r] != ROW_Z) continue;
    double v = T[r * (n + 1) + n];
    for (int c = 0; x && c < n; c++)
      if (nd->live[c]) v += T[r * (n + 1) + c] * x[c];
    zs[nd->row_pair[r]] = v < 0.0 && !row_is_free(s, nd, r) ? 0.0 : v;
  }
  double *xo = s->work->v[9], *z = s->work->v[10], original, scaled;
  kn_lcp_unscale(xo, &s->work->scaled, zs);
  if (!s->standard)
    kn_lcp_from_standard(z, &s->work->standard, s->lcp, xo);
  else
    z = xo;
  kn_lcp_residuals(&original, &scaled, s->lcp, z);
  if (!(scaled <= fmax(s->settings->tol, 1e-9))) return false;
  record(s, z);
  return true;
}

/* Singular leaf: x >= 0 on the pending columns with c + T x >= 0 on bounded rows; found by NNLS on [T -I] [x;
 * slack] = -c. */
static void singular_leaf(search* s, const node* nd, const double* T) {
  int n = nd->n, rows = 0, cols = 0, col[KN_ENUMERATE_MAX], row[KN_ENUMERATE_MAX];
  double x[KN_ENUMERATE_MAX] = {0};
  for (int c = 0; c < n; c++)
    if (nd->live[c]) col[cols++] = c;
  for (int r = 0; r < n; r++)
    if (!row_is_pending(nd, r) && !row_is_free(s, nd, r)) row[rows++] = r;
  double *A = s->work->enumerate.scratch, *b = A + 2 * KN_ENUMERATE_MAX * KN_ENUMERATE_MAX,
         *y = b + KN_ENUMERATE_MAX, *res = y + 2 * KN_ENUMERATE_MAX, *scratch = res + KN_ENUMERATE_MAX,
         size = 0.0;
  int wide = cols + rows;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < cols; j++) A[i * wide + j] = T[row[i] * (n + 1) + col[j]];
    for (int j = 0; j < rows; j++) A[i * wide + cols + j] = i == j ? -1.0 : 0.0;
    b[i] = -T[row[i] * (n + 1) + n];
    size = fmax(size, fabs(b[i]));
  }
  s->nodes += n; /* it costs as much as so many choices */
  double left = rows ? kn_nnls(y, res, rows, wide, A, b, scratch, s->work->enumerate.passive) : 0.0;
  for (int j = 0; rows && j < cols; j++) x[col[j]] = y[j];
  if (left < 0.0)
    s->out->complete = false;
  else if (left <= sure * (1.0 + size)) {
    if (!offer(s, nd, T, x)) unclear(s);
    for (int j = 0; j < cols; j++) { /* may the undetermined z move? */
      double keep = x[col[j]];
      int before = s->out->count;
      for (int up = 0; up < 2; up++) {
        x[col[j]] = up ? keep + 0.25 * (1.0 + keep) : 0.5 * keep;
        if (!offer(s, nd, T, x) || s->out->count == before) continue;
        s->out->continuum = true;
        s->out->count = before; /* one representative per face */
      }
      x[col[j]] = keep;
    }
  } else if (left <= 1e-6 * (1.0 + size))
    unclear(s);
}

/* Pending rows whose entries in the pending columns are too small to pivot on, but perhaps not zero. */
static bool pending_unclear(const node* nd, const double* T) {
  int n = nd->n;
  for (int r = 0; r < n; r++)
    for (int c = 0; row_is_pending(nd, r) && c < n; c++)
      if (col_is_pending(nd, c) && fabs(T[r * (n + 1) + c]) > 4.0 * entry_noise(nd)) return true;
  return false;
}

static void leaf(search* s, const node* nd, const double* T) {
  int n = nd->n, pending = 0;
  bool refuted = false;
  for (int r = 0; r < n; r++) {
    pending += row_is_pending(nd, r);
    refuted |= !row_is_free(s, nd, r) && T[r * (n + 1) + n] < -margin(nd);
  }
  if (pending == 0) {
    if (!offer(s, nd, T, NULL) && !refuted) unclear(s);
    return;
  }
  refuted = false;
  for (int r = 0; r < n; r++) refuted |= row_is_pending(nd, r) && fabs(T[r * (n + 1) + n]) > margin(nd);
  if (pending_unclear(nd, T)) unclear(s);
  if (!refuted) singular_leaf(s, nd, T);
}

static void visit(search* s, const node* nd, int depth) {
  double* T = table_at(s, depth);
  int n = nd->n, pick = -1;
  if (++s->nodes > s->most_nodes) {
    s->out->complete = false;
    return;
  }
  for (int r = 0; r < n; r++)
    if (row_impossible(s, nd, T, r)) return;
  for (int i = 0; i < n && pick < 0; i++)
    if (nd->state[i] == UNDECIDED) pick = i;
  if (pick < 0) {
    leaf(s, nd, T);
    return;
  }
  for (int choice = is_free(s, pick) ? ACTIVE : ZERO; choice <= ACTIVE; choice++) {
    node next = *nd;
    double* U = table_at(s, depth + 1);
    memcpy(U, T, sizeof(double) * (size_t)n * (size_t)(n + 1));
    next.state[pick] = choice;
    if (choice == ZERO)
      for (int c = 0; c < n; c++)
        if (next.live[c] && next.col_pair[c] == pick) next.live[c] = false;
    if (choice == ACTIVE) exchange_pending(&next, U);
    visit(s, &next, depth + 1);
  }
}

static void start(search* s, node* root) {
  const kn_lcp_scaled* p = &s->work->scaled;
  int n = p->n;
  double* T = table_at(s, 0);
  *root = (node){.n = n};
  for (int i = 0; i < n; i++) {
    root->row_pair[i] = root->col_pair[i] = i;
    root->live[i] = true;
    for (int j = 0; j < n; j++) T[i * (n + 1) + j] = p->M[(size_t)j * (size_t)p->ld + (size_t)i];
    T[i * (n + 1) + n] = p->q[i];
  }
  for (int i = 0; i < n * (n + 1); i++) root->growth = fabs(T[i]) > root->growth ? fabs(T[i]) : root->growth;
}

kn_status kn_lcp_enumerate(double* solutions, int capacity, kn_lcp_enumeration* out, const kn_lcp* lcp,
                           const kn_lcp_settings* settings, kn_lcp_work* work) {
  return kn_lcp_enumerate_within(2000000, solutions, capacity, out, lcp, settings, work);
}

kn_status kn_lcp_enumerate_within(long most_nodes, double* solutions, int capacity, kn_lcp_enumeration* out,
                                  const kn_lcp* lcp, const kn_lcp_settings* settings, kn_lcp_work* work) {
  KN_REQUIRE(out != NULL && work != NULL && settings != NULL);
  KN_REQUIRE(capacity >= 0 && (solutions != NULL || capacity == 0));
  *out = (kn_lcp_enumeration){.complete = true};
  KN_TRY(kn_lcp_check(lcp));
  if (lcp->n > work->max_n) return kn_fail(KN_NO_ROOM, "n = %d, workspace made for %d", lcp->n, work->max_n);
  search s = {lcp, settings, work, NULL, !lcp->lo && !lcp->hi, solutions, capacity, out, 0, most_nodes};
  kn_lcp standard = *lcp;
  if (!s.standard) {
    KN_TRY(kn_lcp_standardise(&work->standard, lcp, work->max_n));
    standard = (kn_lcp){work->standard.n, work->standard.M, work->standard.q, NULL, NULL};
    if (work->standard.has_free) s.free_row = work->standard.free_row;
  }
  if (standard.n > KN_ENUMERATE_MAX)
    return kn_fail(KN_UNSUPPORTED, "enumeration takes up to %d rows, this problem has %d", KN_ENUMERATE_MAX,
                   standard.n);
  kn_lcp_scale(&work->scaled, &standard);
  node root;
  start(&s, &root);
  visit(&s, &root, 0);
  if (out->count > 0 || !out->complete) return KN_OK;
  work->certificate_kind = KN_CERTIFICATE_ENUMERATION;
  return kn_fail(KN_NO_SOLUTION, "all complementary cones visited (%ld nodes), none holds q", s.nodes);
}
