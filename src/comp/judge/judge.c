/* The judge of kn_problem: how far a given r is from a solution. Uses the problem's own data only and shares
   no code with any solver.

   A block's residual is its natural map. Coulomb's law C*_mu ∋ û ⊥ r ∈ C_mu with û = u + (mu|u_T|, 0, 0)
   holds iff r = P_C(r - û) (Acary, Brémond, Huber, "On solving contact problems with Coulomb friction",
   2018), with P_C the projection on {|x_T| <= mu x_N}:

     |x_T| <= mu x_N     x
     mu|x_T| <= -x_N     0
     else                s (1, mu x_T/|x_T|),  s = (x_N + mu|x_T|)/(1 + mu^2)

   mu = inf: sticking (u = 0, r_N >= 0) or open (r = 0, u_N >= 0); the smaller of the two residuals.

   Scaling r_N = dn r_N', r_T = dt r_T', u_N' = dn u_N, u_T' = dt u_T with dn = W_NN^-1/2, dt = (mean
   W_TT)^-1/2 turns mu into mu dn/dt and leaves Coulomb's law alone, so the same map applies. */

#include "comp/judge/judge.h"

typedef struct sums {
  double residual2, q2, r2, u2;         /* original units, sums of squares */
  double residual, q_max, r_max, u_max; /* scaled units, largest */
  double scaled2;                       /* largest square of a residual in scaled units */
} sums;

static double cone_map(double mu, const double* r, const double* u, int rows) {
  double r2 = rows == 3 ? r[2] : 0.0, u2 = rows == 3 ? u[2] : 0.0;
  double ut = sqrt(u[1] * u[1] + u2 * u2);
  double x[3] = {r[0] - (u[0] + mu * ut), r[1] - u[1], r2 - u2};
  double xt = sqrt(x[1] * x[1] + x[2] * x[2]);
  double e[3] = {r[0] - x[0], r[1] - x[1], r2 - x[2]};
  if (mu * xt <= -x[0]) {
    e[0] = r[0], e[1] = r[1], e[2] = r2;
  } else if (xt > mu * x[0]) {
    double s = (x[0] + mu * xt) / (1.0 + mu * mu), t = mu * s / xt;
    e[0] = r[0] - s, e[1] = r[1] - t * x[1], e[2] = r2 - t * x[2];
  }
  return sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
}

/* The same for any number of rows. */
static double tall_map(double mu, const double* r, const double* u, int rows) {
  double x[KN_SET_ROWS_MOST], ut = 0.0, xt = 0.0, sum = 0.0;
  for (int i = 1; i < rows; i++) ut += u[i] * u[i], x[i] = r[i] - u[i], xt += x[i] * x[i];
  x[0] = r[0] - (u[0] + mu * sqrt(ut)), xt = sqrt(xt);
  double s = x[0], t = 1.0; /* the projection is s along the normal and t x along the others */
  if (mu * xt <= -x[0])
    s = t = 0.0;
  else if (xt > mu * x[0])
    s = (x[0] + mu * xt) / (1.0 + mu * mu), t = mu * s / xt;
  for (int i = 0; i < rows; i++) {
    double e = r[i] - (i ? t * x[i] : s);
    sum += e * e;
  }
  return sqrt(sum);
}

static double stick_map(const double* r, const double* u, int rows) {
  double n = r[0] < u[0] ? r[0] : u[0], push = u[0] < 0.0 ? u[0] : 0.0;
  double stick = n * n, open = r[0] * r[0] + push * push;
  for (int i = 1; i < rows; i++) stick += u[i] * u[i], open += r[i] * r[i];
  return sqrt(stick < open ? stick : open);
}

static double box_map(double lo, double hi, double r, double u) {
  double x = r - u;
  return fabs(r - (x < lo ? lo : x > hi ? hi : x));
}

static double block_map(const kn_block* b, double mu, double d, const double* r, const double* u) {
  switch (b->set) {
  case KN_SET_FREE: return fabs(u[0]);
  case KN_SET_POSITIVE: return box_map(0.0, INFINITY, r[0], u[0]);
  case KN_SET_BOX: return box_map(b->lo / d, b->hi / d, r[0], u[0]);
  case KN_SET_CONE2: return isinf(mu) ? stick_map(r, u, 2) : cone_map(mu, r, u, 2);
  case KN_SET_CONE3: return isinf(mu) ? stick_map(r, u, 3) : cone_map(mu, r, u, 3);
  case KN_SET_CONE4:
  case KN_SET_CONE5:
  case KN_SET_CONE6: {
    int rows = kn_set_rows(b->set);
    return isinf(mu) ? stick_map(r, u, rows) : tall_map(mu, r, u, rows);
  }
  }
  return INFINITY;
}

/* diagonal[i] = W_ii of the block's rows. floor: below it a row takes the problem's common unit instead. */
static inline bool add_rows(sums* s, const kn_block* b, int rows, const double* r, const double* u,
                            const double* q, const double* diagonal, double floor, double common) {
  double e = block_map(b, b->mu, 1.0, r, u);
  s->residual2 += e * e;
  double dn = diagonal[0] > floor ? 1.0 / sqrt(diagonal[0]) : common, dt = dn;
  double wt = rows == 3 ? 0.5 * (diagonal[1] + diagonal[2]) : rows == 2 ? diagonal[1] : 0.0;
  for (int i = 1; i < rows && rows > 3; i++) wt += diagonal[i] / (rows - 1);
  if (rows > 1 && wt > floor) dt = 1.0 / sqrt(wt);
  double rs[KN_SET_ROWS_MOST], us[KN_SET_ROWS_MOST];
  for (int i = 0; i < rows; i++) {
    double d = i == 0 ? dn : dt;
    s->q2 += q[i] * q[i], s->r2 += r[i] * r[i], s->u2 += u[i] * u[i];
    rs[i] = r[i] / d, us[i] = u[i] * d;
    s->q_max = kn_max(fabs(q[i] * d), s->q_max);
    s->r_max = kn_max(fabs(rs[i]), s->r_max);
    s->u_max = kn_max(fabs(us[i]), s->u_max);
  }
  double es = block_map(b, b->mu == 0.0 ? 0.0 : b->mu * (dn / dt), dn, rs, us);
  s->residual = kn_max(es, s->residual);
  return e < INFINITY && es < INFINITY; /* false for NaN too */
}

/* In a plane one of two components is zero: no root to wait for. */
static inline double length2(double a, double b) {
  return b == 0.0 ? fabs(a) : a == 0.0 ? fabs(b) : sqrt(a * a + b * b);
}

/* Square of cone_map of a contact in space. */
static inline double cone_map2(double mu, const double* r, const double* u) {
  double x[3] = {r[0] - (u[0] + mu * length2(u[1], u[2])), r[1] - u[1], r[2] - u[2]};
  double xt = length2(x[1], x[2]), e0 = r[0] - x[0], e1 = r[1] - x[1], e2 = r[2] - x[2];
  if (mu * xt <= -x[0]) {
    e0 = r[0], e1 = r[1], e2 = r[2];
  } else if (xt > mu * x[0]) {
    double s = (x[0] + mu * xt) / (1.0 + mu * mu), t = mu * s / xt;
    e0 = r[0] - s, e1 = r[1] - t * x[1], e2 = r[2] - t * x[2];
  }
  return e0 * e0 + e1 * e1 + e2 * e2;
}

/* As add_rows, of a contact in space with finite friction: divisions and roots only where they are needed. */
static inline __attribute__((always_inline)) bool add_cone(sums* s, double mu, const double* r,
                                                           const double* u, const double* q,
                                                           const double* diagonal, double floor,
                                                           double most) {
  double e2 = cone_map2(mu, r, u), wt = 0.5 * (diagonal[1] + diagonal[2]);
  double unit = sqrt(diagonal[0] > floor ? diagonal[0] : most > 0.0 ? most : 1.0);
  double unit_t = wt > floor ? sqrt(wt) : unit, dn = 1.0 / unit, dt = 1.0 / unit_t;
  double rs[3] = {r[0] * unit, r[1] * unit_t, r[2] * unit_t}, us[3] = {u[0] * dn, u[1] * dt, u[2] * dt};
  double es2 = cone_map2(mu * (dn * unit_t), rs, us);
  s->residual2 += e2;
  s->scaled2 = kn_max(es2, s->scaled2);
  s->q2 += (q[0] * q[0] + q[1] * q[1]) + q[2] * q[2];
  s->r2 += (r[0] * r[0] + r[1] * r[1]) + r[2] * r[2];
  s->u2 += (u[0] * u[0] + u[1] * u[1]) + u[2] * u[2];
  s->q_max = kn_max(kn_max(kn_max(fabs(q[2] * dt), fabs(q[1] * dt)), fabs(q[0] * dn)), s->q_max);
  s->r_max = kn_max(kn_max(kn_max(fabs(rs[2]), fabs(rs[1])), fabs(rs[0])), s->r_max);
  s->u_max = kn_max(kn_max(kn_max(fabs(us[2]), fabs(us[1])), fabs(us[0])), s->u_max);
  return e2 < INFINITY && es2 < INFINITY; /* false for NaN too */
}

/* Loops of a known length where it matters. */
static bool add_block(sums* s, const kn_block* b, const double* r, const double* u, const double* q,
                      const double* diagonal, double floor, double common) {
  if (b->set == KN_SET_CONE3) return add_rows(s, b, 3, r, u, q, diagonal, floor, common);
  return add_rows(s, b, kn_set_rows(b->set), r, u, q, diagonal, floor, common);
}

static inline void dense_diagonal(double* diagonal, const kn_problem* p, const kn_block* b) {
  size_t next = (size_t)p->rows + 1;
  const double* at = p->W + (size_t)b->row * next;
  if (b->set == KN_SET_CONE3)
    diagonal[0] = at[0], diagonal[1] = at[next], diagonal[2] = at[2 * next];
  else
    for (int i = 0, rows = kn_set_rows(b->set); i < rows; i++) diagonal[i] = at[(size_t)i * next];
}

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

/* u and the diagonal of a contact that meets only others like it; false when there are more kinds. */
static bool sparse_cone(double* u, double* diagonal, const kn_problem* p, const double* r, int b) {
  const kn_sparse* s = p->sparse;
  pair x = {0.0, 0.0}, y = x, z = x;
  double x2 = 0.0, y2 = 0.0, z2 = 0.0;
  for (int i = 0; i < 3; i++) diagonal[i] = 0.0;
  for (int k = s->start[b]; k < s->start[b + 1]; k++) {
    const kn_block* c = &p->block[s->col[k]];
    const double *v = s->value + s->at[k], *f = r + c->row;
    if (c->set != KN_SET_CONE3) return false;
    pair f0 = *(const pair*)f;
    x += *(const pair*)v * f0, y += *(const pair*)(v + 3) * f0, z += *(const pair*)(v + 6) * f0;
    x2 += v[2] * f[2], y2 += v[5] * f[2], z2 += v[8] * f[2];
    if (s->col[k] == b) diagonal[0] += v[0], diagonal[1] += v[4], diagonal[2] += v[8];
  }
  const double* q = p->q + p->block[b].row;
  u[0] = q[0] + ((x[0] + x[1]) + x2), u[1] = q[1] + ((y[0] + y[1]) + y2), u[2] = q[2] + ((z[0] + z[1]) + z2);
  return true;
}

/* u and the diagonal of one block. */
static void sparse_block(double* u, double* diagonal, const kn_problem* p, const double* r, int b) {
  const kn_sparse* s = p->sparse;
  int row = p->block[b].row, rows = kn_set_rows(p->block[b].set);
  if (rows == 3 && sparse_cone(u, diagonal, p, r, b)) return;
  for (int i = 0; i < rows; i++) u[i] = p->q[row + i], diagonal[i] = 0.0;
  for (int k = s->start[b]; k < s->start[b + 1]; k++) {
    int c = s->col[k], at = p->block[c].row, cols = kn_set_rows(p->block[c].set);
    const double* v = s->value + s->at[k];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < cols; j++) u[i] += v[i * cols + j] * r[at + j];
      if (c == b) diagonal[i] += v[i * cols + i];
    }
  }
}

static double largest_diagonal(const kn_problem* p) {
  double m = 0.0;
  if (p->W) {
    size_t n = (size_t)p->rows, i = 0;
    double most[4] = {0.0, 0.0, 0.0, 0.0};
    for (; i + 4 <= n; i += 4)
      for (size_t k = 0; k < 4; k++) most[k] = kn_max(p->W[(i + k) * (n + 1)], most[k]);
    for (; i < n; i++) most[0] = kn_max(p->W[i * (n + 1)], most[0]);
    return kn_max(kn_max(most[3], most[2]), kn_max(most[1], most[0]));
  }
  const kn_sparse* s = p->sparse;
  for (int b = 0; b < p->blocks; b++)
    for (int k = s->start[b]; k < s->start[b + 1]; k++) {
      if (s->col[k] != b) continue;
      for (int i = 0, rows = kn_set_rows(p->block[b].set); i < rows; i++)
        m = kn_max(s->value[s->at[k] + i * rows + i], m);
    }
  return m;
}

static const kn_judgement hopeless = {INFINITY, INFINITY};

static const kn_judge_ops* kernels(void) { return KN_BEST(&kn_judge_ops); }

static void put_cone(kn_judge_cones* c, double mu, const double* r, const double* u, const double* q,
                     const double* diagonal) {
  int k = c->count++;
  for (int i = 0; i < 3; i++) c->r[i][k] = r[i], c->u[i][k] = u[i], c->q[i][k] = q[i];
  c->wn[k] = diagonal[0], c->wt[k] = 0.5 * (diagonal[1] + diagonal[2]), c->mu[k] = mu;
}

static bool add_cones(sums* s, kn_judge_cones* c, const kn_judge_ops* ops) {
  bool finite = true;
  ops->cones(c);
  for (int k = 0; k < c->count; k++) {
    s->residual2 += c->e[k] * c->e[k], s->residual = kn_max(c->es[k], s->residual);
    s->q_max = kn_max(c->q_max[k], s->q_max);
    s->r_max = kn_max(c->r_max[k], s->r_max);
    s->u_max = kn_max(c->u_max[k], s->u_max);
    s->q2 += c->qq[k], s->r2 += c->rr[k], s->u2 += c->uu[k];
    finite &= c->e[k] < INFINITY && c->es[k] < INFINITY; /* false for NaN too */
  }
  c->count = 0;
  return finite;
}

enum { PART = KN_JUDGE_MOST }; /* blocks at a time */

/* Blocks from `first` on, at most PART; false: hopeless. */
static bool add_part(sums* s, const kn_problem* p, const double* r, int first, int last, kn_judge_cones* c,
                     const kn_judge_ops* ops) {
  double u[KN_SET_ROWS_MOST * PART], diagonal[KN_SET_ROWS_MOST];
  int start = p->block[first].row, end = last < p->blocks ? p->block[last].row : p->rows;
  if (p->W) ops->product(u, p->W + (size_t)start * (size_t)p->rows, p->q + start, r, p->rows, end - start);
  for (int b = first; b < last; b++) {
    const kn_block* k = &p->block[b];
    double* own = u + (k->row - start);
    if (p->W)
      dense_diagonal(diagonal, p, k);
    else
      sparse_block(own, diagonal, p, r, b);
    if (k->set == KN_SET_CONE3 && k->mu < INFINITY)
      put_cone(c, k->mu, r + k->row, own, p->q + k->row, diagonal);
    else if (!add_block(s, k, r + k->row, own, p->q + k->row, diagonal, c->floor, c->common))
      return false;
  }
  return kn_all_finite(u, end - start) && add_cones(s, c, ops);
}

static bool add_all(sums* s, const kn_problem* p, const double* r, double floor, double common) {
  const kn_judge_ops* ops = kernels();
  kn_judge_cones c;
  c.count = 0, c.floor = floor, c.common = common;
  if (!kn_all_finite(r, p->rows)) return false;
  for (int b = 0; b < p->blocks; b += PART)
    if (!add_part(s, p, r, b, b + PART < p->blocks ? b + PART : p->blocks, &c, ops)) return false;
  return true;
}

static inline __attribute__((always_inline)) kn_judgement judgement_of(const sums* s) {
  return kn_judge_relative(s->residual2, kn_max(sqrt(s->scaled2), s->residual),
                           (kn_judge_sizes){s->q2, s->r2, s->u2, s->q_max, s->r_max, s->u_max});
}

/* One contact in space. */
static inline bool is_single(const kn_problem* p) {
  return p->W && p->rows == 3 && p->blocks == 1 && p->block->set == KN_SET_CONE3 && p->block->mu < INFINITY;
}

static kn_judgement judge_one(const double* W, const double* q, const double* r, double mu) {
  sums s = {0};
  const double diagonal[3] = {W[0], W[4], W[8]};
  double u[3], zero = 0.0, most = kn_max(kn_max(W[8], W[4]), kn_max(W[0], 0.0));
  for (int i = 0; i < 3; i++) {
    u[i] = q[i] + ((W[3 * i] * r[0] + W[3 * i + 1] * r[1]) + W[3 * i + 2] * r[2]);
    zero += 0.0 * u[i] + 0.0 * r[i];
  }
  bool finite = zero == 0.0 && add_cone(&s, mu, r, u, q, diagonal, 1e-15 * most, most);
  return finite ? judgement_of(&s) : hopeless;
}

static __attribute__((noinline)) kn_judgement judge_many(const kn_problem* p, const double* r) {
  sums s = {0};
  double most = largest_diagonal(p), floor = 1e-15 * most;
  return add_all(&s, p, r, floor, most > 0.0 ? 1.0 / sqrt(most) : 1.0) ? judgement_of(&s) : hopeless;
}

kn_judgement kn_problem_judge(const kn_problem* p, const double* r) {
  return is_single(p) ? judge_one(p->W, p->q, r, p->block->mu) : judge_many(p, r);
}

double kn_problem_error(const kn_problem* p, const double* r) {
  return p && (r || !p->rows) ? kn_problem_judge(p, r).error : INFINITY;
}

double kn_problem_error_scaled(const kn_problem* p, const double* r) {
  return p && (r || !p->rows) ? kn_problem_judge(p, r).scaled : INFINITY;
}
