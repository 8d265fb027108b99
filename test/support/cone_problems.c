#include "cone_problems.h"

#include <stdlib.h>
#include <string.h>

const char* const kn_family_name[KN_FAMILY_COUNT] = {"free", "stack", "artic", "dup"};

static void cross(double* c, const double* a, const double* b) {
  c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

static void random_frame(double F[3][3], kn_rng* rng) {
  double a[3] = {kn_rng_normal(rng), kn_rng_normal(rng), kn_rng_normal(rng)}, l = 0.0;
  for (int k = 0; k < 3; k++) F[0][k] = kn_rng_normal(rng);
  for (int k = 0; k < 3; k++) l += F[0][k] * F[0][k];
  for (int k = 0; k < 3; k++) F[0][k] /= sqrt(l);
  cross(F[1], F[0], a);
  l = sqrt(F[1][0] * F[1][0] + F[1][1] * F[1][1] + F[1][2] * F[1][2]);
  for (int k = 0; k < 3; k++) F[1][k] /= l;
  cross(F[2], F[0], F[1]);
}

/* Rows of contact c for body b (6 dofs: linear, angular), point x relative to its centre. */
static void body_rows(kn_generated* g, int c, int b, const double F[3][3], const double* x, double sign) {
  for (int i = 0; i < 3; i++) {
    double m[3], *row = g->J + (size_t)(3 * c + i) * (size_t)g->dofs + 6 * b;
    cross(m, x, F[i]);
    for (int k = 0; k < 3; k++) row[k] += sign * F[i][k], row[3 + k] += sign * m[k];
  }
}

static void set_body(kn_generated* g, int b, double mass, double inertia) {
  for (int k = 0; k < 6; k++)
    g->inverse_mass[(size_t)(6 * b + k) * (size_t)g->dofs + (size_t)(6 * b + k)] =
        1.0 / (k < 3 ? mass : inertia);
}

static void make_free(kn_generated* g, kn_rng* rng, int nc, double ratio) {
  int nb = g->dofs / 6;
  for (int b = 0; b < nb; b++) {
    double m = pow(ratio, kn_rng_unit(rng));
    set_body(g, b, m, m * kn_rng_range(rng, 0.1, 0.6));
    for (int k = 0; k < 6; k++) g->v[6 * b + k] = kn_rng_normal(rng);
  }
  for (int c = 0; c < nc; c++) {
    double F[3][3], x[3], y[3];
    int a = kn_rng_int(rng, nb), b = kn_rng_int(rng, nb + 1);
    random_frame(F, rng);
    for (int k = 0; k < 3; k++) x[k] = kn_rng_range(rng, -1, 1), y[k] = kn_rng_range(rng, -1, 1);
    body_rows(g, c, a, F, x, 1.0);
    if (b < nb && b != a) body_rows(g, c, b, F, y, -1.0);
  }
}

static void make_stack(kn_generated* g, kn_rng* rng, int nc, double ratio) {
  static const double F[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
  int nb = g->dofs / 6;
  double push[2] = {kn_rng_normal(rng), kn_rng_normal(rng)};
  for (int b = 0; b < nb; b++) {
    double m = nb > 1 ? pow(ratio, (double)b / (nb - 1)) : 1.0;
    set_body(g, b, m, m * 2.0 / 3.0);
    double* v = g->v + 6 * b;
    v[0] = 0.3 * push[0] * kn_rng_unit(rng), v[1] = 0.3 * push[1] * kn_rng_unit(rng), v[2] = -1.0;
    for (int k = 3; k < 6; k++) v[k] = 0.1 * kn_rng_normal(rng);
  }
  for (int c = 0; c < nc; c++) {
    double e = (c & 1) ? 1.0 : -1.0, f = (c & 2) ? 1.0 : -1.0;
    double bottom[3] = {e, f, -1}, top[3] = {e, f, 1};
    body_rows(g, c, c / 4, F, bottom, 1.0);
    if (c / 4 > 0) body_rows(g, c, c / 4 - 1, F, top, -1.0);
  }
}

static void make_artic(kn_generated* g, kn_rng* rng, int nc, double ratio) {
  for (int k = 0; k < g->dofs; k++) {
    g->inverse_mass[(size_t)k * (size_t)g->dofs + (size_t)k] = pow(ratio, -kn_rng_unit(rng));
    g->v[k] = kn_rng_normal(rng);
  }
  for (int i = 0; i < 3 * nc * g->dofs; i++) g->J[i] = kn_rng_normal(rng);
}

static void set_matrix(kn_generated* g) {
  int n = g->problem.rows, m = g->dofs;
  double *W = calloc((size_t)n * (size_t)n, sizeof *W), *X = calloc((size_t)n * (size_t)m, sizeof *X);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      X[i * m + k] = g->J[i * m + k] * g->inverse_mass[(size_t)k * (size_t)m + (size_t)k];
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double s = 0.0;
      for (int k = 0; k < m; k++) s += X[i * m + k] * g->J[j * m + k];
      W[i * n + j] = W[j * n + i] = s;
    }
  free(X);
  g->problem.W = W;
}

void kn_generated_offset(kn_generated* g) {
  int n = g->problem.rows, m = g->dofs;
  double* q = (double*)(uintptr_t)g->problem.q;
  for (int i = 0; i < n; i++) {
    q[i] = 0.0;
    for (int k = 0; k < m; k++) q[i] += g->J[i * m + k] * g->v[k];
  }
}

/* Contacts that would separate are turned to approach, three times in four. */
static void close_contacts(kn_generated* g, kn_rng* rng) {
  for (int c = 0; c < g->problem.blocks; c++)
    if (g->problem.q[3 * c] > 0.0 && kn_rng_unit(rng) < 0.75)
      for (int k = 0; k < 3 * g->dofs; k++) g->J[(size_t)(3 * c) * (size_t)g->dofs + (size_t)k] *= -1.0;
}

static int dofs_of(kn_rng* rng, kn_family family, int nc) {
  if (family == KN_FAMILY_STACK) return 6 * ((nc + 3) / 4);
  if (family == KN_FAMILY_FREE) return 6 * (1 + kn_rng_int(rng, nc));
  return (int)fmax(1.0, 3.0 * nc * kn_rng_range(rng, 0.45, 0.85));
}

kn_generated kn_generate(kn_rng* rng, kn_family family, int nc, double ratio) {
  kn_generated g = {.dofs = dofs_of(rng, family, nc)};
  size_t n = (size_t)(3 * nc), m = (size_t)g.dofs;
  g.J = calloc(n * m, sizeof(double));
  g.inverse_mass = calloc(m * m, sizeof(double));
  g.v = calloc(m, sizeof(double));
  double* q = calloc(n, sizeof *q);
  kn_block* block = calloc((size_t)nc, sizeof *block);
  for (int c = 0; c < nc; c++) {
    double mu = kn_rng_unit(rng) < 0.1 ? 0.0 : kn_rng_range(rng, 0.0, 1.5);
    block[c] = (kn_block){.set = KN_SET_CONE3, .row = 3 * c, .mu = mu};
  }
  g.problem = (kn_problem){.rows = 3 * nc, .blocks = nc, .block = block, .q = q};
  if (family == KN_FAMILY_FREE) make_free(&g, rng, nc, ratio);
  if (family == KN_FAMILY_STACK) make_stack(&g, rng, nc, ratio);
  if (family >= KN_FAMILY_ARTIC) make_artic(&g, rng, nc, ratio);
  if (family == KN_FAMILY_DUP)
    for (int c = (nc + 1) / 2; c < nc; c++) {
      int from = c - (nc + 1) / 2;
      memcpy(g.J + (size_t)(3 * c) * m, g.J + (size_t)(3 * from) * m, 3 * m * sizeof(double));
      block[c].mu = block[from].mu;
    }
  kn_generated_offset(&g);
  if (family == KN_FAMILY_FREE || family == KN_FAMILY_ARTIC) close_contacts(&g, rng), kn_generated_offset(&g);
  set_matrix(&g);
  return g;
}

void kn_generated_free(kn_generated* g) {
  free((void*)(uintptr_t)g->problem.W);
  free((void*)(uintptr_t)g->problem.q);
  free((void*)(uintptr_t)g->problem.block);
  free(g->J);
  free(g->inverse_mass);
  free(g->v);
}

/* ---- heaps ---- */

struct kn_pile_contact {
  int body[2];    /* -1: ground */
  double F[3][3]; /* rows n (towards body[0]), t1, t2 */
  double x[2][3]; /* lever arms */
  double gap;
};

static void add_contact(kn_pile* p, int a, int b, const double* n, const double* xa, const double* xb) {
  if ((p->contacts & (p->contacts - 1)) == 0)
    p->contact = realloc(p->contact, (size_t)(p->contacts ? 2 * p->contacts : 1) * sizeof *p->contact);
  struct kn_pile_contact* c = &p->contact[p->contacts++];
  *c = (struct kn_pile_contact){.body = {a, b}};
  double up[3] = {fabs(n[0]) < 0.8, fabs(n[0]) >= 0.8, 0.0}, l;
  memcpy(c->F[0], n, sizeof c->F[0]);
  cross(c->F[1], n, up);
  l = sqrt(c->F[1][0] * c->F[1][0] + c->F[1][1] * c->F[1][1] + c->F[1][2] * c->F[1][2]);
  for (int k = 0; k < 3; k++) c->F[1][k] /= l;
  cross(c->F[2], c->F[0], c->F[1]);
  memcpy(c->x[0], xa, sizeof c->x[0]);
  if (xb) memcpy(c->x[1], xb, sizeof c->x[1]);
}

static void touch_spheres(kn_pile* p, const double* x, int a, int b, double reach) {
  double d[3], l = 0.0, n[3], xa[3], xb[3];
  for (int k = 0; k < 3; k++) d[k] = x[3 * a + k] - x[3 * b + k], l += d[k] * d[k];
  if (l > reach * reach) return;
  for (int k = 0; k < 3; k++) n[k] = d[k] / sqrt(l), xa[k] = -n[k], xb[k] = n[k];
  add_contact(p, a, b, n, xa, xb);
  p->contact[p->contacts - 1].gap = sqrt(l) - 2.0;
}

/* Unit spheres on a face-centred lattice (layers of side x side), jittered, one in ten missing. */
static void sphere_heap(kn_pile* p, kn_rng* rng, int contacts) {
  static const double up[3] = {0, 0, 1}, down[3] = {0, 0, -1};
  int side = (int)fmax(2.0, cbrt(contacts / 4.0)), capacity = 0;
  double* x = NULL;
  p->mass = 1.0;
  for (int k = 0; k < 3; k++) p->inertia[k] = 0.4;
  for (int layer = 0; p->contacts < contacts; layer++) {
    int begin = p->bodies;
    for (int i = 0; i < side; i++)
      for (int j = 0; j < side; j++) {
        if (kn_rng_unit(rng) < 0.1) continue;
        if (p->bodies == capacity) x = realloc(x, (size_t)(capacity = 2 * capacity + 64) * 3 * sizeof *x);
        double shift = layer & 1 ? 1.0 : 0.0, *y = x + 3 * p->bodies++;
        y[0] = 2.0 * i + shift + kn_rng_range(rng, -0.03, 0.03);
        y[1] = 2.0 * j + shift + kn_rng_range(rng, -0.03, 0.03);
        y[2] = 1.0 + 1.4142 * layer + kn_rng_range(rng, -0.03, 0.03);
      }
    for (int a = begin; a < p->bodies; a++) {
      if (layer == 0) add_contact(p, a, -1, up, down, NULL);
      int from = begin - side * side > 0 ? begin - side * side : 0;
      for (int b = from; b < a; b++) touch_spheres(p, x, a, b, 2.03);
    }
  }
  free(x);
}

/* Bricks 2 x 1 x 1 (half sizes) in layers shifted by half a brick. */
static void brick_wall(kn_pile* p, int contacts) {
  static const double up[3] = {0, 0, 1};
  int width = (int)fmax(2.0, sqrt(contacts / 8.0));
  p->mass = 1.0;
  p->inertia[0] = 2.0 / 3.0, p->inertia[1] = p->inertia[2] = 5.0 / 3.0;
  for (int layer = 0; p->contacts < contacts; layer++)
    for (int i = 0; i < width; i++) {
      int a = p->bodies++;
      double xa = 4.0 * i + (layer & 1 ? 2.0 : 0.0);
      for (int half = 0; half < 2; half++) { /* left and right half of the lower face */
        int j = layer & 1 ? i + half : i - 1 + half, b = layer ? a - i - width + j : -1;
        if (layer && (j < 0 || j >= width)) continue;
        double xb = 4.0 * j + (layer & 1 ? 0.0 : 2.0);
        for (int e = 0; e < 4; e++) {
          double lo = half ? 0.0 : -2.0, px = lo + (e & 1 ? 2.0 : 0.0), py = e & 2 ? 1.0 : -1.0;
          double la[3] = {px, py, -1}, lb[3] = {xa + px - xb, py, 1};
          if (!layer && (half ? px == 0.0 : px == 0.0)) continue;
          add_contact(p, a, b, up, la, lb);
        }
      }
    }
}

/* sum over shared bodies of J_c M^-1 J_d^T. */
static void pair_block(double* out, const kn_pile* p, int c, int d) {
  const struct kn_pile_contact *x = &p->contact[c], *y = &p->contact[d];
  for (int s = 0; s < 4; s++) {
    int a = s & 1, b = s >> 1;
    if (x->body[a] < 0 || x->body[a] != y->body[b]) continue;
    double sign = a == b ? 1.0 : -1.0;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double m[3], n[3], sum = 0.0;
        cross(m, x->x[a], x->F[i]);
        cross(n, y->x[b], y->F[j]);
        for (int k = 0; k < 3; k++) sum += x->F[i][k] * y->F[j][k] / p->mass + m[k] * n[k] / p->inertia[k];
        out[3 * i + j] += sign * sum;
      }
  }
}

static int ascending(const void* a, const void* b) {
  return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b);
}

static void pile_matrix(kn_pile* p) {
  int nc = p->contacts, most = 0, *of = calloc((size_t)p->bodies * 32, sizeof *of),
      *many = calloc((size_t)p->bodies, sizeof *many);
  for (int c = 0; c < nc; c++)
    for (int s = 0; s < 2; s++)
      if (p->contact[c].body[s] >= 0) of[32 * p->contact[c].body[s] + many[p->contact[c].body[s]]++] = c;
  int *start = calloc((size_t)nc + 1, sizeof *start), *col = NULL;
  double* value = NULL;
  for (int c = 0; c < nc; c++) {
    int list[64], n = 0, at = start[c];
    for (int s = 0; s < 2; s++)
      for (int k = 0, b = p->contact[c].body[s]; b >= 0 && k < many[b]; k++) list[n++] = of[32 * b + k];
    qsort(list, (size_t)n, sizeof *list, ascending);
    if (at + n > most) {
      most = 2 * (at + n) + 64;
      col = realloc(col, (size_t)most * sizeof *col);
      value = realloc(value, (size_t)most * 9 * sizeof *value);
    }
    for (int k = 0; k < n; k++) {
      if (k && list[k] == list[k - 1]) continue;
      col[at] = list[k];
      memset(value + 9 * (size_t)at, 0, 9 * sizeof *value);
      pair_block(value + 9 * (size_t)at++, p, c, list[k]);
    }
    start[c + 1] = at;
  }
  int64_t* offset = calloc((size_t)start[nc] + 1, sizeof *offset);
  for (int k = 0; k < start[nc]; k++) offset[k] = 9 * (int64_t)k;
  p->matrix = (kn_sparse){start, col, offset, value};
  free(of);
  free(many);
}

/* J M^-1/2 by bodies. */
static void pile_pairs(kn_pile* p) {
  int* body = calloc(2 * (size_t)p->contacts, sizeof *body);
  double* G = calloc(36 * (size_t)p->contacts, sizeof *G);
  for (int c = 0; c < p->contacts; c++)
    for (int s = 0; s < 2; s++) {
      const struct kn_pile_contact* k = &p->contact[c];
      double *g = G + 36 * (size_t)c + 18 * s, sign = s ? -1.0 : 1.0, m[3];
      body[2 * c + s] = k->body[s];
      for (int i = 0; i < 3 && k->body[s] >= 0; i++) {
        cross(m, k->x[s], k->F[i]);
        for (int e = 0; e < 3; e++) {
          g[6 * i + e] = sign * k->F[i][e] / sqrt(p->mass);
          g[6 * i + 3 + e] = sign * m[e] / sqrt(p->inertia[e]);
        }
      }
    }
  p->pairs = (kn_pairs){p->bodies, body, G};
}

void kn_pile_offset(kn_pile* p) {
  double* q = (double*)(uintptr_t)p->problem.q;
  for (int c = 0; c < p->contacts; c++)
    for (int i = 0; i < 3; i++) {
      q[3 * c + i] = 0.0;
      for (int s = 0; s < 2; s++) {
        const struct kn_pile_contact* k = &p->contact[c];
        if (k->body[s] < 0) continue;
        double m[3], *v = p->v + 6 * k->body[s];
        cross(m, k->x[s], k->F[i]);
        for (int e = 0; e < 3; e++) q[3 * c + i] += (s ? -1.0 : 1.0) * (k->F[i][e] * v[e] + m[e] * v[3 + e]);
      }
      if (i == 0 && p->bias) q[3 * c] += p->bias[c];
    }
}

void kn_pile_make(kn_pile* p, kn_rng* rng, kn_heap heap, int contacts, double mu, double noise) {
  *p = (kn_pile){0};
  if (heap == KN_HEAP_BRICKS)
    brick_wall(p, contacts);
  else
    sphere_heap(p, rng, contacts);
  if (heap == KN_HEAP_SPHERES) {
    p->bias = calloc((size_t)p->contacts, sizeof *p->bias);
    for (int c = 0; c < p->contacts; c++)
      p->bias[c] = p->contact[c].gap > 0.0 ? p->contact[c].gap / 1e-3 : 0.0;
  }
  pile_matrix(p);
  pile_pairs(p);
  p->v = calloc(6 * (size_t)p->bodies, sizeof *p->v);
  for (int b = 0; b < p->bodies; b++)
    for (int k = 0; k < 6; k++)
      p->v[6 * b + k] = 9.81e-3 * ((k == 2 ? -1.0 : 0.0) + noise * kn_rng_normal(rng));
  kn_block* block = calloc((size_t)p->contacts, sizeof *block);
  for (int c = 0; c < p->contacts; c++) block[c] = (kn_block){.set = KN_SET_CONE3, .row = 3 * c, .mu = mu};
  double* q = calloc(3 * (size_t)p->contacts, sizeof *q);
  p->problem = (kn_problem){3 * p->contacts, p->contacts, block, NULL, &p->matrix, q, &p->pairs};
  kn_pile_offset(p);
}

void kn_pile_free(kn_pile* p) {
  free((void*)(uintptr_t)p->matrix.start);
  free((void*)(uintptr_t)p->matrix.col);
  free((void*)(uintptr_t)p->matrix.at);
  free((void*)(uintptr_t)p->matrix.value);
  free((void*)(uintptr_t)p->problem.block);
  free((void*)(uintptr_t)p->problem.q);
  free((void*)(uintptr_t)p->pairs.body);
  free((void*)(uintptr_t)p->pairs.G);
  free(p->v);
  free(p->contact);
  free(p->bias);
}
