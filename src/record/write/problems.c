/* Contact problems of a run as FCLIB files. The format holds cones of one dimension followed by equality
   rows,

     u = W r + V l + q,   0 = Vᵀ r + R l + s,

   so rows are put in that order; a limit (0 ≤ r ⊥ u ≥ 0) becomes a contact with mu = 0 whose tangential rows
   stand alone (u_T = w r_T, hence r_T = 0). Boxes (dry friction of joints) have no place in the format: such
   a problem is counted as left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "knuckle/fclib.h"
#include "knuckle/record.h"
#include "step/sim.h"

struct kn_problem_dump {
  kn_sim* sim;
  char* path; /* directory, "/", room for a file name */
  size_t directory;
  int written, left_out;
  kn_status status;
};

enum { NAME_ROOM = 64 };

/* Row of the file for every row of the problem; blocks in the file's order. Returns rows; 0: no
   contact in it, -1: not sayable. */
static int arrange(int* place, kn_block* block, int* blocks, const kn_problem* p) {
  int rows = 0;
  *blocks = 0;
  for (int b = 0; b < p->blocks; b++) {
    const kn_block* c = &p->block[b];
    if (c->set == KN_SET_BOX || c->set == KN_SET_CONE2) return -1;
    if (c->set == KN_SET_FREE) continue;
    for (int k = 0; k < kn_set_rows(c->set); k++) place[c->row + k] = rows + k;
    block[(*blocks)++] =
        (kn_block){.set = KN_SET_CONE3, .row = rows, .mu = c->set == KN_SET_CONE3 ? c->mu : 0.0};
    rows += 3;
  }
  if (rows == 0) return 0;
  for (int b = 0; b < p->blocks; b++) {
    if (p->block[b].set != KN_SET_FREE) continue;
    place[p->block[b].row] = rows;
    block[(*blocks)++] = (kn_block){.set = KN_SET_FREE, .row = rows++};
  }
  return rows;
}

static void fill(double* W, double* q, double* r, const kn_problem* p, const double* solution,
                 const int* place, int rows) {
  for (int i = 0; i < p->rows; i++) {
    q[place[i]] = p->q[i];
    r[place[i]] = solution[i];
    for (int j = 0; j < p->rows; j++) W[(size_t)place[i] * rows + place[j]] = p->W[(size_t)i * p->rows + j];
  }
  for (int b = 0; b < p->blocks; b++) {
    if (p->block[b].set != KN_SET_POSITIVE) continue;
    int n = place[p->block[b].row];
    double w = W[(size_t)n * rows + n];
    for (int k = 1; k < 3; k++) W[(size_t)(n + k) * rows + n + k] = w > 0.0 ? w : 1.0;
  }
}

static kn_status write_problem(kn_problem_dump* d, const kn_problem* p, const double* solution) {
  size_t most = 3 * (size_t)p->rows;
  int* place = malloc((size_t)p->rows * sizeof *place);
  kn_block* block = calloc((size_t)p->blocks, sizeof *block);
  double* room = calloc(most * (most + 2), sizeof *room);
  kn_status status =
      place && block && room ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "a problem of %d rows", p->rows);
  int blocks = 0, rows = status == KN_OK ? arrange(place, block, &blocks, p) : 0;
  if (status == KN_OK && rows < 0) d->left_out++;
  if (status == KN_OK && rows > 0) {
    double *q = room, *r = room + most, *W = room + 2 * most;
    char title[128];
    fill(W, q, r, p, solution, place, rows);
    snprintf(title, sizeof title, "knuckle, t = %.9g s, %s", d->sim->report.t, d->sim->settings.formulation);
    snprintf(d->path + d->directory, NAME_ROOM, "problem-%06d.hdf5", d->written + 1);
    kn_problem file = {.rows = rows, .blocks = blocks, .block = block, .W = W, .q = q};
    status = kn_fclib_write(d->path, &file, title, r);
    if (status == KN_OK) d->written++;
  }
  free(place);
  free(block);
  free(room);
  return status;
}

static void seen(const kn_problem* p, const double* r, void* context) {
  kn_problem_dump* d = context;
  if (d->status != KN_OK || p->rows == 0) return;
  if (!p->W)
    d->left_out++;
  else
    d->status = write_problem(d, p, r);
}

kn_status kn_problem_dump_open(kn_problem_dump** dump, const char* directory, kn_sim* sim) {
  KN_REQUIRE(dump != NULL && directory != NULL && sim != NULL);
  *dump = NULL;
#ifndef KN_HAVE_HDF5
  return kn_fail(KN_UNSUPPORTED, "%s: problems are HDF5 files, built without HDF5 (KN_HDF5)", directory);
#endif
  kn_problem_dump* d = calloc(1, sizeof *d);
  size_t length = strlen(directory);
  if (d) d->path = malloc(length + 1 + NAME_ROOM);
  if (!d || !d->path) {
    free(d);
    return kn_fail(KN_OUT_OF_MEMORY, "problem dump");
  }
  d->sim = sim;
  d->directory = length + 1;
  memcpy(d->path, directory, length);
  d->path[length] = '/';
  kn_sim_watch_problems(sim, seen, d);
  *dump = d;
  return KN_OK;
}

kn_status kn_problem_dump_close(int* written, int* left_out, kn_problem_dump* d) {
  if (written) *written = d ? d->written : 0;
  if (left_out) *left_out = d ? d->left_out : 0;
  if (!d) return KN_OK;
  kn_status status = d->status;
  kn_sim_watch_problems(d->sim, NULL, NULL);
  free(d->path);
  free(d);
  return status;
}
