/* Position repair of one contact that was alone in its step and is the only one after it (project.c): the
   first correction with the step's own rows, in closed form,

     d = M⁻¹ Jᵀ λ,   Λ λ = b,   b = -(gap, slip),   λ_n >= 0,

   the tangent row first, as kn_least_norm orders rows held both ways. In a plane one of the tangents cannot
   move anything; whatever else there may be goes the general way. */
#include <math.h>

#include "step/project_one.h"

bool kn_one_contact(const kn_sim* s) {
  return s->reusable && s->bare && !s->soft && s->set.count == 1 && s->set.rows == 3 && s->contacts == 1 &&
         s->afters == 1 && s->contact->key == s->after->key && s->settings.projection;
}

/* λ of the rows; anchored: with a tangent, row t, of the two the one that can move. False: the general way.
 */
static bool push_back(double lambda[3], const double* W, const double b[3], bool anchored) {
  double least = 1e-12 * kn_max(kn_max(W[0], W[4]), W[8]);
  int t = W[4] > least ? 1 : 2;
  lambda[1] = lambda[2] = 0.0;
  if (!anchored) {
    lambda[0] = b[0] / W[0];
    return W[0] > least && b[0] > 0.0;
  }
  if (!(W[0] > least) || (W[4] > least) == (W[8] > least)) return false;
  double inverse = 1.0 / W[4 * t], w = W[3 * t];
  if (!(b[0] > 0.0)) {
    lambda[0] = 0.0, lambda[t] = b[t] / W[4 * t];
    return lambda[t] != 0.0 && w * lambda[t] >= b[0] - 1e-15;
  }
  double z = b[t] * inverse, pivot = W[0] - w * inverse * w;
  lambda[0] = (b[0] - z * w) * (1.0 / pivot);
  lambda[t] = z - inverse * (w * lambda[0]);
  return pivot > 0.01 * W[0] && lambda[0] >= 0.0;
}

/* s->v_mean = M⁻¹ Jᵀ λ; returns its largest. */
static double motion_of(kn_sim* s, const double lambda[3]) {
  int row[2], nv = s->model->nv;
  const double* X = kn_rows_columns(row, &s->work->factored);
  if (!X) {
    kn_data_swap(s->data); /* the factors belong to the poses of q_m */
    kn_rows_apply(s->v_mean, &s->work->factored, s->data, s->model, lambda);
    kn_data_swap(s->data);
    return kn_fours_largest(s->v_mean, nv);
  }
  kn_two l = {lambda[row[0]], row[1] != row[0] ? lambda[row[1]] : 0.0}, most = {0.0, 0.0};
  for (int i = 0; i < nv; i += 2, X += 4) {
    kn_two a = l * *(const kn_two*)X, b = {0.0, 0.0};
    if (i + 1 < nv) b = l * *(const kn_two*)(X + 2);
    kn_two d = (kn_two){a[0], b[0]} + (kn_two){a[1], b[1]};
    *(kn_two*)(s->v_mean + i) = d;
    most = kn_two_larger(kn_two_size(d), most);
  }
  return kn_max(most[0], most[1]);
}

/* b and the largest violation. */
static double violations(double b[3], kn_sim* s, const kn_anchor* anchor) {
  const kn_contact* c = s->after;
  double deepest = kn_max(0.0, -c->gap), r[2] = {0.0, 0.0};
  if (anchor) kn_anchor_residual(r, s, anchor, c);
  b[0] = -c->gap, b[1] = -r[0], b[2] = -r[1];
  s->report.penetration = deepest;
  return kn_max(deepest, kn_max(fabs(r[0]), fabs(r[1])));
}

static void move(kn_sim* s, double* q) {
  const kn_model* m = s->model;
  if (m->nq == m->nv) {
    kn_fours_add(q, q, 1.0, s->v_mean, m->nv);
    return;
  }
  kn_dyn_integrate(s->q_try, m, q, s->v_mean, 1.0);
  kn_fours_copy(q, s->q_try, m->nq);
}

kn_one kn_repair_one(kn_sim* s, double* q, double* worst, double* left) {
  kn_contact* c = s->after;
  const kn_contact* before = s->contact;
  kn_anchors list = kn_anchors_of(s->blocks.anchors);
  kn_anchor* anchor = s->settings.anchors ? kn_anchor_next(&list, c->key) : NULL;
  double b[3], lambda[3], Jd[3];
  const double* W = s->work->W;
  *worst = violations(b, s, anchor);
  s->report.lift = before->impulse[0] > 0.0 && !before->impact ? kn_max(0.0, c->gap) : 0.0;
  if (kn_good_enough(*worst, s->report.penetration)) return KN_ONE_DONE;
  if (*worst > KN_QUICK_MOST || !push_back(lambda, W, b, anchor)) return KN_ONE_OTHER;
  double largest = motion_of(s, lambda);
  if (!(largest <= KN_QUICK_MOST)) return KN_ONE_OTHER;
  for (int i = 0; i < 3; i++) Jd[i] = (W[i] * lambda[0] + W[3 + i] * lambda[1]) + W[6 + i] * lambda[2];
  if (anchor) kn_anchor_roll(anchor, c, Jd + 1);
  move(s, q);
  kn_fours_copy(s->shift, s->v_mean, s->model->nv);
  s->moved_once = true;
  s->report.correction = largest;
  s->moved_on = largest <= KN_FORESEEN;
  if (s->moved_on) {
    c->gap += Jd[0];
    s->report.penetration = *worst = kn_max(0.0, -c->gap);
    if (*worst <= 0.1 * KN_WORTH) return KN_ONE_DONE;
  }
  *left = kn_max(kn_max(b[0], 0.0), kn_max(fabs(b[1]), fabs(b[2])));
  for (int r = 0; r < 3; r++) s->pushed[r] = lambda[r] > 0.0;
  return KN_ONE_MOVED;
}
