/* Time of impact by conservative advancement (Mirtich 1996; directional bound as in Zhang, Lee and Kim 2006).

   At time t the shapes have gap g and normal n: n.(a - b) >= g for all their points a, b (convex). A point of
   A at r from the centre has n-velocity n.v_a + (n x w_a).r', |r'| = |r| <= r_a for ever after, and n x w_a
   is normal to w_a, so n.(a - b)(t + s) >= g - s mu,   mu = n.(v_b - v_a) + |n x w_a| r_a + |n x w_b| r_b. mu
   <= 0 proves that they never meet; otherwise s = g/mu is safe. A mesh is not convex: there every point is at
   least g away, so mu = |v_b - v_a| + |w_a| r_a + |w_b| r_b. A quarter of the tolerance is kept in hand
   against the rounding of the distance. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "collide/broad.h"
#include "collide/vec3.h"
#include "knuckle/cast.h"
#include "math/sincos.h"

kn_toi_settings kn_toi_default(void) { return (kn_toi_settings){.tolerance = 1e-6, .max_steps = 1000}; }

/* exp(t [w]) by Rodrigues' formula. */
static void rotation(double R[9], v3 w, double t) {
  double rate = v3_norm(w), s, c;
  kn_sincos(&s, &c, rate * t);
  v3 u = w;
  if (!(v3_unit(&u) > 0)) u = (v3){0, 0, 0}, s = 0, c = 1;
  double k = 1 - c;
  if (fabs(s) < 0.1 && c > 0) k = s * s / (1 + c); /* no cancellation */
  double M[9] = {
      1 - k * (u.y * u.y + u.z * u.z), k * u.x * u.y - s * u.z,         k * u.x * u.z + s * u.y,
      k * u.x * u.y + s * u.z,         1 - k * (u.x * u.x + u.z * u.z), k * u.y * u.z - s * u.x,
      k * u.x * u.z - s * u.y,         k * u.y * u.z + s * u.x,         1 - k * (u.x * u.x + u.y * u.y)};
  memcpy(R, M, sizeof M);
}

void kn_sweep_pose(kn_pose* out, const kn_sweep* s, double t) {
  v3 c = v3_of(s->centre), r = v3_sub(v3_of(s->start.p), c), w = v3_of(s->w);
  c = v3_axpy(c, t, v3_of(s->v));
  if (w.x == 0 && w.y == 0 && w.z == 0) {
    *out = s->start;
    v3_to(out->p, v3_add(c, r));
    return;
  }
  double E[9];
  rotation(E, w, t);
  for (int j = 0; j < 3; j++) {
    v3 col = m3_mul(E, m3_col(s->start.R, j));
    out->R[j] = col.x, out->R[3 + j] = col.y, out->R[6 + j] = col.z;
  }
  v3_to(out->p, v3_add(c, m3_mul(E, r)));
}

/* Radius about the centre of rotation, slightly enlarged for rounding; 0 when it does not turn. */
static double turning_radius(const kn_shape* s, const kn_sweep* m) {
  if (m->w[0] == 0 && m->w[1] == 0 && m->w[2] == 0) return 0;
  return (kn_shape_radius(s) + v3_norm(v3_sub(v3_of(m->start.p), v3_of(m->centre)))) * (1 + 1e-12);
}

static bool finite_sweep(const kn_sweep* m) {
  double s = 0;
  for (int k = 0; k < 3; k++) s += fabs(m->centre[k]) + fabs(m->w[k]) + fabs(m->v[k]);
  return isfinite(s);
}

static kn_status check(const kn_shape* a, const kn_sweep* ma, const kn_shape* b, const kn_sweep* mb,
                       double t_max, const kn_toi_settings* s) {
  if (!finite_sweep(ma) || !finite_sweep(mb))
    return kn_fail(KN_NOT_FINITE, "time of impact: a motion is not finite");
  if (!(t_max >= 0) || !isfinite(t_max)) return kn_fail(KN_BAD_ARGUMENT, "time of impact: t_max %g", t_max);
  if (!(s->tolerance > 0) || s->max_steps < 1)
    return kn_fail(KN_BAD_ARGUMENT, "time of impact: tolerance %g, max_steps %d", s->tolerance, s->max_steps);
  for (int i = 0; i < 2; i++) {
    const kn_shape* shape = i ? b : a;
    const double* w = i ? mb->w : ma->w;
    if (shape->type == KN_SHAPE_PLANE && (w[0] != 0 || w[1] != 0 || w[2] != 0))
      return kn_fail(KN_UNSUPPORTED, "time of impact: a plane that turns sweeps everything");
    if ((shape->type == KN_SHAPE_HULL && !shape->hull) || (shape->type == KN_SHAPE_MESH && !shape->mesh))
      return kn_fail(KN_BAD_ARGUMENT, "time of impact: shape without its hull or mesh");
  }
  return KN_OK;
}

/* Upper bound on how fast the gap closes from now on, slightly enlarged for rounding. */
static double closing_rate(v3 n, const kn_sweep* a, double ra, const kn_sweep* b, double rb, bool convex) {
  v3 v = v3_sub(v3_of(b->v), v3_of(a->v)), wa = v3_of(a->w), wb = v3_of(b->w);
  double slack = 1e-14 * (v3_norm(v3_of(a->v)) + v3_norm(v3_of(b->v)));
  if (convex) return v3_dot(n, v) + v3_norm(v3_cross(n, wa)) * ra + v3_norm(v3_cross(n, wb)) * rb + slack;
  return v3_norm(v) + v3_norm(wa) * ra + v3_norm(wb) * rb + slack;
}

kn_status kn_time_of_impact(kn_toi_result* out, const kn_shape* a, const kn_sweep* sweep_a, const kn_shape* b,
                            const kn_sweep* sweep_b, double t_max, const kn_toi_settings* settings,
                            kn_pair_cache* cache) {
  kn_toi_settings s = settings ? *settings : kn_toi_default();
  KN_REQUIRE(out && a && sweep_a && b && sweep_b);
  memset(out, 0, sizeof *out);
  KN_TRY(check(a, sweep_a, b, sweep_b, t_max, &s));
  kn_pair_cache own;
  if (!cache) {
    memset(&own, 0, sizeof own);
    cache = &own;
  }
  bool convex = a->type != KN_SHAPE_MESH && b->type != KN_SHAPE_MESH;
  double ra = turning_radius(a, sweep_a), rb = turning_radius(b, sweep_b);
  for (out->steps = 1;; out->steps++) {
    kn_pose A, B;
    kn_sweep_pose(&A, sweep_a, out->t);
    kn_sweep_pose(&B, sweep_b, out->t);
    KN_TRY(kn_distance(&out->distance, a, &A, b, &B, cache));
    double gap = out->distance.gap;
    if (gap <= s.tolerance) {
      out->state = out->t == 0 ? KN_TOI_OVERLAP : KN_TOI_TOUCH;
      return KN_OK;
    }
    if (out->t >= t_max) {
      out->state = KN_TOI_SEPARATE;
      return KN_OK;
    }
    if (out->steps >= s.max_steps) {
      out->state = KN_TOI_UNDECIDED;
      return KN_OK;
    }
    double rate = closing_rate(v3_of(out->distance.normal), sweep_a, ra, sweep_b, rb, convex);
    double step = (gap - 0.25 * s.tolerance) / rate;
    if (!(rate > 0) || out->t + step > t_max) {
      /* proven apart for the rest; the distance at the end is still reported */
      out->t = t_max;
    } else {
      out->t += step;
    }
  }
}
