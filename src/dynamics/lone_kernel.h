/* One contact on a chain in a plane (layout->chain) and no other rows: rows_planar.c without lists, the same
   operations in the same order. */

/* Rows of the normal and of the one tangent in the plane, side by side. */
typedef struct lone_speed {
  planar_pair before, rate; /* J v and J q̈ so far */
} lone_speed;

/* Force on a side with its moment about the link's origin, and what the link's motion adds to the speed. */
KN_INLINE void lone_side(double* to, lone_speed* u, const kn_data* d, int link, planar_pair x, planar_pair y,
                         planar_pair point) {
  int stride = kn_plane_stride(d->model->nlink);
  const double *o = d->kin.plane + KN_PLANE_X * stride + link, *m = d->kin.plane + KN_PLANE_W * stride + link;
  const kn_planar_link* p = &d->planar[link];
  planar_pair n = (point[0] - o[0]) * y - (point[1] - o[stride]) * x;
  *(planar_pair*)to = n, *(planar_pair*)(to + 2) = x, *(planar_pair*)(to + 4) = y;
  u->before += n * m[0] + x * m[stride] + y * m[2 * stride];
  u->rate += n * p->al + x * p->bx + y * p->by;
}

/* The arrow of a contact on two different links, whose number it has already, and u = (J v, J (v + dt q̈)) of
   its two rows; false: it is not a contact in the plane. As contact_arrow and arrow_velocity. */
static bool lone_aim(double* u, kn_planar_arrow* w, const kn_data* d, const double* point,
                     const double* frame, double dt) {
  const double *e1 = (const double*)d->layout->link[0].R0, *e2 = e1 + 4, *p = point, *n = frame,
               *t = frame + 3, *s = frame + 6;
  planar_pair x = {e1[0], e2[0]}, y = {e1[1], e2[1]}, z = {e1[2], e2[2]};
  planar_pair at = x * p[0] + y * p[1] + z * p[2], normal = x * n[0] + y * n[1] + z * n[2];
  planar_pair first = x * t[0] + y * t[1] + z * t[2], second = x * s[0] + y * s[1] + z * s[2];
  bool one = fabs(first[0]) + fabs(first[1]) > 0.0, two = fabs(second[0]) + fabs(second[1]) > 0.0;
  if (one == two || !(fabs(normal[0]) + fabs(normal[1]) > 0.0)) return false;
  planar_pair tangent = one ? first : second;
  planar_pair fx = {normal[0], tangent[0]}, fy = {normal[1], tangent[1]};
  lone_speed v = {{0.0, 0.0}, {0.0, 0.0}};
  w->pairs = 1, w->row[0][0] = 0, w->row[0][1] = one ? 1 : 2;
  if (w->link[0] >= 0) lone_side(w->force[0][0], &v, d, w->link[0], fx, fy, at);
  if (w->link[1] >= 0) lone_side(w->force[0][1], &v, d, w->link[1], -fx, -fy, at);
  *(planar_pair*)u = v.before, *(planar_pair*)(u + 2) = v.before + dt * v.rate;
  return true;
}

/* Y of both rows: the farther side climbs, the nearer joins it. */
KN_INLINE void lone_climb(planar_pair* Y, const kn_planar_arrow* w, const kn_data* d) {
  int far = w->link[0] > w->link[1] ? 0 : 1, low = w->link[1 - far];
  const double *f = w->force[0][far], *g = w->force[0][1 - far];
  planar_pair n = *(const planar_pair*)f, x = *(const planar_pair*)(f + 2), y = *(const planar_pair*)(f + 4);
  const kn_planar_link* p = d->planar + w->top;
  for (int i = w->top;; i--, p--) {
    if (i == low) {
      n += *(const planar_pair*)g, x += *(const planar_pair*)(g + 2), y += *(const planar_pair*)(g + 4);
    }
    planar_pair m = n;
    Y[i] = m;
    if (i == 0) return;
    n = (m - (x * p->ry - y * p->rx)) - p->gn * m;
    x -= p->gfx * m, y -= p->gfy * m;
  }
}

/* Y, the three numbers of Λ (normal, between, tangent) and the columns X = M⁻¹Jᵀ, NULL: not these. */
static void lone_push(double* lambda, double* Y, double* X, const kn_planar_arrow* w, const kn_data* d) {
  const double* dinv = d->planar_dinv;
  const kn_planar_link* p = d->planar;
  planar_pair own = {0.0, 0.0}, cross = own, al = own, x = own, y = own, *to = (planar_pair*)Y,
              *column = (planar_pair*)X;
  int top = w->top, i = 0;
  lone_climb(to, w, d);
  for (; i <= top; i++, p++) {
    planar_pair m = to[i], z = m * dinv[i];
    own += z * m, cross += z * __builtin_shufflevector(m, m, 1, 0);
    if (!X) continue;
    planar_pair dv = z - (p->gn * al + (p->gfx * x + p->gfy * y));
    x -= al * p->ry, y += al * p->rx, al += dv;
    column[i] = dv;
  }
  for (; X && i < d->model->nlink; i++, p++) {
    planar_pair dv = -(p->gn * al + (p->gfx * x + p->gfy * y));
    x -= al * p->ry, y += al * p->rx, al += dv;
    column[i] = dv;
  }
  lambda[0] = own[0], lambda[1] = cross[1], lambda[2] = own[1];
}
