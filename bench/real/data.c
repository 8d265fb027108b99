/* The two tables of the data folder (its README says what they are).

   Planar impacts: the recorded velocities and the recorded impulses do not stand in one right-handed frame. With r the contact
   point of the ellipse at the recorded angle, m k² Δω is r_x p_n - r_y p_t over all impacts (correlation 0.9999999, slope 0.996),
   but m Δv_x goes with -p_t (correlation -0.96), not p_t. So the axis of v_x points against the tangent: v_x changes its
   sign here, and everything else stays.

   Tosses: velocities are backward differences of the positions, half a frame late: v_z - g dt / 2 belongs to the
   first frame. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/csv.h"
#include "math/elementary.h"
#include "real.h"

const char* const real_models[REAL_MODELS] = {
    "drumwright_shell", "anitescu_potra_poisson", "anitescu_potra_newton", "mirtich", "wang_mason",
    "whittaker"};

double real_support(double theta, double tilt) {
  double s, c;
  kn_sincos(&s, &c, theta - tilt); /* the plane's normal in the ellipse's axes: (sin, cos) */
  return sqrt(REAL_A * REAL_A * s * s + REAL_B * REAL_B * c * c);
}

static kn_status find(int* column, const kn_csv* t, const char* name) {
  *column = kn_csv_column(t, name);
  if (*column >= 0) return KN_OK;
  fprintf(stderr, "%s: no column %s\n", t->path, name);
  return KN_BAD_FILE;
}

static kn_status numbers(double* out, const kn_csv* t, int row, const char* names) {
  char name[64];
  for (const char* p = names; *p; out++) {
    size_t n = strcspn(p, " ");
    int column;
    snprintf(name, sizeof name, "%.*s", (int)n, p);
    kn_status status = find(&column, t, name);
    if (status == KN_OK) status = kn_csv_number(out, t, row, column);
    if (status != KN_OK) return status;
    p += n + strspn(p + n, " ");
  }
  return KN_OK;
}

static kn_status read_impact(real_impact* i, const kn_csv* t, int row) {
  double x[5], p[2];
  char names[128];
  kn_status status = numbers(x, t, row, "impact theta vx vy omega");
  if (status == KN_OK) status = numbers(p, t, row, "p_t p_n");
  *i = (real_impact){(int)x[0], x[1], {-x[2], x[3], x[4]}, {p[0], p[1]}, {{0}}};
  for (int k = 0; k < REAL_MODELS && status == KN_OK; k++) {
    snprintf(names, sizeof names, "%s_t %s_n", real_models[k], real_models[k]);
    status = numbers(i->stored[k], t, row, names);
  }
  return status;
}

static kn_status read_impacts(real_data* d, const char* path) {
  kn_csv t;
  kn_status status = kn_csv_read(&t, path);
  if (status != KN_OK) return status;
  d->impact = calloc((size_t)t.rows, sizeof *d->impact);
  if (!d->impact) status = KN_OUT_OF_MEMORY;
  for (int row = 0; row < t.rows && status == KN_OK; row++)
    status = read_impact(&d->impact[d->impacts++], &t, row);
  kn_csv_free(&t);
  return status;
}

static kn_status read_toss(kn_tracks* all, const kn_csv* t, int first, int end) {
  kn_track* k = kn_tracks_add(all, end - first);
  double x[15];
  if (!k) return KN_OUT_OF_MEMORY;
  for (int f = 0; f < k->frames; f++) {
    kn_status status = numbers(x, t, first + f, "toss frame px py pz qw qx qy qz vx vy vz wx wy wz");
    if (status != KN_OK) return status;
    double norm = sqrt(x[5] * x[5] + x[6] * x[6] + x[7] * x[7] + x[8] * x[8]);
    k->t[f] = f / REAL_RATE;
    for (int i = 0; i < 7; i++) k->q[f * 7 + i] = i < 3 ? x[2 + i] * REAL_CUBE_HALF : x[2 + i] / norm;
    if (f > 0) continue;
    snprintf(k->name, sizeof k->name, "toss %d", (int)x[0]);
    for (int i = 0; i < 6; i++) k->v[i] = x[9 + i] * (i < 3 ? REAL_CUBE_HALF : 1.0);
    k->v[2] -= 0.5 * REAL_GRAVITY / REAL_RATE;
  }
  return KN_OK;
}

static kn_status read_tosses(kn_tracks* all, const char* path) {
  kn_csv t;
  kn_status status = kn_csv_read(&t, path);
  if (status != KN_OK) return status;
  *all = (kn_tracks){.nq = 7, .nv = 6};
  int toss;
  status = find(&toss, &t, "toss");
  for (int first = 0, end; status == KN_OK && first < t.rows; first = end) {
    size_t at = (size_t)t.columns;
    for (end = first + 1; end < t.rows; end++)
      if (t.value[(size_t)end * at + (size_t)toss] != t.value[(size_t)first * at + (size_t)toss]) break;
    status = read_toss(all, &t, first, end);
  }
  kn_csv_free(&t);
  return status;
}

bool real_data_read(real_data* d, const char* folder, char* why, size_t room) {
  char path[4096];
  *d = (real_data){0};
  snprintf(path, sizeof path, "%s/planar-impacts.csv", folder);
  kn_status status = read_impacts(d, path);
  snprintf(path, sizeof path, "%s/cube-tosses.csv", folder);
  if (status == KN_OK) status = read_tosses(&d->tosses, path);
  if (status == KN_OK) return true;
  snprintf(why, room, "%s", kn_last_error());
  real_data_free(d);
  return false;
}

void real_data_free(real_data* d) {
  free(d->impact);
  kn_tracks_free(&d->tosses);
  *d = (real_data){0};
}
