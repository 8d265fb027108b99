/* The papers' tables beside ours: jain-2014 Tables 1 and 2, jain-2012 Table I, the figures of both, and how
   step and set-up grow with the number of links. Sizes are those of the problems actually set up; times are
   ours on this machine, so only ratios and exponents can be compared. Polyhedral friction with four
   directions, Lemke's method. The papers' comparison as they made it: OS and NMC/OS as a dense mixed LCP with one
   dense factorisation of the hinge rows, both with the kernels for motions in space. Beside it the best of each: OS
   with the fast paths a user gets, and the hinge rows eliminated block by block along the tree. */
#include <math.h>
#include <stdlib.h>

#include "knuckle/status.h"
#include "papers.h"

typedef struct paper_row {
  int n, os, nmc_os, nmc;
  double os_s, nmc_os_s;       /* jain-2014 Table 2 */
  double ta_2012_s, fa_2012_s; /* jain-2012 Table I */
} paper_row;

static const paper_row paper[] = {{3, 24, 39, 57, 0.63, 2.20, 1.326214, 5.035574},
                                  {6, 24, 54, 90, 1.0, 4.44, 1.572062, 7.585271},
                                  {12, 24, 84, 156, 1.88, 15.7, 3.231113, 21.002845},
                                  {15, 24, 99, 189, 2.91, 33.59, 2.930593, 40.110204},
                                  {24, 24, 144, 288, 4.76, 127.94, 5.989333, 117.906592},
                                  {30, 24, 174, 354, 5.13, 257.72, 4.766953, 212.037019}};
enum { PAPER_ROWS = sizeof paper / sizeof *paper, MAX_ROWS = 7, METHODS = 4 };
static const struct {
  const char* name;
  bool general; /* without fast paths */
} methods[METHODS] = {{"os", true}, {"nmc-os", true}, {"nmc-sparse", false}, {"os", false}};
enum { OS, NMC_OS, SPARSE, BEST_OS };

/* One pendulum by all methods. */
typedef struct ours_row {
  int n, os, nmc_os, nmc;
  double duration, cpu[METHODS];
  long impacts;
  double residual, drift;
} ours_row;

typedef struct table {
  const char* scene;
  ours_row row[MAX_ROWS];
  int rows;
  double exponent[METHODS]; /* from 12 links on */
} table;

enum { GROWTHS = 6 };
static const struct {
  const char *name, *assembly; /* as the paper says */
  int dual_arm, largest;       /* published size (0: not in the paper), links measured */
} forms[GROWTHS] = {{"nmc", "O(n)", 310, 60},   {"mc", "O(N^2)", 50, 250},
                    {"rmc", "O(N^3)", 24, 250}, {"os", "O(N) + O(nc^2)", 24, 1000},
                    {"nmc-os", "", 0, 120},     {"nmc-sparse", "", 0, 1000}};

typedef struct tables {
  table t2014, t2012;
  growth g[GROWTHS];
  int growths;
} tables;

static double best_nmc(const ours_row* r) { return fmin(r->cpu[NMC_OS], r->cpu[SPARSE]); }

static void write_table(kn_json* j, const char* name, const table* t, bool first_paper) {
  kn_json_array(j, name);
  for (int i = 0; i < t->rows; i++) {
    const ours_row* r = &t->row[i];
    bool have = i < PAPER_ROWS;
    double os_s = have ? (first_paper ? paper[i].ta_2012_s : paper[i].os_s) : NAN;
    double fa_s = have ? (first_paper ? paper[i].fa_2012_s : paper[i].nmc_os_s) : NAN;
    kn_json_begin(j, NULL);
    kn_json_int(j, "n", r->n);
    kn_json_int(j, "lcp_os", r->os);
    kn_json_int(j, "lcp_nmc_os", r->nmc_os);
    kn_json_int(j, "lcp_nmc", r->nmc);
    kn_json_number(j, "os_s", r->cpu[0]);
    kn_json_number(j, "nmc_os_s", r->cpu[1]);
    kn_json_number(j, "nmc_sparse_s", r->cpu[2]);
    kn_json_number(j, "ratio", r->cpu[1] / r->cpu[0]);
    kn_json_number(j, "ratio_sparse", r->cpu[SPARSE] / r->cpu[OS]);
    kn_json_number(j, "best_os_s", r->cpu[BEST_OS]);
    kn_json_number(j, "best_nmc_s", best_nmc(r));
    kn_json_number(j, "best_ratio", best_nmc(r) / r->cpu[BEST_OS]);
    kn_json_number(j, "duration_s", r->duration);
    kn_json_number(j, "paper_os_s", os_s);
    kn_json_number(j, "paper_nmc_os_s", fa_s);
    kn_json_number(j, "paper_ratio", fa_s / os_s);
    kn_json_int(j, "paper_lcp_os", have ? paper[i].os : -1);
    kn_json_int(j, "paper_lcp_nmc_os", have ? paper[i].nmc_os : -1);
    kn_json_int(j, "paper_lcp_nmc", have ? paper[i].nmc : -1);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void write_members(kn_json* j, void* context) {
  const tables* t = context;
  kn_json_array(j, "table1");
  for (int i = 0; i < t->growths; i++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "formulation", forms[i].name);
    kn_json_int(j, "dual_arm_lcp", size_of("dual-arm", 0, forms[i].name));
    kn_json_int(j, "paper_dual_arm_lcp", forms[i].dual_arm ? forms[i].dual_arm : -1);
    kn_json_text(j, "paper_assembly", forms[i].assembly);
    kn_json_number(j, "assembly_exponent", t->g[i].setup_exponent);
    kn_json_number(j, "step_exponent", t->g[i].step_exponent);
    kn_json_int(j, "largest_links", t->g[i].links[t->g[i].count - 1]);
    kn_json_end(j);
  }
  kn_json_end(j);
  write_table(j, "table2", &t->t2014, false);
  write_table(j, "table2012", &t->t2012, true);
  kn_json_number(j, "exponent_os", t->t2014.exponent[0]);
  kn_json_number(j, "exponent_nmc_os", t->t2014.exponent[1]);
  kn_json_number(j, "exponent_nmc_sparse", t->t2014.exponent[SPARSE]);
  kn_json_number(j, "exponent_best_os", t->t2014.exponent[BEST_OS]);
}

static void run_row(kn_bench* b, ours_row* r, const char* scene, double duration) {
  run* one = malloc(sizeof *one);
  if (!one) return;
  r->duration = duration;
  r->os = size_of(scene, r->n, "os");
  r->nmc_os = size_of(scene, r->n, "nmc-os");
  r->nmc = size_of(scene, r->n, "nmc");
  for (int k = 0; k < METHODS; k++) {
    run_settings s = {.scene = scene,
                      .formulation = methods[k].name,
                      .links = r->n,
                      .duration = duration,
                      .hinge_bias = true,
                      .general = methods[k].general};
    if (!simulate(one, &s)) kn_bench_fail(b, "%s, n = %d: %s failed", scene, r->n, methods[k].name);
    r->cpu[k] = one->cpu;
    r->residual = fmax(r->residual, one->residual);
    r->drift = fmax(r->drift, one->drift);
    if (k == 0) r->impacts = one->impacts;
  }
  free(one);
}

static void show_row(kn_bench* b, const ours_row* r, int i, bool first_paper) {
  double whole = 5.0 / r->duration; /* shorter runs count as if they had gone on alike */
  kn_bench_ours_value(b, "os", whole * r->cpu[OS]);
  kn_bench_extra_value(b, "nmc-os", whole * r->cpu[NMC_OS]);
  kn_bench_extra_value(b, "nmc-sparse", whole * r->cpu[SPARSE]);
  kn_bench_extra_value(b, "os, fast paths", whole * r->cpu[BEST_OS]);
  kn_bench_number(b, "lcp_os", r->os);
  kn_bench_number(b, "lcp_nmc_os", r->nmc_os);
  kn_bench_number(b, "lcp_nmc", r->nmc);
  kn_bench_number(b, "ratio_nmc_os", r->cpu[1] / r->cpu[0]);
  kn_bench_number(b, "best_ratio", best_nmc(r) / r->cpu[BEST_OS]);
  kn_bench_number(b, "simulated_s", r->duration);
  kn_bench_number(b, "impacts", (double)r->impacts);
  kn_bench_number(b, "residual", r->residual);
  if (i >= PAPER_ROWS) return;
  const paper_row* p = &paper[i];
  kn_bench_number(b, "paper_ratio", first_paper ? p->fa_2012_s / p->ta_2012_s : p->nmc_os_s / p->os_s);
  if (r->os != p->os || r->nmc_os != p->nmc_os || r->nmc != p->nmc)
    kn_bench_fail(b, "n = %d: LCP sizes differ from the paper's", r->n);
}

/* The pendulum for all numbers of links; more than 30 for a tenth of the time (the dense one takes minutes).
 */
static void run_table(kn_bench* b, table* t, const char* scene, double duration, int largest,
                      bool first_paper) {
  static const int links[] = {3,  6,  12, 15,
                              24, 30, 60}; /* a dense problem of 120 with all its contacts needs 25 GB */
  double x[MAX_ROWS], y[METHODS][MAX_ROWS];
  int from = 0;
  t->scene = scene;
  kn_bench_unit(b, "s", 1);
  kn_bench_group(b, scene, "links", KN_BENCH_LOG);
  for (int i = 0; i < MAX_ROWS && links[i] <= largest; i++) {
    ours_row* r = &t->row[t->rows];
    r->n = links[i];
    if (!kn_bench_row(b, "%s-%d", scene, r->n)) continue;
    kn_bench_x(b, r->n);
    run_row(b, r, scene, r->n > 30 ? 0.1 * duration : duration);
    show_row(b, r, i, first_paper);
    x[t->rows] = r->n;
    for (int k = 0; k < METHODS; k++) y[k][t->rows] = r->cpu[k] / r->duration;
    from += r->n < 12;
    t->rows++;
  }
  for (int k = 0; k < METHODS && t->rows - from > 1; k++)
    t->exponent[k] = exponent(x + from, y[k] + from, t->rows - from);
  kn_bench_note(
      b,
      "%s: time grows like n^%.2f (OS), n^%.2f (NMC/OS dense), n^%.2f (block-sparse), n^%.2f (OS with fast "
      "paths) from 12 links",
      scene, t->exponent[OS], t->exponent[NMC_OS], t->exponent[SPARSE], t->exponent[BEST_OS]);
}

static void run_growth(kn_bench* b, tables* t, bool quick) {
  kn_bench_unit(b, "us", 1e6);
  kn_bench_group(b, "one step, four contacts", "links", KN_BENCH_LOG);
  for (int i = 0; i < GROWTHS; i++) {
    int largest = quick && forms[i].largest > 120 ? 120 : quick ? 30 : forms[i].largest;
    if (!grow(&t->g[i], forms[i].name, largest)) kn_bench_fail(b, "growth: %s failed", forms[i].name);
    t->growths++;
    kn_bench_note(b, "%-10s set-up n^%.2f, step n^%.2f (up to %d links; the paper's set-up: %s)",
                  forms[i].name, t->g[i].setup_exponent, t->g[i].step_exponent,
                  t->g[i].links[t->g[i].count - 1], *forms[i].assembly ? forms[i].assembly : "not given");
  }
  const growth* os = &t->g[3];
  for (int k = 0; k < os->count; k++) {
    if (!kn_bench_row(b, "step-%d", os->links[k])) continue;
    kn_bench_x(b, os->links[k]);
    kn_bench_ours_value(b, "os", 1e6 * os->step[k]);
    for (int i = 0; i < GROWTHS; i++)
      if (i != 3 && k < t->g[i].count) kn_bench_extra_value(b, forms[i].name, 1e6 * t->g[i].step[k]);
  }
}

int main(int argc, char** argv) {
  kn_bench* b =
      kn_bench_open("papers", "the papers' pendulums, 5 s at 1 ms, poly4 friction, Lemke", argc, argv);
  static tables t;
  bool quick = kn_bench_quick(b);
  double duration = quick ? 0.5 : 5.0;
  run_table(b, &t.t2014, "pendulum-2014", duration, quick ? 30 : 60, false);
  run_table(b, &t.t2012, "pendulum-2012", duration, quick ? 15 : 30, true);
  run_growth(b, &t, quick);
  const char* folder = kn_bench_results(b);
  if (folder) {
    growth_figure(folder, t.g, t.growths);
    if (!papers_figure(folder, "2014-12-links", "pendulum-2014", 12, 5.0) ||
        !papers_figure(folder, "2012-3-links", "pendulum-2012", 3, 5.0))
      kn_bench_fail(b, "the figures could not be drawn");
  }
  kn_bench_members(b, write_members, &t);
  return kn_bench_close(b);
}
