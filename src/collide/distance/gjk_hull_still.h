/* Is last frame's simplex of two hulls still the nearest? Nearly always it is when bodies move slowly, so
   this is asked first, in registers and in world axes: w_i = R_A a_i - R_B b_i + p_A - p_B, v the nearest
   point of the w_i, and the support of M along -v must not be nearer (gjk_hull_kernel.h, from which this is
   included). Then v / |v| is the normal and the a_i, already turned, give the witness; nothing has to be
   turned back. When the answer is no, nothing has been changed. */

#if KN_W == 2 /* registers too short: the same operations one by one */
typedef v3 xyz;
LANES xyz xyz_at(const double* p) { return v3_of(p); }
LANES xyz xyz_position(const double* pose) { return v3_of(pose + 9); }
LANES xyz xyz_column(const double* pose, int j) { return m3_col(pose, j); }
LANES xyz xyz_add(xyz a, xyz b) { return v3_add(a, b); }
LANES xyz xyz_sub(xyz a, xyz b) { return v3_sub(a, b); }
LANES xyz xyz_mul(xyz a, double s) { return v3_mul(a, s); }
LANES double xyz_dot(xyz a, xyz b) { return v3_dot(a, b); }
LANES xyz xyz_cross(xyz a, xyz b) { return v3_cross(a, b); }
LANES v3 xyz_parts(xyz a) { return a; }
LANES void xyz_put(double* p, xyz a) { v3_to(p, a); }
#else
/* Vectors of three in the lanes 0 to 2; lane 3 holds anything finite. */
typedef row xyz;
LANES xyz xyz_at(const double* p) { return row_at(p); }
LANES xyz xyz_position(const double* pose) {
  row p = row_at(pose + 8);
  return __builtin_shufflevector(p, p, 1, 2, 3, 0);
}
LANES xyz xyz_column(const double* pose, int j) {
  return ROW_BLEND(ROW_BLEND(row_at(pose + j), row_at(pose + j + 2), 2), row_at(pose + j + 4), 4);
}
LANES xyz xyz_add(xyz a, xyz b) { return a + b; }
LANES xyz xyz_sub(xyz a, xyz b) { return a - b; }
LANES xyz xyz_mul(xyz a, double s) { return a * row_all(s); }
LANES double xyz_dot(xyz a, xyz b) {
  row p = a * b;
  return p[0] + p[1] + p[2];
}
LANES xyz xyz_cross(xyz a, xyz b) {
  row c = a * __builtin_shufflevector(b, b, 1, 2, 0, 3) - __builtin_shufflevector(a, a, 1, 2, 0, 3) * b;
  return __builtin_shufflevector(c, c, 1, 2, 0, 3);
}
LANES v3 xyz_parts(xyz a) { return (v3){a[0], a[1], a[2]}; }
LANES void xyz_put(double* p, xyz a) { *(loose4*)p = a; } /* and one number behind it */
#endif
LANES xyz xyz_axpy(xyz a, double s, xyz b) { return xyz_add(a, xyz_mul(b, s)); }
LANES xyz xyz_sum(xyz a, double x, xyz b, double y, xyz c, double z) {
  return xyz_add(xyz_add(xyz_mul(a, x), xyz_mul(b, y)), xyz_mul(c, z));
}

typedef struct turner { /* one body's axes */
  const kn_hull* hull;
  xyz c[3];
} turner;

LANES turner turner_of(const kn_hull* h, const double* pose) {
  return (turner){h, {xyz_column(pose, 0), xyz_column(pose, 1), xyz_column(pose, 2)}};
}
LANES xyz turned_vertex(const turner* t, int i) {
  return xyz_sum(t->c[0], t->hull->x[i], t->c[1], t->hull->y[i], t->c[2], t->hull->z[i]);
}
LANES v3 turned_back(const double* pose, v3 v) {
  return xyz_parts(xyz_sum(xyz_at(pose), v.x, xyz_at(pose + 3), v.y, xyz_at(pose + 6), v.z));
}

/* The nearest point of the n points w, and the same mean of the points a; false when it is on their
   boundary. */
LANES bool mean_of(xyz* v, xyz* on_a, const xyz* w, const xyz* a, int n) {
  *v = w[0], *on_a = a[0];
  if (n == 1) return true;
  xyz e = xyz_sub(w[1], w[0]);
  double ee = xyz_dot(e, e);
  if (n == 2) {
    double along = -xyz_dot(w[0], e), t = along / ee;
    *v = xyz_axpy(w[0], t, e);
    *v = xyz_axpy(*v, -(xyz_dot(*v, e) / ee), e);
    *on_a = xyz_axpy(xyz_mul(a[0], 1 - t), t, a[1]);
    return along > 0 && along < ee;
  }
  xyz f = xyz_sub(w[2], w[0]), m = xyz_cross(e, f);
  double mm = xyz_dot(m, m), per = 1 / mm;
  double b = -xyz_dot(m, xyz_cross(w[0], f)) * per, c = -xyz_dot(m, xyz_cross(e, w[0])) * per;
  *v = xyz_mul(m, xyz_dot(m, w[0]) * per);
  *on_a = xyz_sum(a[0], 1 - b - c, a[1], b, a[2], c);
  return (mm > 1e-28 * ee * xyz_dot(f, f)) & (b >= 0) & (c >= 0) & (b + c <= 1);
}

LANES void write_nearest(kn_distance_result* out, xyz n, double gap, xyz on_a) {
  out->gap = gap;
  xyz_put(out->normal, n), xyz_put(out->on_a, on_a);
  v3_to(out->on_b, xyz_parts(xyz_axpy(on_a, -gap, n)));
}

LANES bool still_nearest(kn_distance_result* out, const kn_pair* q, int n) {
  const double *A = (const double*)q->A, *B = (const double*)q->B;
  const turner ta = turner_of(q->a->hull, A), tb = turner_of(q->b->hull, B);
  kn_pair_cache* cache = q->cache;
  xyz apart = xyz_sub(xyz_position(A), xyz_position(B)), a[3], w[3], v, on_a;
  UNROLL for (int i = 0; i < n; i++) {
    int ia = cache->simplex[i][0], ib = cache->simplex[i][1];
    if ((unsigned)ia >= (unsigned)ta.hull->nv || (unsigned)ib >= (unsigned)tb.hull->nv) return false;
    a[i] = turned_vertex(&ta, ia), w[i] = xyz_add(xyz_sub(a[i], turned_vertex(&tb, ib)), apart);
  }
  if (!mean_of(&v, &on_a, w, a, n)) return false;
  double vv = xyz_dot(v, v), size = ta.hull->radius + tb.hull->radius;
  if (!(vv > 1e-24 * size * size) || !(vv < 1e250)) return false; /* overlap, or numbers that overflow */
  v3 parts = xyz_parts(v), da = turned_back(A, parts), db = turned_back(B, parts);
  int ia = toward(ta.hull, -da.x, -da.y, -da.z, cache->simplex[n - 1][0]);
  int ib = toward(tb.hull, db.x, db.y, db.z, cache->simplex[n - 1][1]);
  xyz far = xyz_add(xyz_sub(turned_vertex(&ta, ia), turned_vertex(&tb, ib)), apart);
  double wv = xyz_dot(far, v), dist = sqrt(vv), per = 1 / dist;
  if (!(vv - wv <= 1e-12 * vv + 1e-16 * size * dist)) return false;
  v3_to(cache->normal, v3_mul(da, per));
  write_nearest(out, xyz_mul(v, per), dist, xyz_add(on_a, xyz_position(A)));
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
