/* Position repair of one contact of a mechanism in a plane that was alone in its step and is the only one
   after it (project.c): the first correction with the step's own rows, normal n and tangent t, in closed
   form,

     d = M⁻¹ Jᵀ λ,   Λ λ = b,   b = -(gap, slip),   λ_n >= 0,

   the tangent first, as kn_least_norm orders rows held both ways. Whatever else there may be goes the general
   way, with the same results. */
#include <math.h>

#include "spatial/spatial.h"
#include "step/repair/project_one.h"

typedef struct two_rows {
  double n, t;
} two_rows;

bool kn_one_contact(const kn_sim* s) {
  return s->reusable && s->bare && !s->soft && s->set.count == 1 && s->set.rows == 3 && s->contacts == 1 &&
         s->afters == 1 && s->contact->key == s->after->key && s->settings.projection;
}

/* λ, Λ = (nn, nt; nt, tt); anchored: t is held. False: the general way. */
static inline bool push_back(two_rows* lambda, double nn, double nt, double tt, two_rows b, bool anchored) {
  *lambda = (two_rows){0.0, 0.0};
  if (!(nn > 1e-12 * tt)) return false;
  if (!anchored) {
    lambda->n = b.n / nn;
    return b.n > 0.0;
  }
  if (!(tt > 1e-12 * nn)) return false;
  if (!(b.n > 0.0)) {
    lambda->t = b.t / tt;
    return lambda->t != 0.0 && nt * lambda->t >= b.n - 1e-15;
  }
  double inverse = 1.0 / tt, z = b.t * inverse, pivot = nn - nt * inverse * nt;
  lambda->n = (b.n - z * nt) * (1.0 / pivot);
  lambda->t = z - inverse * (nt * lambda->n);
  return pivot > 0.01 * nn && lambda->n >= 0.0;
}

/* s->v_mean = M⁻¹ Jᵀ λ; returns its largest. */
static inline double motion_of(kn_sim* s, const double* X, int t, two_rows lambda) {
  int nv = s->model->nv;
  double* d = s->v_mean;
  if (!X) {
    double all[3] = {lambda.n, 0.0, 0.0};
    all[t] = lambda.t;
    kn_data_swap(s->data); /* the factors belong to the poses of q_m */
    kn_rows_apply(d, &s->work->factored, s->data, s->model, all);
    kn_data_swap(s->data);
    return kn_fours_largest(d, nv);
  }
  kn_two l = {lambda.n, lambda.t}, most = {0.0, 0.0};
  for (int i = 0; i < nv; i += 2, X += 4) { /* there is room behind X, with zeros (fours.h) */
    kn_two a = l * *(const kn_two*)X, b = l * *(const kn_two*)(X + 2);
    kn_two both = (kn_two){a[0], b[0]} + (kn_two){a[1], b[1]};
    *(kn_two*)(d + i) = both;
    most = kn_two_larger(kn_two_size(both), most);
  }
  return kn_max(most[0], most[1]);
}

/* The gap and the slip at q; false: another contact is near. */
static bool look_again(double* slip, kn_sim* s, const double* q, const kn_anchor* anchor) {
  double r[2] = {0.0, 0.0};
  kn_ledger_arrive_again(s, q);
  if (!kn_detect_gaps(s->after, 1, s->detector, s->data, s->settings.gtol)) return false;
  if (anchor) kn_anchor_residual(r, s, anchor, s->after);
  *slip = kn_max(fabs(r[0]), fabs(r[1]));
  return true;
}

kn_one kn_repair_one(kn_sim* s, double* q, double* worst, double* left) {
  kn_contact *c = s->after, *before = s->contact;
  kn_anchors list = kn_anchors_of(s->blocks.anchors);
  kn_anchor* anchor = s->settings.anchors ? kn_anchor_next(&list, c->key) : NULL;
  double gap = c->gap, deepest = kn_max(0.0, -gap), r[2] = {0.0, 0.0};
  if (anchor) kn_anchor_residual(r, s, anchor, c);
  double slip = kn_max(fabs(r[0]), fabs(r[1]));
  *worst = kn_max(deepest, slip);
  s->report.penetration = deepest;
  s->report.lift = before->impulse[0] > 0.0 && !before->impact ? kn_max(0.0, gap) : 0.0;
  if (kn_good_enough(*worst, deepest)) return KN_ONE_DONE;

  const double *W = s->work->W, *X;
  two_rows lambda, b = {-gap, 0.0};
  int t = kn_rows_tangent(&X, &s->work->factored);
  if (*worst > KN_QUICK_MOST || t == 0) return KN_ONE_OTHER;
  b.t = -r[t - 1];
  double nn = W[0], nt = W[t], tt = W[4 * t];
  if (!push_back(&lambda, nn, nt, tt, b, anchor)) return KN_ONE_OTHER;
  double largest = motion_of(s, X, t, lambda);
  if (!(largest <= KN_QUICK_MOST)) return KN_ONE_OTHER;

  const kn_model* m = s->model;
  if (anchor && anchor->rolling) {
    double slipped = nt * lambda.n + tt * lambda.t, *a = anchor->a;
    const double* tangent = c->frame + 3 * t;
    a[0] += slipped * tangent[0], a[1] += slipped * tangent[1], a[2] += slipped * tangent[2];
  }
  kn_fours_move(q, s->shift, s->v_mean, m->nv);
  s->moved_once = true;
  s->report.correction = largest;
  s->moved_on = largest <= KN_FORESEEN;
  *left = kn_max(kn_max(b.n, 0.0), slip);
  s->pushed[0] = lambda.n > 0.0, s->pushed[1] = s->pushed[2] = false, s->pushed[t] = lambda.t > 0.0;
  if (s->moved_on)
    c->gap = gap + (nn * lambda.n + nt * lambda.t), slip = 0.0;
  else if (!look_again(&slip, s, q, anchor))
    return KN_ONE_MOVED;
  s->report.penetration = deepest = kn_max(0.0, -c->gap);
  *worst = kn_max(deepest, slip);
  return *worst <= 0.1 * KN_WORTH ? KN_ONE_DONE : KN_ONE_MOVED;
}
