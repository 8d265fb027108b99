/* From contacts, limits, dry friction and loops to the rows of the step, and which contacts collide in it.

   A contact takes part if it is closed or would be by the end of the step, gap_m + dt/2 J_n v_free <= gtol.
   It is an impact if e > 0, it closes within the step, and its speed at touch w, w² = v_n² - 2 a_n gap_k, is
   above the resting speed v_rest = 2 max(g, |a_n|) dt. v_free is never tested: a contact pressed hard has a
   large v_free every step. */
#include <math.h>

#include "base/error.h"
#include "dynamics/tree/data.h"
#include "step/time/motion.h"

static kn_status find_contacts(kn_sim* s) {
  for (int i = 0; i < s->touch.contacts; i++)
    KN_TRY(kn_constraint_add_contact(&s->sets.found, s->model, &s->touch.contact[i], i, 0.0));
  return KN_OK;
}

static kn_status find_limits(kn_sim* s, const double* q) {
  for (int i = 0; i < s->model->nlimit; i++)
    KN_TRY(kn_constraint_add_limit(&s->sets.found, s->model, q, i, 0.0));
  return KN_OK;
}

/* A limit of one coordinate that is out of reach in this step whatever happens to its rate until v_free. */
static bool out_of_reach(const kn_sim* s, int limit, const double* q, double dt) {
  const kn_limit* l = &s->model->limit[limit];
  if (l->side == 0) return false;
  double gap = l->side * (q[l->q] - l->bound), u = l->side * s->frame.v_free[l->v];
  return gap + 0.5 * dt * kn_min(u, 0.0) > s->settings.gtol;
}

double kn_limits_beyond(const kn_sim* s, const double* q) {
  return s->model->nlimit ? kn_motion_beyond(s, q) : -INFINITY;
}

/* s->limits.near of the step; limits that lie farther from q than `reach` have no part in it. */
static void list_limits(kn_sim* s, const double* q, double reach) {
  kn_sim_limits* l = &s->limits;
  l->nears = 0;
  if (s->data->layout->ball_limits == 0 && -kn_limits_beyond(s, q) > reach) return;
  for (int i = 0; i < s->model->nlimit; i++)
    if (s->model->limit[i].side == 0 || !(kn_limit_gap(s->model, i, q) > reach)) l->near[l->nears++] = i;
}

static kn_status find_near_limits(kn_sim* s, const double* q, double dt) {
  if (s->model->nlimit)
    list_limits(s, q, s->settings.gtol + dt * kn_fours_largest(s->frame.v_free, s->model->nv));
  for (int k = 0, i; k < s->limits.nears; k++)
    if (!out_of_reach(s, i = s->limits.near[k], q, dt))
      KN_TRY(kn_constraint_add_limit(&s->sets.found, s->model, q, i, 0.0));
  return KN_OK;
}

static kn_status find_friction(kn_sim* s, double dt) {
  if (!s->facts.dry) return KN_OK;
  for (int i = 0; i < s->model->nv; i++)
    if (s->model->friction[i] > 0.0)
      KN_TRY(kn_constraint_add_friction(&s->sets.found, s->model, i, dt * s->model->friction[i]));
  return KN_OK;
}

static kn_status find_loops(kn_sim* s, const double* q, double t) {
  for (int i = 0, row = 0, rows; i < s->model->nloop; i++, row += rows)
    KN_TRY(kn_constraint_add_loop(&s->sets.found, s->model, s->data, q, i, row, t, &rows, NULL));
  return KN_OK;
}

static double gap_of(const kn_sim* s, const kn_row_tag* tag, const double* q) {
  return tag->kind == KN_ROW_CONTACT ? s->touch.contact[tag->index].gap
                                     : kn_limit_gap(s->model, tag->index, q);
}

/* Speed below which a contact comes to rest. */
double kn_rest_speed(const kn_sim* s, double a_n, double dt) {
  if (s->settings.v_rest >= 0.0) return s->settings.v_rest;
  return 2.0 * kn_max(s->facts.gravity, fabs(a_n)) * dt;
}

double kn_restitution(const kn_sim* s, const kn_contact* c, double speed) {
  if (!s->settings.restitution || !(c->e > 0.0)) return c->e;
  return fmin(fmax(s->settings.restitution(c->e, fmax(speed, 0.0), s->settings.restitution_context), 0.0),
              1.0);
}

static bool contact_impacts(const kn_sim* s, const kn_contact* c, double u_before, double u_free, double dt,
                            double rate) {
  bool lands = s->settings.split_impacts && !(c->e > 0.0); /* split.c */
  if (!(c->e > 0.0 || lands) || c->gap + 0.5 * dt * u_free >= 0.0) return false;
  double a_n = (u_free - u_before) * rate, gap = kn_max(0.0, c->gap - 0.5 * dt * u_before);
  double w2 = u_before * u_before - 2.0 * a_n * gap, rest = kn_rest_speed(s, a_n, s->report.dt);
  if (lands) rest *= 10.0;
  return w2 > rest * rest && (u_before < 0.0 || gap > 0.0); /* the signs are those of rounding mostly */
}

kn_status kn_stage_find(kn_sim* s, const double* q, double t, double dt) {
  kn_constraints_clear(&s->sets.found);
  KN_TRY(find_contacts(s));
  KN_TRY(find_limits(s, q));
  KN_TRY(find_friction(s, dt));
  return find_loops(s, q, t);
}

/* Many contacts that are one problem whatever their islands, as kn_stage_solve has it. */
static bool stay_together(const kn_sim* s, const kn_flow* f) {
  int kept = 0;
  for (int g = 0; g < s->sets.found.count; g++) kept += s->sets.keep[g];
  return !s->facts.rich && kept >= s->os->large.blocks_least && s->os->large.blocks.capacity &&
         s->facts.bare && !f->impact && !s->modes && !s->soft;
}

/* The mean velocity obeys a loop at the midpoint: J (v + v⁺)/2 = U(t_m). A mechanism that hardly moves asks for J v⁺ = U
   instead: what is left of J v then is rounding, and dry joints that stand still around a loop would contradict
   it. 1e-8 m/s is 1e-11 m in a step. */
static double loop_bias(double u_before, double rate) {
  return fabs(u_before - rate) < 1e-8 ? -rate : u_before - 2.0 * rate;
}

/* Rows of the step in s->sets.set, island by island, with their bias; s->touch.impacting per contact; report counts. */
kn_status kn_stage_gather(kn_sim* s, kn_state* x, kn_flow* f, double dt) {
  kn_constraints_clear(&s->sets.found);
  KN_TRY(find_contacts(s));
  KN_TRY(find_near_limits(s, s->frame.q_mid, dt));
  KN_TRY(find_friction(s, dt));
  KN_TRY(find_loops(s, s->frame.q_mid, x->time + 0.5 * dt));
  double *u_before = s->sets.found.u_before, *u_free = s->sets.found.u_free;
  kn_rows_velocities(u_before, u_free, s->data, s->model, s->sets.found.geometry, s->sets.found.count,
                     s->frame.v_free, dt);
  s->report.limits = s->report.loops = 0;
  if (s->model->nloop) KN_TRY(kn_stage_keep_rows(s, s->sets.keep, u_before, x->v));
  f->impact = f->held = false;
  double rate = 1.0 / dt;
  bool heap = s->touch.contacts >= KN_BLOCKS_LEAST && s->settings.tolerance >= KN_LOOSE;
  const kn_state_block* last = s->blocks.impulses;
  kn_lookup old = kn_lookup_in(s->sets.lookup, last->data, sizeof(kn_warm_entry),
                               (int)(last->used / sizeof(kn_warm_entry)));
  const kn_warm_entry* warm = last->data;
  kn_travel travel = kn_travel_begin(s, dt);
  kn_hold_begin(s);
  for (int g = 0; g < s->sets.found.count; g++) {
    const kn_row_tag* tag = &s->sets.found.tag[g];
    if (!s->model->nloop) s->sets.keep[g] = true;
    if (tag->kind ==
        KN_ROW_LOOP) { /* the mean velocity obeys the loop at the midpoint: J (v + v⁺)/2 = U(t_m) */
      s->report.loops += tag->rows;
      for (int k = 0; k < tag->rows; k++)
        s->sets.found.bias[tag->row + k] =
            loop_bias(u_before[tag->row + k], s->sets.found.rate[tag->row + k]);
    }
    if (tag->kind == KN_ROW_SPIN) s->sets.keep[g] = s->sets.keep[g - 1];
    if (tag->kind != KN_ROW_CONTACT && tag->kind != KN_ROW_LIMIT) continue;
    double gap = gap_of(s, tag, s->frame.q_mid), u = u_free[tag->row];
    double touch = tag->kind == KN_ROW_CONTACT ? kn_soft_offset(s, tag->index) : 0.0;
    double ahead = 0.5 * dt * (heap ? kn_min(u, 0.0) - 1.0 : kn_min(u, 0.0)); /* others may push at 1 m/s */
    s->sets.keep[g] = gap - touch + ahead <= s->settings.gtol;
    int at = !heap && s->sets.keep[g] ? kn_lookup_find(&old, kn_warm_row_key(s, tag)) : -1;
    bool held = kn_hold_row(s, at, tag, gap);
    f->held |= held;
    bool lands = !held && !kn_hold_closed(gap, heap);
    s->sets.found.bias[tag->row] = lands ? 2.0 * rate * gap : 0.0;
    if (held && !kn_hold_in_company(s, tag, &old))
      kn_travel_bias(s, &s->sets.found, g, &travel, at, u_before + tag->row, warm[at].f, x->v);
    if (tag->kind == KN_ROW_LIMIT)
      s->report.limits += s->sets.keep[g];
    else if ((s->touch.impacting[tag->index] =
                  contact_impacts(s, &s->touch.contact[tag->index], u_before[tag->row], u, dt, rate)))
      f->impact = true;
  }
  s->sets.unsorted = heap && stay_together(s, f);
  KN_TRY(kn_row_islands(s, s->sets.keep));
  kn_few_copy(s->row.u_before, s->sets.set.u_before, s->sets.set.rows);
  kn_few_copy(s->row.u_free, s->sets.set.u_free, s->sets.set.rows);
  KN_TRY(kn_stage_enter(s, KN_STAGE_ROWS));
  return KN_OK;
}

/* Can any limit be overrun by that much? */
bool kn_limits_overrun(const kn_sim* s, double dt) {
  return s->model->nlimit && !(0.5 * dt * kn_fours_largest(s->frame.v_plus, s->model->nv) <= KN_LIMIT_PUSHED);
}

static bool takes_part(const kn_constraints* found, int limit) {
  for (int g = 0; g < found->count; g++)
    if (found->tag[g].kind == KN_ROW_LIMIT && found->tag[g].index == limit) return true;
  return false;
}

/* Limits of one coordinate that v_free left out of reach and that the impulses of others would overrun, by more than the
   position repair may take back: they take part as well. *any: there are such. */
kn_status kn_stage_pushed_limits(bool* any, kn_sim* s, const kn_state* x, double dt) {
  const kn_model* m = s->model;
  kn_constraints* found = &s->sets.found;
  *any = false;
  if (m->nlimit == 0 || kn_soft_active(s) || s->sets.set.count == 0 || !kn_limits_overrun(s, dt))
    return KN_OK;
  for (int i = 0; i < m->nlimit; i++) {
    const kn_limit* l = &m->limit[i];
    if (l->side == 0) continue;
    double gap = l->side * (s->frame.q_mid[l->q] - l->bound), u = l->side * s->frame.v_plus[l->v];
    if (!(gap > s->settings.gtol && -0.5 * dt * u - gap > KN_LIMIT_PUSHED) || takes_part(found, i)) continue;
    KN_TRY(kn_constraint_add_limit(found, m, s->frame.q_mid, i, 2.0 * gap / dt));
    found->u_before[found->rows - 1] = l->side * x->v[l->v];
    found->u_free[found->rows - 1] = l->side * s->frame.v_free[l->v];
    s->sets.keep[found->count - 1] = *any = true;
    s->report.limits++;
  }
  return KN_OK;
}
