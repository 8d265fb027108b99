/* One to three contacts on a chain in a plane and no other rows: rows_planar.c without lists, the same
   operations in the same order. The arrow of a contact is that of its number. One alone: lone_kernel.h. */

static int few_aim(double* u, kn_data* d, int g, int link_a, int link_b, const double* point,
                   const double* frame, double dt) {
  return aim_arrow(u, d->arrow + g, d, link_a, link_b, point, frame, dt);
}

typedef double few_four __attribute__((vector_size(32)));

/* Λ between two pairs of rows, a of the first with both of the other, then b: y of the first, scaled, times
   the other's. */
KN_INLINE few_four few_product(planar_pair y, planar_pair q) {
  return __builtin_shufflevector(y, y, 0, 1, 0, 1) * __builtin_shufflevector(q, q, 0, 0, 1, 1);
}

KN_INLINE void few_put(double* Lambda, int n, kn_row_pair p, kn_row_pair q, few_four s) {
  Lambda[p.a * n + q.a] = Lambda[q.a * n + p.a] = s[0];
  Lambda[p.b * n + q.a] = Lambda[q.a * n + p.b] = s[1];
  if (p.a != q.a) Lambda[p.a * n + q.b] = Lambda[q.b * n + p.a] = s[2];
  Lambda[p.b * n + q.b] = Lambda[q.b * n + p.b] = s[3];
}

/* All products at once as far down as all contacts go, then pair by pair. */
#define FEW _Pragma("GCC unroll 4") /* all of a loop over contacts */
KN_INLINE void few_rows(double* Lambda, kn_rows* rows, const kn_data* d, const int count) {
  enum { MOST = 3 };
  const int n = 3 * count, nv = d->model->nv;
  const double* dinv = d->planar_dinv;
  kn_rows_index* ix = rows->index;
  planar_pair* Y[MOST];
  few_four s[MOST][MOST];
  int all = d->arrow[0].top;
  rows->rows = n;
  ix->planar = 1, ix->pairs = count, ix->loose = ix->solved = 0;
  FEW for (int k = 0; k < count; k++) {
    const kn_planar_arrow* w = d->arrow + k;
    Y[k] = (planar_pair*)rows->Y + (size_t)k * (size_t)nv;
    ix->pair[k] = (kn_row_pair){.a = 3 * k, .b = 3 * k + w->row[0][1], .top = w->top};
    lone_climb(Y[k], w, d);
    all = w->top < all ? w->top : all;
    FEW for (int j = k; j < count; j++) s[k][j] = (few_four){0.0, 0.0, 0.0, 0.0};
  }
  for (int i = 0; i <= all; i++) {
    FEW for (int k = 0; k < count; k++) {
      planar_pair y = Y[k][i] * dinv[i];
      FEW for (int j = k; j < count; j++) s[k][j] += few_product(y, Y[j][i]);
    }
  }
  for (int i = 0; i < n * n; i++) Lambda[i] = 0.0;
  FEW for (int k = 0; k < count; k++) FEW for (int j = k; j < count; j++) {
    int a = ix->pair[k].top, b = ix->pair[j].top, end = a < b ? a : b;
    for (int i = all + 1; i <= end; i++) s[k][j] += few_product(Y[k][i] * dinv[i], Y[j][i]);
    few_put(Lambda, n, ix->pair[k], ix->pair[j], s[k][j]);
  }
}

static void few_push(double* Lambda, kn_rows* rows, const kn_data* d, int count) {
  if (count == 1)
    lone_push(Lambda, rows, d);
  else if (count == 2)
    few_rows(Lambda, rows, d, 2);
  else
    few_rows(Lambda, rows, d, 3);
}

/* ---- motion of one to three pairs of rows ---- */

/* On the way out: motion of the parent. */
typedef struct few_motion {
  double al, x, y;
} few_motion;

/* One link outwards (planar_sweep), z = D⁻¹ Y λ: dv = z - (g_n al + g_f·f). The link's own al = al + dv comes
   from fewer operations that wait for each other. */
KN_INLINE double few_outwards(few_motion* m, const kn_planar_link* p, double z) {
  double rest = z - (p->gfx * m->x + p->gfy * m->y), dv = rest - p->gn * m->al;
  m->x -= m->al * p->ry, m->y += m->al * p->rx, m->al = (1.0 - p->gn) * m->al + rest;
  return dv;
}

KN_INLINE void few_push_by(double* dv, const kn_rows* rows, const kn_data* d, const double* lambda,
                           const int count) {
  enum { MOST = 3 };
  const kn_row_pair* p = ((const kn_rows_index*)rows->index)->pair;
  const double* dinv = d->planar_dinv;
  const kn_planar_link* link = d->planar;
  few_motion m = {0.0, 0.0, 0.0};
  const planar_pair* Y[MOST];
  planar_pair l[MOST];
  int all = p[0].top, any = all, i = 0, nv = d->model->nv;
  FEW for (int k = 0; k < count; k++) {
    Y[k] = (const planar_pair*)rows->Y + (size_t)k * (size_t)nv;
    l[k] = (planar_pair){lambda[p[k].a], p[k].b != p[k].a ? lambda[p[k].b] : 0.0};
    all = p[k].top < all ? p[k].top : all, any = p[k].top > any ? p[k].top : any;
  }
  for (; i <= all; i++) {
    planar_pair sum = Y[0][i] * l[0];
    FEW for (int k = 1; k < count; k++) sum += Y[k][i] * l[k];
    dv[i] = few_outwards(&m, link + i, (sum[0] + sum[1]) * dinv[i]);
  }
  for (; i <= any; i++) {
    planar_pair sum = {0.0, 0.0};
    FEW for (int k = 0; k < count; k++) if (i <= p[k].top) sum += Y[k][i] * l[k];
    dv[i] = few_outwards(&m, link + i, (sum[0] + sum[1]) * dinv[i]);
  }
  for (; i < nv; i++) dv[i] = few_outwards(&m, link + i, 0.0);
}

static void few_move(double* dv, const kn_rows* rows, const kn_data* d, const double* lambda) {
  switch (((const kn_rows_index*)rows->index)->pairs) {
  case 1: few_push_by(dv, rows, d, lambda, 1); break;
  case 2: few_push_by(dv, rows, d, lambda, 2); break;
  default: few_push_by(dv, rows, d, lambda, 3);
  }
}

#undef FEW
