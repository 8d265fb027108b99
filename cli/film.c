#include "film_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/collide.h"

enum { CURVES = KN_FILM_CURVES, SLICES = 10, AROUND = 18 };
enum {
  AT_TIME,
  AT_KINETIC,
  AT_POTENTIAL,
  AT_TOTAL,
  AT_RESIDUAL,
  AT_CONTACTS,
  AT_FORCE,
  AT_BLOW,
  AT_PENETRATION
};

static bool grow(void* pointer, size_t need, size_t* room, size_t size) {
  void** p = (void**)pointer;
  if (need <= *room) return true;
  size_t more = *room ? 2 * *room : 256;
  while (more < need) more *= 2;
  void* q = realloc(*p, more * size);
  if (!q) return false;
  *p = q;
  *room = more;
  return true;
}

static bool push(numbers* a, double v) {
  if (!grow(&a->v, a->n + 1, &a->room, sizeof *a->v)) return false;
  a->v[a->n++] = v;
  return true;
}

/* Any convex shape as triangles between its support points in directions on a globe. */
static bool facet(kn_page_shape* out, const kn_shape* shape) {
  const kn_pose here = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
  double* points = calloc(3 * (SLICES + 1) * AROUND, sizeof *points);
  int *triangles = calloc(6 * SLICES * AROUND, sizeof *triangles), *t = triangles;
  if (!points || !triangles) return free(points), free(triangles), false;
  for (int i = 0; i <= SLICES; i++)
    for (int k = 0; k < AROUND; k++) {
      double u = M_PI * ((double)i / SLICES - 0.5), w = 2 * M_PI * k / AROUND;
      double d[3] = {cos(u) * cos(w), cos(u) * sin(w), sin(u)};
      kn_support(points + 3 * (i * AROUND + k), shape, &here, d); /* on failure the point stays 0 */
    }
  for (int i = 0; i < SLICES; i++)
    for (int k = 0; k < AROUND; k++) {
      int a = i * AROUND + k, b = i * AROUND + (k + 1) % AROUND;
      *t++ = a, *t++ = b, *t++ = b + AROUND;
      *t++ = a, *t++ = b + AROUND, *t++ = a + AROUND;
    }
  *out = (kn_page_shape){.type = "faces",
                         .size = {1, 1, 1},
                         .points = points,
                         .npoint = (SLICES + 1) * AROUND,
                         .triangles = triangles,
                         .ntriangle = 2 * SLICES * AROUND};
  return true;
}

static bool describe(kn_page_shape* out, const kn_geom_def* g, size_t number) {
  static const char* const types[KN_SHAPE_COUNT] = {
      [KN_SHAPE_PLANE] = "plane",       [KN_SHAPE_SPHERE] = "sphere",       [KN_SHAPE_CAPSULE] = "capsule",
      [KN_SHAPE_CYLINDER] = "cylinder", [KN_SHAPE_ELLIPSOID] = "ellipsoid", [KN_SHAPE_BOX] = "box"};
  static const double colours[4][3] = {{.16, .45, .78}, {.93, .55, .18}, {.20, .62, .48}, {.60, .38, .66}};
  *out = (kn_page_shape){.type = types[g->shape.type]};
  if (out->type)
    memcpy(out->size, g->shape.size, sizeof out->size);
  else if (!facet(out, &g->shape))
    return false;
  for (int i = 0; i < 3; i++) out->rgb[i] = g->body == KN_WORLD ? 0.78 : colours[number % 4][i];
  return true;
}

kn_film* kn_film_create(const kn_model* model, double rate, kn_force_choice choice) {
  kn_film* f = calloc(1, sizeof *f);
  int n = kn_model_geoms(model);
  if (!f) return NULL;
  *f = (kn_film){.model = model, .rate = rate, .next = -INFINITY};
  f->shapes = calloc((size_t)n + 1, sizeof *f->shapes);
  f->geoms = calloc((size_t)n + 1, sizeof *f->geoms);
  f->contact_start = calloc(1, sizeof *f->contact_start);
  if (!f->shapes || !f->geoms || !f->contact_start || kn_state_create(&f->middle, model) != KN_OK ||
      !(f->v = calloc((size_t)kn_model_nv(model) + 1, sizeof *f->v)) ||
      kn_data_create(&f->data, model) != KN_OK ||
      kn_force_chooser_create(&f->chooser, model, choice) != KN_OK)
    return kn_film_destroy(f), NULL;
  for (kn_geom g = 0; g < n; g++) {
    kn_geom_def def;
    if (kn_model_geom(&def, model, g) != KN_OK || !describe(&f->shapes[f->shape_count], &def, (size_t)g))
      continue;
    f->geoms[f->shape_count++] = g;
  }
  return f;
}

void kn_film_destroy(kn_film* f) {
  if (!f) return;
  for (size_t i = 0; i < f->shape_count; i++) {
    free((void*)(size_t)f->shapes[i].points);
    free((void*)(size_t)f->shapes[i].triangles);
  }
  for (int i = 0; i < CURVES; i++) free(f->curve[i].v);
  free(f->shapes);
  free(f->geoms);
  free(f->times);
  free(f->frames);
  free(f->contact_start);
  free(f->contacts);
  free(f->load);
  free(f->v);
  kn_force_chooser_destroy(f->chooser);
  kn_data_destroy(f->data);
  kn_state_destroy(f->middle);
  free(f);
}

/* Quaternion (w, x, y, z) of a rotation matrix, by the largest of its four squares. */
static void quaternion_of(float q[4], const double R[9]) {
  double w = 1 + R[0] + R[4] + R[8], x = 1 + R[0] - R[4] - R[8], y = 1 - R[0] + R[4] - R[8],
         z = 1 - R[0] - R[4] + R[8];
  double yz = R[5] + R[7], xz = R[2] + R[6], xy = R[1] + R[3], wx = R[7] - R[5], wy = R[2] - R[6],
         wz = R[3] - R[1];
  double rows[4][4] = {{w, wx, wy, wz}, {wx, x, xy, xz}, {wy, xy, y, yz}, {wz, xz, yz, z}};
  int big = 0;
  for (int i = 1; i < 4; i++)
    if (rows[i][i] > rows[big][big]) big = i;
  for (int i = 0; i < 4; i++) q[i] = (float)(rows[big][i] / (2 * sqrt(rows[big][big])));
}

static bool picture(kn_film* f, kn_sim* sim, double t) {
  size_t n = f->frame_count, room = f->frame_room, again = f->frame_room, third = f->frame_room;
  size_t per = f->shape_count * 7;
  if (!grow(&f->times, n + 1, &room, sizeof *f->times) ||
      !grow(&f->contact_start, n + 2, &third, sizeof *f->contact_start) ||
      !grow(&f->frames, n + 1, &again, per * sizeof *f->frames))
    return false;
  f->frame_room = again < room ? again : room;
  for (size_t i = 0; i < f->shape_count; i++) {
    kn_pose pose;
    float* at = f->frames + n * per + 7 * i;
    if (kn_geom_pose(&pose, f->model, kn_sim_data(sim), f->geoms[i]) != KN_OK) return false;
    for (int k = 0; k < 3; k++) at[k] = (float)pose.p[k];
    quaternion_of(at + 3, pose.R);
  }
  f->times[n] = t;
  f->frame_count = n + 1;
  f->contact_start[n + 1] = f->contact_count;
  f->contact_mark = f->contact_count;
  f->loudest = -1;
  return true;
}

/* Drawn is the force on the body that moves; of two that do, on the one that is carried. */
static double drawn_on(const kn_film* f, const kn_contact* c, const kn_contact_load* l) {
  double g[3];
  if (c->body_a == KN_WORLD) return -1.0;
  if (c->body_b == KN_WORLD) return 1.0;
  kn_model_gravity(g, f->model);
  return l->world[0] * g[0] + l->world[1] * g[1] + l->world[2] * g[2] > 0.0 ? -1.0 : 1.0;
}

static bool keep(kn_film* f, const kn_contact* c, const kn_contact_load* l) {
  if (!grow(&f->contacts, f->contact_count + 1, &f->contact_room, KN_PAGE_CONTACT * sizeof *f->contacts))
    return false;
  float* at = f->contacts + KN_PAGE_CONTACT * f->contact_count++;
  double sign = drawn_on(f, c, l);
  for (int i = 0; i < 3; i++) at[i] = (float)c->point[i], at[3 + i] = (float)(sign * l->world[i]);
  at[6] = l->impulse ? 1.0f : l->determinate == KN_ANSWER_NO ? 2.0f : 0.0f;
  return true;
}

/* The loudest blow between two pictures is shown with the later one; it is over when the picture is taken. */
static bool keep_blows(kn_film* f, const kn_report* r, double blow) {
  if (blow <= f->loudest || blow == 0.0) return true;
  f->loudest = blow;
  f->contact_count = f->contact_mark;
  for (int c = 0; c < r->contacts; c++)
    if (f->load[c].impulse && r->contact[c].mode != KN_MODE_OPEN && !keep(f, &r->contact[c], &f->load[c]))
      return false;
  return true;
}

enum { JUDGED = 64 }; /* contacts; the work grows with the cube */

/* The forces of the picture's own step. */
static bool keep_forces(kn_film* f, const kn_report* r) {
  if (r->contacts <= JUDGED && kn_loads_judge(f->load, NULL, 0, f->model, f->data, r->contact, r->contacts,
                                              r->limit_impulse, kn_state_v(f->middle)) != KN_OK)
    return false;
  for (int c = 0; c < r->contacts; c++)
    if (!f->load[c].impulse && r->contact[c].mode != KN_MODE_OPEN && !keep(f, &r->contact[c], &f->load[c]))
      return false;
  return true;
}

/* Half a step back: there the contacts were evaluated. */
static bool middle(kn_film* f, kn_state* x, double dt) {
  memcpy(kn_state_v(f->middle), f->v, (size_t)kn_model_nv(f->model) * sizeof(double));
  return kn_integrate(kn_state_q(f->middle), f->model, kn_state_q(x), kn_state_v(x), -0.5 * dt) == KN_OK &&
         kn_kinematics(f->model, f->middle, f->data) == KN_OK;
}

static bool loads(kn_film* f, const kn_report* r, kn_state* x, double v_rest) {
  size_t n = (size_t)r->contacts;
  if (!grow(&f->load, n + 1, &f->load_room, sizeof *f->load)) return false;
  if (kn_contact_loads(f->load, r->contact, r->contacts, r->dt) != KN_OK) return false;
  return n == 0 ||
         (middle(f, x, r->dt) &&
          kn_loads_land(f->load, f->model, f->data, r->contact, r->contacts, v_rest, r->dt) == KN_OK &&
          kn_forces_choose(f->load, f->chooser, f->data, r->contact, r->contacts) == KN_OK);
}

static void sum_up(kn_film_sums* s, const kn_report* r) {
  s->steps++;
  s->residual = fmax(s->residual, r->residual);
  s->penetration = fmax(s->penetration, r->penetration);
  s->rise = r->rise;
  s->correction = fmax(s->correction, r->correction);
  if (r->contacts > s->contacts) s->contacts = r->contacts;
  if (r->contacts) s->verdicts[r->verdict.kind]++;
  for (int i = 0; i < r->events; i++) {
    s->impacts += r->event[i].kind == KN_EVENT_IMPACT;
    s->guards += r->event[i].kind == KN_EVENT_GUARD;
  }
  kn_trouble_count(&s->troubles, r->event, r->events);
  s->last = r->energy;
}

static bool note(kn_film* f, const kn_report* r, double force, double blow) {
  double total = r->energy.kinetic + r->energy.potential + r->energy.spring;
  double row[CURVES] = {r->t,
                        r->energy.kinetic,
                        r->energy.potential,
                        total,
                        r->contacts ? fmax(r->residual, 1e-18) : NAN,
                        r->contacts,
                        force,
                        blow,
                        r->penetration};
  for (int i = 0; i < CURVES; i++)
    if (!push(&f->curve[i], row[i])) return false;
  return true;
}

bool kn_film_look(kn_film* f, kn_sim* sim, kn_state* state, bool first) {
  const kn_report* r = kn_sim_report(sim);
  double largest[2] = {0, 0}, t = kn_state_time(state); /* force, blow */
  if (first) {
    if (kn_kinematics(f->model, state, kn_sim_data(sim)) != KN_OK) return false;
    if (kn_energy_of(&f->sums.first, f->model, state, kn_sim_data(sim)) != KN_OK) return false;
    f->next = t + 1 / f->rate;
    memcpy(f->v, kn_state_v(state), (size_t)kn_model_nv(f->model) * sizeof *f->v);
    return picture(f, sim, t);
  }
  if (!loads(f, r, state, kn_sim_settings_of(sim)->v_rest)) return false;
  memcpy(f->v, kn_state_v(state), (size_t)kn_model_nv(f->model) * sizeof *f->v);
  for (int c = 0; c < r->contacts; c++)
    largest[f->load[c].impulse] = fmax(largest[f->load[c].impulse], f->load[c].normal);
  sum_up(&f->sums, r);
  if (!note(f, r, largest[0], largest[1]) || !keep_blows(f, r, largest[1])) return false;
  if (t < f->next - 1e-9) return true;
  f->next += 1 / f->rate;
  return keep_forces(f, r) && kn_kinematics(f->model, state, kn_sim_data(sim)) == KN_OK && picture(f, sim, t);
}

const kn_film_sums* kn_film_summary(const kn_film* f) { return &f->sums; }

static kn_plot_series curve(const kn_film* f, int which, const char* name, kn_plot_style style) {
  return (kn_plot_series){.name = name,
                          .style = style,
                          .x = f->curve[AT_TIME].v,
                          .y = f->curve[which].v,
                          .n = f->curve[which].n,
                          .width = 1.6};
}

static bool any(const numbers* a) {
  for (size_t i = 0; i < a->n; i++)
    if (a->v[i] != 0.0) return true;
  return false;
}

void kn_film_fill(kn_film* f, kn_page* page) {
  kn_plot_series* s = f->series;
  s[0] = curve(f, AT_TOTAL, "total", KN_PLOT_LINE);
  s[1] = curve(f, AT_KINETIC, "kinetic", KN_PLOT_LINE);
  s[2] = curve(f, AT_POTENTIAL, "potential", KN_PLOT_LINE);
  s[3] = curve(f, AT_FORCE, NULL, KN_PLOT_LINE);
  s[4] = curve(f, AT_BLOW, NULL, KN_PLOT_LINE);
  s[5] = curve(f, AT_RESIDUAL, NULL, KN_PLOT_LINE);
  s[6] = curve(f, AT_CONTACTS, NULL, KN_PLOT_STEPS);
  kn_plot* p = f->plots;
  *p++ = (kn_plot){.title = "Energy", .y_label = "J", .series = s, .series_count = 3};
  if (any(&f->curve[AT_FORCE]))
    *p++ = (kn_plot){.title = "Largest normal force of a contact", .y_label = "N", .series = s + 3};
  if (any(&f->curve[AT_BLOW]))
    *p++ = (kn_plot){.title = "Largest normal impulse of a blow", .y_label = "N s", .series = s + 4};
  *p++ = (kn_plot){.title = "Residual of the contact problem (scaled)", .log_y = true, .series = s + 5};
  *p++ = (kn_plot){.title = "Contacts", .series = s + 6};
  page->plot_count = (size_t)(p - f->plots);
  for (kn_plot* k = f->plots; k < p; k++) {
    k->x_label = "t [s]";
    if (!k->series_count) k->series_count = 1;
  }
  page->shapes = f->shapes;
  page->shape_count = f->shape_count;
  page->times = f->times;
  page->frames = f->frames;
  page->frame_count = f->frame_count;
  page->contact_start = f->contact_start;
  page->contacts = f->contacts;
  page->plots = f->plots;
}
