/* The papers' figures: height (jain-2012 Fig. 2) and height and normal velocity (jain-2014 Fig. 6) of the
   last link by OS and by NMC/OS. The latter without the hinges' J̇q̇ term, as printed: it agrees through the
   first collisions and leaves later. */
#include <stdio.h>
#include <stdlib.h>

#include "output/plot.h"
#include "papers.h"

static kn_plot_series series_of(const run* r, bool speed, const char* name, bool dashed) {
  return (kn_plot_series){.name = name,
                          .x = r->t,
                          .y = speed ? r->speed : r->height,
                          .n = (size_t)(r->steps < SAMPLES ? r->steps : SAMPLES),
                          .dashed = dashed};
}

bool papers_figure(const char* folder, const char* name, const char* scene, int links, double duration) {
  char path[512], title[2][96];
  kn_plot panel[2] = {0};
  kn_plot_series series[2][2] = {0};
  run *os = malloc(sizeof *os), *nmc = malloc(sizeof *nmc);
  run_settings a = {.scene = scene, .formulation = "os", .links = links, .duration = duration}, b = a;
  b.formulation = "nmc-sparse"; /* the same motion as nmc-os, sooner */
  bool ok = os && nmc && simulate(os, &a) && simulate(nmc, &b);
  for (int k = 0; k < 2 && ok; k++) {
    series[k][0] = series_of(os, k, "OS", false);
    series[k][1] = series_of(nmc, k, "NMC/OS without J̇q̇", true);
    snprintf(title[k], sizeof title[k], "%s: %s of the last link, %d links", scene,
             k ? "vertical velocity" : "height", links);
    panel[k] = (kn_plot){.title = title[k],
                         .x_label = "time, s",
                         .y_label = k ? "m/s" : "m",
                         .series = series[k],
                         .series_count = 2};
  }
  snprintf(path, sizeof path, "%s/papers-%s.svg", folder, name);
  ok = ok && kn_plot_save(path, panel, 2, 2, 0, 0);
  free(os);
  free(nmc);
  return ok;
}
