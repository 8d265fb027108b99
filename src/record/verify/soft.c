/* Compliant contacts (steppers `compliant` and `hybrid`), Kelvin-Voigt: over a step in which the deformation stays within
   δ ± way, way = dt times twice (others push it too) the fastest normal speed at its ends of the contacts at its bodies and that
   of a fall of dt,

     dt K max(δ − way, 0) − 2 C way <= P_n <= dt K max(δ + way, 0) + 2 C way,

   with K, C of the material, or of the settings and the lighter tree's mass m0, K = K̄ m0/(ε t0²), C = C̄ m0/(√ε t0). Stepper `compliant`:
   δ is the overlap of the shapes; `hybrid` begins with an offset, so δ is the recorded one and only the force is checked.
   Called by contacts.c and energy.c. */

#include "record/verify/verify.h"

static double tree_mass(const kn_verifier* v, kn_body body) {
  double sum = 0.0;
  int tree = kn_plain_tree(&v->plan, body);
  for (int b = 0; b < v->model->nbody; b++)
    if (kn_plain_tree(&v->plan, b) == tree) sum += v->model->body[b].mass;
  return tree < 0 ? INFINITY : sum;
}

/* soft.c */
static kn_spring spring_of(const kn_verifier* v, const kn_contact* c) {
  const kn_asked* a = &v->asked;
  kn_material m;
  kn_material_pair(&m, v->model, c->geom_a, c->geom_b);
  if (m.K > 0.0) return (kn_spring){m.K, m.C, m.Kt > 0.0 ? m.Kt : m.K};
  double mass = a->m0 > 0.0 ? a->m0 : fmin(tree_mass(v, c->body_a), tree_mass(v, c->body_b));
  if (!isfinite(mass)) mass = 1.0;
  double k = mass / (a->eps * a->t0 * a->t0), d = mass / (sqrt(a->eps) * a->t0);
  return (kn_spring){a->K * k, a->C * d, (a->Kt > 0.0 ? a->Kt : a->K) * k};
}

static bool meet(const kn_contact* c, const kn_contact* d) {
  bool a = c->body_a != KN_WORLD && (c->body_a == d->body_a || c->body_a == d->body_b);
  return a || (c->body_b != KN_WORLD && (c->body_b == d->body_a || c->body_b == d->body_b));
}

/* Fastest normal speed before and after the step of the contacts at the bodies of c: a disc that comes down on one edge is
   thrown onto the other and stopped there within the step. */
static double fastest(const kn_verifier* v, const kn_recorded* s, const kn_contact* c) {
  double most = 0.0, before[3], after[3];
  for (int i = 0; i < s->contacts; i++) {
    if (!s->contact[i].compliant || !meet(c, &s->contact[i])) continue;
    kn_contact_relative(before, &v->mid, &s->contact[i], s->v_before);
    kn_contact_relative(after, &v->mid, &s->contact[i], s->v);
    most = fmax(most, fmax(fabs(before[0]), fabs(after[0])));
  }
  return most;
}

void kn_verify_compliant(kn_verifier* v, const kn_recorded* s, const kn_contact* c, double p_scale) {
  kn_spring k = spring_of(v, c);
  double p = c->impulse[0], delta = c->delta[0];
  /* what falls onto a contact and is thrown back is faster in between; 1e-12: rounding of positions */
  double fall = s->dt * kn_plain_length(v->model->gravity),
         way = 2.0 * s->dt * (fastest(v, s, c) + fall) + 1e-12;
  double most = s->dt * k.K * fmax(delta + way, 0.0) + 2.0 * k.C * way,
         least = s->dt * k.K * fmax(delta - way, 0.0) - 2.0 * k.C * way;
  kn_verifier_report(v, s->step, KN_CHECK_COMPLEMENTARITY, fmax(p - most, least - p) / p_scale,
                     1e-9);     /* rounding: the bounds are wide */
  if (*v->asked.stepper == 'c') /* as exact as the gaps of shapes of ten centimetres */
    kn_verifier_report(v, s->step, KN_CHECK_GAP, fabs(fmax(delta, 0.0) - fmax(-c->gap, 0.0)), way + 1e-7);
}

/* Contacts that become rigid again stay where they were compressed: that gap counts as zero, and the repair of positions takes it back
   within a tenth of a second (src/step/compliant/hybrid.c). */
void kn_verify_returned(kn_verifier* v, const kn_recorded* s) {
  double deepest = 0.0;
  for (int i = 0; i < s->events; i++)
    if (s->event[i].kind == KN_EVENT_SWITCH && s->event[i].value < 0.0)
      v->soft.offset = fmax(v->soft.offset, v->soft.deepest), v->soft.until = s->t + 0.1 + 2.0 * s->dt;
  for (int i = 0; i < s->contacts; i++)
    if (s->contact[i].compliant) deepest = fmax(deepest, s->contact[i].delta[0]);
  v->soft.deepest = fmax(deepest, 0.0);
  if (s->t > v->soft.until) v->soft.offset = 0.0;
}

/* J in the layers after the step; the tangential part no more than friction holds. */
double kn_verify_stored(const kn_verifier* v, const kn_recorded* s) {
  double sum = 0.0;
  for (int i = 0; i < s->contacts; i++) {
    const kn_contact* c = &s->contact[i];
    if (!c->compliant) continue;
    kn_spring k = spring_of(v, c);
    double n = fmax(c->delta[0], 0.0), held = c->mu * (k.K * n + c->impulse[0] / s->dt) / k.Kt,
           t = fmin(hypot(c->delta[1], c->delta[2]), held);
    sum += 0.5 * k.K * n * n + 0.5 * k.Kt * t * t;
  }
  return sum;
}
