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

/* Is it in the plane? */
KN_INLINE bool lone_moves(planar_pair x) { return kn_two_any((kn_two_bits)(x != (planar_pair){0.0, 0.0})); }

/* As contact_arrow and arrow_velocity, for the arrow w, with which no other is compared. */
KN_INLINE int aim_arrow(double* u, kn_planar_arrow* w, kn_data* d, int link_a, int link_b,
                        const double* point, const double* frame, double dt) {
  w->stamp = 0;
  if (!d->layout->chain || !d->planar_kin || d->planar_kin != d->kin.link || link_a == link_b) return 0;
  const double *e1 = (const double*)d->layout->link[0].R0, *e2 = e1 + 4, *p = point, *n = frame,
               *t = frame + 3, *s = frame + 6;
  planar_pair x = {e1[0], e2[0]}, y = {e1[1], e2[1]}, z = {e1[2], e2[2]};
  planar_pair at = x * p[0] + y * p[1] + z * p[2], normal = x * n[0] + y * n[1] + z * n[2];
  planar_pair first = x * t[0] + y * t[1] + z * t[2], second = x * s[0] + y * s[1] + z * s[2];
  bool one = lone_moves(first);
  if (one == lone_moves(second) || !lone_moves(normal)) return 0;
  planar_pair tangent = one ? first : second;
  planar_pair fx = {normal[0], tangent[0]}, fy = {normal[1], tangent[1]};
  lone_speed v = {{0.0, 0.0}, {0.0, 0.0}};
  w->pairs = 1, w->row[0][0] = 0, w->row[0][1] = one ? 1 : 2;
  w->link[0] = link_a, w->link[1] = link_b, w->top = link_a > link_b ? link_a : link_b;
  if (link_a >= 0) lone_side(w->force[0][0], &v, d, link_a, fx, fy, at);
  if (link_b >= 0) lone_side(w->force[0][1], &v, d, link_b, -fx, -fy, at);
  *(planar_pair*)u = v.before, *(planar_pair*)(u + 2) = v.before + dt * v.rate;
  return w->row[0][1];
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

/* On the way out: motion of the parent. */
typedef struct lone_motion {
  planar_pair al, x, y;
} lone_motion;

/* Column X = M⁻¹Jᵀ of a link, z = D⁻¹Y. */
KN_INLINE planar_pair lone_column(lone_motion* m, const kn_planar_link* p, planar_pair z) {
  planar_pair dv = z - (p->gn * m->al + (p->gfx * m->x + p->gfy * m->y));
  m->x -= m->al * p->ry, m->y += m->al * p->rx, m->al += dv;
  return dv;
}

/* Λ of the normal and the tangent t; nothing along the other. */
KN_INLINE void lone_lambda(double* Lambda, int t, planar_pair own, double cross) {
  int s = 3 - t;
  Lambda[0] = own[0], Lambda[t] = Lambda[3 * t] = cross, Lambda[4 * t] = own[1];
  Lambda[s] = Lambda[3 * s] = Lambda[4 * s] = Lambda[5] = Lambda[7] = 0.0;
}

static void lone_push(double* Lambda, kn_rows* rows, const kn_data* d) {
  const kn_planar_arrow* w = d->arrow;
  kn_rows_index* ix = rows->index;
  int nlink = d->model->nlink, top = w->top, t = w->row[0][1];
  const double* dinv = d->planar_dinv;
  planar_pair *Y = (planar_pair*)rows->Y, *X = (planar_pair*)ix->X;
  rows->rows = 3;
  ix->planar = ix->pairs = 1, ix->loose = 0, ix->solved = nlink <= KN_PLANAR_SHORT;
  ix->pair[0] = (kn_row_pair){.a = 0, .b = t, .top = top};
  lone_climb(Y, w, d);
  planar_pair z = Y[0] * dinv[0], own = z * Y[0], cross = z * __builtin_shufflevector(Y[0], Y[0], 1, 0);
  lone_motion m = {.al = z};
  X[0] = z;
  for (int i = 1; i <= top; i++) {
    planar_pair y = Y[i];
    z = y * dinv[i];
    own += z * y, cross += z * __builtin_shufflevector(y, y, 1, 0);
    if (ix->solved) X[i] = lone_column(&m, d->planar + i, z);
  }
  lone_lambda(Lambda, t, own, cross[1]);
  for (int i = top + 1; ix->solved && i < nlink; i++)
    X[i] = lone_column(&m, d->planar + i, (planar_pair){0.0, 0.0});
}
