#include "film_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/collide.h"

enum { CURVES = KN_FILM_CURVES, SLICES = 10, AROUND = 18 };
enum { AT_TIME, AT_KINETIC, AT_POTENTIAL, AT_TOTAL, AT_RESIDUAL, AT_CONTACTS, AT_IMPULSE, AT_PENETRATION };

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

kn_film* kn_film_create(const kn_model* model, double rate) {
  kn_film* f = calloc(1, sizeof *f);
  int n = kn_model_geoms(model);
  if (!f) return NULL;
  *f = (kn_film){.model = model, .rate = rate, .next = -INFINITY};
  f->shapes = calloc((size_t)n + 1, sizeof *f->shapes);
  f->geoms = calloc((size_t)n + 1, sizeof *f->geoms);
  f->contact_start = calloc(1, sizeof *f->contact_start);
  if (!f->shapes || !f->geoms || !f->contact_start) return kn_film_destroy(f), NULL;
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

/* Of the steps between two pictures the one with the largest impulse is shown. */
static bool keep_contacts(kn_film* f, const kn_report* r, double impulse) {
  if (impulse <= f->loudest) return true;
  f->loudest = impulse;
  f->contact_count = f->contact_mark;
  for (int c = 0; c < r->contacts; c++) {
    const kn_contact* k = &r->contact[c];
    size_t need = 6 * (f->contact_count + 1), room = 6 * f->contact_room;
    if (k->mode == KN_MODE_OPEN) continue;
    if (need > room && !grow(&f->contacts, f->contact_count + 1, &f->contact_room, 6 * sizeof *f->contacts))
      return false;
    float* at = f->contacts + 6 * f->contact_count++;
    for (int i = 0; i < 3; i++) {
      double force = 0;
      for (int a = 0; a < 3; a++) force += k->impulse[a] * k->frame[3 * a + i];
      at[i] = (float)k->point[i];
      at[3 + i] = (float)force;
    }
  }
  return true;
}

static void sum_up(kn_film_sums* s, const kn_report* r) {
  s->steps++;
  s->residual = fmax(s->residual, r->residual);
  s->penetration = fmax(s->penetration, r->penetration);
  s->gain = fmax(s->gain, r->gain_rel);
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

static bool note(kn_film* f, const kn_report* r, double impulse) {
  double total = r->energy.kinetic + r->energy.potential + r->energy.spring;
  double row[CURVES] = {r->t,
                        r->energy.kinetic,
                        r->energy.potential,
                        total,
                        r->contacts ? fmax(r->residual, 1e-18) : NAN,
                        r->contacts,
                        impulse,
                        r->penetration};
  for (int i = 0; i < CURVES; i++)
    if (!push(&f->curve[i], row[i])) return false;
  return true;
}

bool kn_film_look(kn_film* f, kn_sim* sim, const kn_state* state, bool first) {
  const kn_report* r = kn_sim_report(sim);
  double impulse = 0, t = kn_state_time(state);
  if (first) {
    if (kn_kinematics(f->model, state, kn_sim_data(sim)) != KN_OK) return false;
    if (kn_energy_of(&f->sums.first, f->model, state, kn_sim_data(sim)) != KN_OK) return false;
    f->next = t + 1 / f->rate;
    return picture(f, sim, t);
  }
  for (int c = 0; c < r->contacts; c++) impulse = fmax(impulse, r->contact[c].impulse[0]);
  sum_up(&f->sums, r);
  if (!note(f, r, impulse) || !keep_contacts(f, r, impulse)) return false;
  if (t < f->next - 1e-9) return true;
  f->next += 1 / f->rate;
  return kn_kinematics(f->model, state, kn_sim_data(sim)) == KN_OK && picture(f, sim, t);
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

void kn_film_fill(kn_film* f, kn_page* page) {
  kn_plot_series* s = f->series;
  s[0] = curve(f, AT_TOTAL, "total", KN_PLOT_LINE);
  s[1] = curve(f, AT_KINETIC, "kinetic", KN_PLOT_LINE);
  s[2] = curve(f, AT_POTENTIAL, "potential", KN_PLOT_LINE);
  s[3] = curve(f, AT_IMPULSE, NULL, KN_PLOT_LINE);
  s[4] = curve(f, AT_RESIDUAL, NULL, KN_PLOT_LINE);
  s[5] = curve(f, AT_CONTACTS, NULL, KN_PLOT_STEPS);
  f->plots[0] =
      (kn_plot){.title = "Energy", .x_label = "t [s]", .y_label = "J", .series = s, .series_count = 3};
  f->plots[1] = (kn_plot){.title = "Largest normal impulse of a step",
                          .x_label = "t [s]",
                          .y_label = "N s",
                          .series = s + 3,
                          .series_count = 1};
  f->plots[2] = (kn_plot){.title = "Residual of the contact problem (scaled)",
                          .x_label = "t [s]",
                          .log_y = true,
                          .series = s + 4,
                          .series_count = 1};
  f->plots[3] = (kn_plot){.title = "Contacts", .x_label = "t [s]", .series = s + 5, .series_count = 1};
  page->shapes = f->shapes;
  page->shape_count = f->shape_count;
  page->times = f->times;
  page->frames = f->frames;
  page->frame_count = f->frame_count;
  page->contact_start = f->contact_start;
  page->contacts = f->contacts;
  page->plots = f->plots;
  page->plot_count = 4;
}
