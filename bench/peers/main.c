/* Whole steps against other engines: the papers' pendulums, standing robots, piles. Every engine gets the
   same numbers (engine.h), runs in turns with the others, and is looked at with our model: deepest overlap,
   energy after the first impact against a fine reference, rise of energy, slip, separation of hinges. An
   engine whose motion shows that it simulates something else is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/plot.h"
#include "race.h"
#include "solve.h"

enum { PEERS = 4, MOST_RACES = 24 };
static const char* const peer_name[PEERS] = {"mujoco", "bullet", "dart", "ode"};

typedef struct report {
  kn_bench* b;
  race* races[MOST_RACES];
  int count;
} report;

/* ---- table and row ---- */

static void number(double x, const char* format) {
  if (isfinite(x))
    fprintf(stderr, format, x);
  else
    fprintf(stderr, " %9s", "-");
}

static void table(const race* r, const char* name) {
  fprintf(stderr, "\n%s: %d steps of %g ms", name, r->steps, 1e3 * r->kind.dt);
  if (isfinite(r->impact))
    fprintf(stderr, "; first impact %.4f s, energies at %.3f s over %.4g J (%s)", r->impact, r->sample_time,
            r->kinetic, r->reference);
  fprintf(stderr, "\n%-19s %9s %9s %9s %9s %9s %9s %9s %9s %11s %11s\n", "engine", "us/step", "overlap m",
          "E error", "E gain", "hinge m", "slip m", "residual", "contacts", "E start J", "E end J");
  for (int i = 0; i < r->entries; i++) {
    const race_entry* e = &r->entry[i];
    fprintf(stderr, "%-19s", e->name);
    number(e->us, " %9.3f");
    number(e->penetration, " %9.1e"), number(e->energy_error, " %9.1e"), number(e->gain, " %9.1e");
    number(e->drift, " %9.1e"), number(e->slip, " %9.1e"), number(e->residual, " %9.1e");
    fprintf(stderr, " %4d/%-4d", e->contacts, e->touching);
    number(e->energy_start, " %11.5g"), number(e->energy_end, " %11.5g");
    fprintf(stderr, "%s%s\n", e->refused ? "  refused: " : "", e->refused ? e->why : "");
  }
}

static void row(kn_bench* b, const race* r) {
  const race_entry *ours = race_ours(r), *best = race_best(r);
  for (int i = 0; i < r->entries; i++) {
    const race_entry* e = &r->entry[i];
    if (e->refused && !e->first) {
      kn_bench_note(b, "%s %s: %s refused: %s", r->kind.scene, r->kind.setting, e->name, e->why);
      continue;
    }
    (e->first  ? kn_bench_ours_samples
     : e->ours ? kn_bench_extra_samples
               : kn_bench_peer_samples)(b, e->name, e->sample, e->samples);
  }
  if (ours) {
    kn_bench_number(b, "penetration", ours->penetration);
    if (r->kind.swings) {
      kn_bench_number(b, "energy_error", ours->energy_error);
      kn_bench_number(b, "energy_error_total", ours->energy_error_total);
    }
    kn_bench_number(b, "gain", ours->gain);
    kn_bench_number(b, "residual", ours->residual);
    if (ours->refused && ours->reached < r->kind.duration - r->kind.dt)
      kn_bench_note(b, "%s %s: ours %s; its time is that of the steps until then", r->kind.scene,
                    r->kind.setting, ours->why);
    else if (ours->refused)
      kn_bench_fail(b, "%s %s: ours: %s", r->kind.scene, r->kind.setting, ours->why);
  }
  if (best) {
    kn_bench_number(b, "best_peer_penetration", best->penetration);
    if (r->kind.swings) kn_bench_number(b, "best_peer_energy_error", best->energy_error);
    kn_bench_number(b, "best_peer_gain", best->gain);
  }
  for (int i = 0; ours && i < r->entries; i++) /* also when it blew up: the steps until then count */
    if (strcmp(r->entry[i].name, "mujoco rk4") == 0 && r->entry[i].us > 0)
      kn_bench_number(b, "ratio_mujoco_rk4", ours->us / r->entry[i].us);
}

/* ---- JSON and picture ---- */

static void write_members(kn_json* j, void* context) {
  const report* p = context;
  kn_json_array(j, "engines");
  for (int k = 0; k < p->count; k++)
    for (int i = 0; i < p->races[k]->entries; i++) {
      const race* r = p->races[k];
      const race_entry* e = &r->entry[i];
      kn_json_begin(j, NULL);
      kn_json_text(j, "scene", r->kind.scene);
      kn_json_text(j, "setting", r->kind.setting);
      kn_json_text(j, "engine", e->name);
      kn_json_number(j, "us_per_step", e->us);
      kn_json_int(j, "samples", e->samples);
      kn_json_number(j, "penetration", e->penetration);
      kn_json_number(j, "energy_error", e->energy_error);
      kn_json_number(j, "energy_error_total", e->energy_error_total);
      kn_json_number(j, "gain", e->gain);
      kn_json_number(j, "hinge_separation", e->drift);
      kn_json_number(j, "slip", e->slip);
      kn_json_number(j, "residual", e->residual);
      kn_json_number(j, "first_contact", e->first_contact);
      kn_json_int(j, "contacts", e->contacts);
      kn_json_int(j, "touching", e->touching);
      kn_json_number(j, "energy_start", e->energy_start);
      kn_json_number(j, "energy_end", e->energy_end);
      kn_json_text(j, "refused", e->refused ? e->why : NULL);
      kn_json_end(j);
    }
  kn_json_end(j);
}

typedef struct cloud { /* points of one engine in one panel */
  char name[32];
  double x[4 * MOST_RACES], y[4 * MOST_RACES];
  size_t n;
} cloud;

typedef struct panel {
  cloud cloud[RACE_ENTRIES];
  kn_plot_series series[RACE_ENTRIES];
  size_t count;
} panel;

static cloud* cloud_of(panel* p, const char* name) {
  for (size_t i = 0; i < p->count; i++)
    if (strcmp(p->cloud[i].name, name) == 0) return &p->cloud[i];
  if (p->count == RACE_ENTRIES) return NULL;
  cloud* c = &p->cloud[p->count++];
  snprintf(c->name, sizeof c->name, "%s", name);
  return c;
}

/* Variants of one engine share a colour where they differ little. */
static const char* family(const char* name) {
  static const char* const list[] = {"knuckle", "mujoco rk4", "mujoco cg", "mujoco", "bullet", "dart"};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (strncmp(name, list[i], strlen(list[i])) == 0) return list[i];
  return name;
}

/* Errors below 1e-16 are drawn there: a logarithmic axis has no zero. */
static void fill(panel* p, const report* from, bool swings, bool stands, double (*error)(const race_entry*)) {
  for (int k = 0; k < from->count; k++) {
    const race* r = from->races[k];
    if (r->kind.swings != swings || r->kind.stands != stands) continue;
    for (int i = 0; i < r->entries; i++) {
      const race_entry* e = &r->entry[i];
      bool left_out = e->refused && !(e->first && e->reached > 0);
      cloud* c = left_out ? NULL : cloud_of(p, family(e->name));
      if (!c || !isfinite(error(e)) || c->n == 4 * MOST_RACES) continue;
      c->x[c->n] = e->us, c->y[c->n++] = fmax(error(e), 1e-16);
    }
  }
  for (size_t i = 0; i < p->count; i++)
    p->series[i] = (kn_plot_series){.name = p->cloud[i].name,
                                    .style = KN_PLOT_POINTS,
                                    .x = p->cloud[i].x,
                                    .y = p->cloud[i].y,
                                    .n = p->cloud[i].n,
                                    .width = strncmp(p->cloud[i].name, "knuckle", 7) ? 2 : 4};
}

/* Room for the legend on the right. */
static void widen(kn_plot* plot) {
  double lo = INFINITY, hi = 0;
  for (size_t i = 0; i < plot->series_count; i++)
    for (size_t k = 0; k < plot->series[i].n; k++)
      lo = fmin(lo, plot->series[i].x[k]), hi = fmax(hi, plot->series[i].x[k]);
  plot->fix_x = true;
  plot->x_range[0] = lo / 1.3, plot->x_range[1] = hi * fmax(2.5, sqrt(hi / lo));
}

static double overlap(const race_entry* e) { return e->penetration; }
static double energy(const race_entry* e) { return e->energy_error; }

static void draw(const report* from, const char* folder) {
  static panel p[4];
  static const char* const title[4] = {"pendulums: energy after the first impact", "pendulums: overlap",
                                       "standing robots: overlap", "piles: overlap"};
  static const char* const label[4] = {"error / kinetic energy", "deepest overlap, m", "deepest overlap, m",
                                       "deepest overlap, m"};
  kn_plot plot[4];
  size_t used = 0;
  char path[1100];
  fill(&p[0], from, true, false, energy);
  fill(&p[1], from, true, false, overlap);
  fill(&p[2], from, false, true, overlap);
  fill(&p[3], from, false, false, overlap);
  for (int k = 0; k < 4; k++) {
    if (!p[k].count) continue;
    plot[used] = (kn_plot){.title = title[k],
                           .x_label = "time per step, µs",
                           .y_label = label[k],
                           .log_x = true,
                           .log_y = true,
                           .series = p[k].series,
                           .series_count = p[k].count};
    widen(&plot[used++]);
  }
  snprintf(path, sizeof path, "%s/peers-error.svg", folder);
  if (used) kn_plot_save(path, plot, used, used > 1 ? 2 : 1, 0, 0);
}

/* ---- the scenes ---- */

static void run(report* p, const engine* const* peers, const race_kind* kind, const char* name, double x) {
  kn_bench* b = p->b;
  if (p->count == MOST_RACES || !kn_bench_row(b, "%s", name)) return;
  if (x > 0) kn_bench_x(b, x);
  race* r = calloc(1, sizeof *r);
  bool quick = kn_bench_quick(b);
  const char* given = kn_bench_argument(b, "--budget", NULL);
  double budget = given ? atof(given) : quick ? 2 : kind->swings || kind->stands ? 4 : 6;
  race_run(r, kind, peers, PEERS, kn_bench_argument(b, "--engine", NULL), kn_bench_repeats(b, quick ? 1 : 5),
           budget);
  table(r, name);
  row(b, r);
  race_close(r);
  p->races[p->count++] = r;
}

static void pendulums(report* p, const engine* const* peers, const char* scene) {
  static const int links[] = {3, 6, 12, 30, 60, 120};
  for (int i = 0; i < 6; i++) {
    race_kind k = {.scene = scene, .duration = 5, .dt = 1e-3, .swings = true};
    char name[64];
    if (kn_bench_quick(p->b) && links[i] != 3 && links[i] != 12) continue;
    snprintf(k.setting, sizeof k.setting, "links=%d", links[i]);
    snprintf(name, sizeof name, "%s-%d", scene, links[i]);
    run(p, peers, &k, name, links[i]);
  }
}

static void robots(report* p, const engine* const* peers) {
  race_kind dog = {.scene = "quadruped", .duration = 2, .dt = 1e-3, .stands = true, .contacts = 4};
  race_kind man = {.scene = "humanoid", .duration = 2, .dt = 1e-3, .stands = true, .contacts = 8};
  run(p, peers, &dog, "quadruped", 0);
  run(p, peers, &man, "humanoid", 0);
}

static void piles(report* p, const engine* const* peers) {
  static const int balls[] = {100, 666};
  for (int i = 0; i < 2; i++) {
    race_kind k = {.scene = "sphere-pile", .duration = 2, .dt = 1e-3};
    char name[64];
    if (kn_bench_quick(p->b) && balls[i] > 100) continue;
    snprintf(k.setting, sizeof k.setting, "balls=%d", balls[i]);
    snprintf(name, sizeof name, "pile-%d", balls[i]);
    run(p, peers, &k, name, balls[i]);
  }
}

int main(int argc, char** argv) {
  report p = {.b = kn_bench_open("peers", "whole steps against other engines, one thread", argc, argv)};
  const engine* peers[PEERS];
  for (int i = 0; i < PEERS; i++) peers[i] = kn_bench_load_peer(p.b, peer_name[i]);
  kn_bench_group(p.b, "pendulum-2012 (e = 0), 5 s", "links", KN_BENCH_LOG);
  pendulums(&p, peers, "pendulum-2012");
  kn_bench_group(p.b, "pendulum-2014 (e = 0.5), 5 s", "links", KN_BENCH_LOG);
  pendulums(&p, peers, "pendulum-2014");
  kn_bench_group(p.b, "standing robots", NULL, KN_BENCH_LOG);
  robots(&p, peers);
  kn_bench_group(p.b, "piles of spheres, 2 s", "spheres", KN_BENCH_LOG);
  piles(&p, peers);
  bench_solve(p.b);
  kn_bench_members(p.b, write_members, &p);
  if (kn_bench_results(p.b)) draw(&p, kn_bench_results(p.b));
  int status = kn_bench_close(p.b);
  for (int i = 0; i < p.count; i++) free(p.races[i]);
  return status;
}
