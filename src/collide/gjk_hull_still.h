/* Is last frame's simplex of two hulls still the nearest? Nearly always it is when bodies move slowly, so
   this is asked first, in registers and in world axes: w_i = R_A a_i - R_B b_i + p_A - p_B, v the nearest
   point of the w_i, and the support of M along -v must not be nearer (gjk_hull_kernel.h, from which this is
   included). Then v / |v| is the normal and the a_i, already turned, give the witness; nothing has to be
   turned back. When the answer is no, nothing has been changed. */

/* Vectors of three in the lanes 0 to 2; lane 3 holds anything finite. */
LANES row xyz_column(const double* pose, int j) {
  return ROW_BLEND(ROW_BLEND(row_at(pose + j), row_at(pose + j + 2), 2), row_at(pose + j + 4), 4);
}
LANES row xyz_shifted(row a) { return __builtin_shufflevector(a, a, 1, 2, 3, 0); }
LANES double xyz_dot(row a, row b) {
  row p = a * b;
  return p[0] + p[1] + p[2];
}
LANES row xyz_cross(row a, row b) {
  row c = a * __builtin_shufflevector(b, b, 1, 2, 0, 3) - __builtin_shufflevector(a, a, 1, 2, 0, 3) * b;
  return __builtin_shufflevector(c, c, 1, 2, 0, 3);
}

typedef struct turner { /* one body's axes */
  const kn_hull* hull;
  row c[3];
} turner;

LANES turner turner_of(const kn_hull* h, const double* pose) {
  return (turner){h, {xyz_column(pose, 0), xyz_column(pose, 1), xyz_column(pose, 2)}};
}
LANES row turned_vertex(const turner* t, int i) {
  return t->c[0] * row_all(t->hull->x[i]) + t->c[1] * row_all(t->hull->y[i]) +
         t->c[2] * row_all(t->hull->z[i]);
}
LANES row turned_back(const double* pose, row v) {
  return row_at(pose) * row_all(v[0]) + row_at(pose + 3) * row_all(v[1]) + row_at(pose + 6) * row_all(v[2]);
}

/* The nearest point of the n points w, and the same mean of the points a; false when it is on their
   boundary. */
LANES bool mean_of(row* v, row* on_a, const row* w, const row* a, int n) {
  *v = w[0], *on_a = a[0];
  if (n == 1) return true;
  row e = w[1] - w[0];
  double ee = xyz_dot(e, e);
  if (n == 2) {
    double along = -xyz_dot(w[0], e), t = along / ee;
    *v = w[0] + row_all(t) * e;
    *v = *v - row_all(xyz_dot(*v, e) / ee) * e;
    *on_a = row_all(1 - t) * a[0] + row_all(t) * a[1];
    return along > 0 && along < ee;
  }
  row f = w[2] - w[0], m = xyz_cross(e, f);
  double mm = xyz_dot(m, m), per = 1 / mm;
  double b = -xyz_dot(m, xyz_cross(w[0], f)) * per, c = -xyz_dot(m, xyz_cross(e, w[0])) * per;
  *v = m * row_all(xyz_dot(m, w[0]) * per);
  *on_a = row_all(1 - b - c) * a[0] + row_all(b) * a[1] + row_all(c) * a[2];
  return (mm > 1e-28 * ee * xyz_dot(f, f)) & (b >= 0) & (c >= 0) & (b + c <= 1);
}

LANES void write_nearest(kn_distance_result* out, row n, double gap, row on_a) {
  row on_b = on_a + row_all(-gap) * n;
  out->gap = gap;
  *(loose4*)out->normal = n; /* lane 3 is overwritten by what follows */
  *(loose4*)out->on_a = on_a;
  out->on_b[0] = on_b[0], out->on_b[1] = on_b[1], out->on_b[2] = on_b[2];
}

LANES bool still_nearest(kn_distance_result* out, const kn_pair* q, int n) {
  const double *A = (const double*)q->A, *B = (const double*)q->B;
  const turner ta = turner_of(q->a->hull, A), tb = turner_of(q->b->hull, B);
  kn_pair_cache* cache = q->cache;
  row between_them = xyz_shifted(row_at(A + 8) - row_at(B + 8)), a[3], w[3], v, on_a;
  UNROLL for (int i = 0; i < n; i++) {
    int ia = cache->simplex[i][0], ib = cache->simplex[i][1];
    if ((unsigned)ia >= (unsigned)ta.hull->nv || (unsigned)ib >= (unsigned)tb.hull->nv) return false;
    a[i] = turned_vertex(&ta, ia), w[i] = a[i] - turned_vertex(&tb, ib) + between_them;
  }
  if (!mean_of(&v, &on_a, w, a, n)) return false;
  double vv = xyz_dot(v, v), size = ta.hull->radius + tb.hull->radius;
  if (!(vv > 1e-24 * size * size) || !(vv < 1e250)) return false; /* overlap, or numbers that overflow */
  row da = turned_back(A, v), db = turned_back(B, v);
  int ia = toward(ta.hull, -da[0], -da[1], -da[2], cache->simplex[n - 1][0]);
  int ib = toward(tb.hull, db[0], db[1], db[2], cache->simplex[n - 1][1]);
  double wv = xyz_dot(turned_vertex(&ta, ia) - turned_vertex(&tb, ib) + between_them, v), dist = sqrt(vv);
  if (!(vv - wv <= 1e-12 * vv + 1e-16 * size * dist)) return false;
  double per = 1 / dist;
  da = da * row_all(per);
  cache->normal[0] = da[0], cache->normal[1] = da[1], cache->normal[2] = da[2];
  write_nearest(out, v * row_all(per), dist, on_a + xyz_shifted(row_at(A + 8)));
  return true;
}

static bool still_apart(kn_distance_result* out, const kn_pair* q) {
  switch (q->cache->simplex_count) {
  case 1: return still_nearest(out, q, 1);
  case 2: return still_nearest(out, q, 2);
  case 3: return still_nearest(out, q, 3);
  default: return false;
  }
}
