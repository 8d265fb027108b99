/* The region of two friction coefficients in which the mode matrix is a P-matrix (song-kumar Figure 10), for
   the contacts of any scene at an instant. Each coefficient belongs to the sliding contacts of the geoms or
   bodies named, or of the contacts numbered as `knuckle diagnose` lists them. */
#include "mu_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/plot.h"
#include "output/region.h"

typedef struct question {
  const kn_mode_matrix* mode;
  const int* axis; /* per column: 0 first coefficient, 1 second, -1 neither */
  double *A, *mu;  /* scratch */
} question;

/* Gauss-Jordan on the free rows: what remains of the others is their Schur complement. Free rows that cannot
   move (a zero row) are left out. Returns the number of remaining rows, compressed to the front; -1 where a
   pivot is too close to zero to tell. */
static int eliminate_free(double* A, int n, const bool* is_free) {
  double scale = 0;
  bool done[KN_MODE_ROWS] = {false};
  for (int i = 0; i < n; i++) scale = fmax(scale, fabs(A[i * n + i]));
  for (;;) {
    int p = -1;
    for (int i = 0; i < n; i++)
      if (is_free[i] && !done[i] && (p < 0 || fabs(A[i * n + i]) > fabs(A[p * n + p]))) p = i;
    if (p < 0) break;
    done[p] = true;
    double d = A[p * n + p];
    if (fabs(d) < 1e-12 * scale) {
      for (int j = 0; j < n; j++)
        if (!done[j] && fabs(A[p * n + j]) > 1e-9 * scale) return -1;
      continue;
    }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n && !done[i]; j++)
        if (!done[j]) A[i * n + j] -= A[i * n + p] * A[p * n + j] / d;
  }
  int m = 0;
  for (int i = 0; i < n; i++) {
    if (is_free[i]) continue;
    for (int j = 0, k = 0; j < n; j++)
      if (!is_free[j]) A[m * n + k++] = A[i * n + j];
    m++;
  }
  return m;
}

static bool is_p(double mu_a, double mu_b, void* context) {
  const question* q = context;
  int n = q->mode->n;
  for (int j = 0; j < n; j++) {
    double mu = q->axis[j] == 0 ? mu_a : q->axis[j] == 1 ? mu_b : q->mode->mu[j];
    for (int i = 0; i < n; i++) q->A[i * n + j] = q->mode->N[i * n + j] - mu * q->mode->T[i * n + j];
  }
  int m = eliminate_free(q->A, n, q->mode->free);
  kn_pmatrix answer;
  return m >= 0 && kn_pmatrix_test(&answer, m, q->A, n) == KN_OK && answer.is_p == KN_ANSWER_YES;
}

/* Does one of the comma-separated words name the contact? */
static bool named(const char* words, const kn_model* m, const kn_contact* c, int index) {
  char number[16];
  snprintf(number, sizeof number, "%d", index);
  const char* name[] = {kn_geom_name(m, c->geom_a), kn_geom_name(m, c->geom_b), kn_body_name(m, c->body_a),
                        kn_body_name(m, c->body_b), number};
  for (const char* w = words; *w; w += strcspn(w, ","), w += *w == ',') {
    size_t length = strcspn(w, ",");
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
      if (name[i] && strlen(name[i]) == length && strncmp(name[i], w, length) == 0) return true;
  }
  return false;
}

static kn_exit choose(kn_mu_map* map, int* axis, const kn_args* args, const kn_model* m,
                      const kn_mode_matrix* mode, const kn_diagnosis* d) {
  for (int j = 0; j < mode->n; j++) {
    axis[j] = -1;
    int c = mode->contact[j];
    if (c < 0 || mode->mu[j] <= 0) continue; /* not sliding, or without friction */
    for (int k = 0; k < 2; k++) {
      if (!named(map->name[k], m, &d->contact[c], c)) continue;
      if (axis[j] >= 0)
        return kn_complain(args, KN_EXIT_USAGE, "--mu-map: contact %d belongs to both \"%s\" and \"%s\"", c,
                           map->name[0], map->name[1]);
      axis[j] = k;
      map->mu[k] = mode->mu[j];
      map->columns[k]++;
    }
  }
  for (int k = 0; k < 2; k++)
    if (!map->columns[k])
      return kn_complain(args, KN_EXIT_INPUT,
                         "--mu-map: no sliding contact with friction at \"%s\" at this instant (%d closed "
                         "contacts, %d sliding)",
                         map->name[k], d->contacts, d->sliding);
  return KN_EXIT_OK;
}

static void limits(kn_mu_map* map, question* q, double top) {
  for (int k = 0; k < 2; k++) {
    double lo = map->mu[k], hi = top;
    map->limit[k] = NAN;
    if (!map->inside) continue;
    for (int i = 0; i < 60; i++) {
      double mid = 0.5 * (lo + hi);
      if (is_p(k ? map->mu[0] : mid, k ? mid : map->mu[1], q))
        lo = mid;
      else
        hi = mid;
    }
    map->limit[k] = lo;
  }
}

static kn_exit picture(const kn_mu_map* map, const kn_args* args, question* q, const kn_subject* s, double t,
                       double top) {
  const double range[2] = {0, top};
  kn_region region;
  char title[160], label[2][160];
  if (!kn_region_trace(&region, is_p, q, range, range, 120))
    return kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
  snprintf(title, sizeof title, "%s, t = %.4g s", s->name, t);
  for (int k = 0; k < 2; k++)
    snprintf(label[k], sizeof label[k], "friction coefficient of %s%s",
             strspn(map->name[k], "0123456789,") == strlen(map->name[k]) ? "contact " : "", map->name[k]);
  kn_plot_series series[] = {{.name = map->inside ? "present (inside)" : "present (outside)",
                              .style = KN_PLOT_POINTS,
                              .x = &map->mu[0],
                              .y = &map->mu[1],
                              .n = 1,
                              .colour = kn_plot_colour(1)},
                             {.name = "P-matrix",
                              .style = KN_PLOT_AREA,
                              .x = region.x,
                              .y = region.y,
                              .n = region.n,
                              .colour = kn_plot_colour(0)}};
  kn_plot plot = {.title = title,
                  .x_label = label[0],
                  .y_label = label[1],
                  .fix_x = true,
                  .fix_y = true,
                  .x_range = {0, top},
                  .y_range = {0, top},
                  .series = series,
                  .series_count = 2};
  kn_exit code = kn_out_plot(args, map->file, &plot, 1, 1, 640, 600);
  kn_region_free(&region);
  return code;
}

kn_exit kn_mu_map_draw(kn_mu_map* map, const kn_args* args, const kn_subject* s, kn_sim* sim,
                       const kn_diagnosis* d) {
  *map = (kn_mu_map){.file = kn_arg_text(args, "--output"),
                     .name = {kn_arg_text(args, "--mu-map"), kn_arg_second(args)}};
  double top = kn_arg_number(args, "--mu-max");
  kn_mode_matrix mode;
  kn_status status = kn_sim_mode_matrix(&mode, sim, s->state);
  if (status != KN_OK) return kn_complain_status(args, status);
  kn_exit code = KN_EXIT_OK;
  if (mode.n > KN_MODE_ROWS)
    code =
        kn_complain(args, KN_EXIT_INPUT, "--mu-map: %d rows, at most %d can be tested", mode.n, KN_MODE_ROWS);
  int axis[KN_MODE_ROWS];
  if (code == KN_EXIT_OK) code = choose(map, axis, args, s->model, &mode, d);
  question q = {.mode = &mode, .axis = axis};
  q.A = calloc((size_t)mode.n * (size_t)mode.n + 1, sizeof *q.A);
  if (code == KN_EXIT_OK && !q.A) code = kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
  if (code == KN_EXIT_OK) {
    map->inside = is_p(map->mu[0], map->mu[1], &q);
    limits(map, &q, 1e3);
    code = picture(map, args, &q, s, d->t, top);
  }
  free(q.A);
  kn_mode_matrix_free(&mode);
  return code;
}

void kn_mu_map_json(kn_json* j, const kn_mu_map* map) {
  kn_json_begin(j, "mu_map");
  kn_json_text(j, "file", map->file);
  for (int k = 0; k < 2; k++) {
    kn_json_begin(j, k ? "b" : "a");
    kn_json_text(j, "name", map->name[k]);
    kn_json_int(j, "contacts", map->columns[k]);
    kn_json_number(j, "mu", map->mu[k]);
    kn_json_number(j, "limit", map->limit[k]);
    kn_json_end(j);
  }
  kn_json_bool(j, "inside", map->inside);
  kn_json_end(j);
}

void kn_mu_map_text(const kn_mu_map* map) {
  printf("  mu map      %s: (%g, %g) is %s the P-matrix region", map->file, map->mu[0], map->mu[1],
         map->inside ? "inside" : "outside");
  for (int k = 0; k < 2 && map->inside; k++)
    if (map->limit[k] < 999)
      printf("; mu of %s < %.6g", map->name[k], map->limit[k]);
    else
      printf("; any mu of %s", map->name[k]);
  printf("\n");
}
