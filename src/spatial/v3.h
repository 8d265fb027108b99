/* 3-vectors by value, for code that computes with many of them in registers (collision): the by-value form of
   spatial.h, with the same order of operations. R is row-major, body to world. */
#pragma once

#include <math.h>

#include "base/extreme.h"
#include "spatial/spatial.h"

typedef struct v3 {
  double x, y, z;
} v3;

static inline v3 v3_of(const double* p) { return (v3){p[0], p[1], p[2]}; }
static inline void v3_to(double* p, v3 a) { p[0] = a.x, p[1] = a.y, p[2] = a.z; }
static inline v3 v3_add(v3 a, v3 b) { return (v3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline v3 v3_sub(v3 a, v3 b) { return (v3){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline v3 v3_neg(v3 a) { return (v3){-a.x, -a.y, -a.z}; }
static inline v3 v3_mul(v3 a, double s) { return (v3){a.x * s, a.y * s, a.z * s}; }
static inline v3 v3_axpy(v3 a, double s, v3 b) { return (v3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z}; }
static inline double v3_dot(v3 a, v3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline v3 v3_cross(v3 a, v3 b) {
  return (v3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double v3_norm2(v3 a) { return v3_dot(a, a); }
static inline double v3_norm(v3 a) { return sqrt(v3_dot(a, a)); }
static inline double v3_at(v3 a, int i) { return i == 0 ? a.x : i == 1 ? a.y : a.z; }
static inline v3 v3_axis(int i, double s) { return (v3){i == 0 ? s : 0, i == 1 ? s : 0, i == 2 ? s : 0}; }
static inline double v3_max_abs(v3 a) { return kn_max(kn_max(fabs(a.z), fabs(a.y)), fabs(a.x)); }

/* Unit vector and length; scaled first, so tiny and huge vectors keep full accuracy. Zero stays zero. */
static inline double v3_unit(v3* a) {
  double n2 = v3_norm2(*a), len;
  if (n2 > 1e-200 && n2 < 1e200) {
    len = sqrt(n2);
    *a = v3_mul(*a, 1 / len);
    return len;
  }
  double m = v3_max_abs(*a);
  if (m == 0) return 0;
  if (!(m < INFINITY)) { /* overflow must show, not pass for zero */
    *a = (v3){NAN, NAN, NAN};
    return NAN;
  }
  *a = (v3){a->x / m, a->y / m, a->z / m};
  len = v3_norm(*a);
  *a = v3_mul(*a, 1 / len);
  return len * m;
}

/* Some unit vector perpendicular to the unit vector a. */
static inline v3 v3_perp(v3 a) {
  v3 e = fabs(a.x) <= fabs(a.y) ? (fabs(a.x) <= fabs(a.z) ? (v3){1, 0, 0} : (v3){0, 0, 1})
                                : (fabs(a.y) <= fabs(a.z) ? (v3){0, 1, 0} : (v3){0, 0, 1});
  v3 p = v3_cross(a, e);
  return v3_mul(p, 1 / v3_norm(p));
}

static inline v3 m3_col(const double* R, int j) { return (v3){R[j], R[3 + j], R[6 + j]}; }
static inline v3 m3_mul(const double* R, v3 a) {
  return (v3){R[0] * a.x + R[1] * a.y + R[2] * a.z, R[3] * a.x + R[4] * a.y + R[5] * a.z,
              R[6] * a.x + R[7] * a.y + R[8] * a.z};
}
static inline v3 m3_tmul(const double* R, v3 a) {
  return (v3){R[0] * a.x + R[3] * a.y + R[6] * a.z, R[1] * a.x + R[4] * a.y + R[7] * a.z,
              R[2] * a.x + R[5] * a.y + R[8] * a.z};
}
static inline v3 v3_placed(const kn_pose* P, v3 a) { return v3_add(m3_mul(P->R, a), v3_of(P->p)); }
static inline v3 v3_local(const kn_pose* P, v3 a) { return m3_tmul(P->R, v3_sub(a, v3_of(P->p))); }
