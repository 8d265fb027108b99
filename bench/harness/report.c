/* Table, JSON and plot of a bench run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "output/plot.h"

const char* bench_machine(void) {
  static char text[256];
  char line[256], cpu[160] = "unknown processor";
  FILE* f = fopen("/proc/cpuinfo", "r");
  while (f && fgets(line, sizeof line, f)) {
    char* colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    colon[strcspn(colon, "\n")] = '\0';
    snprintf(cpu, sizeof cpu, "%.150s", colon + 2);
    break;
  }
  if (f) fclose(f);
  snprintf(text, sizeof text, "%s, %ld cores, gcc %s", cpu, sysconf(_SC_NPROCESSORS_ONLN), __VERSION__);
  return text;
}

static void cell(double v) {
  if (!isfinite(v))
    fprintf(stderr, " %11s", "-");
  else if (v != 0 && (fabs(v) < 1e-3 || fabs(v) >= 1e6))
    fprintf(stderr, " %11.3g", v);
  else
    fprintf(stderr, " %11.4g", v);
}

static int name_width(const kn_bench* b) {
  size_t width = 12;
  for (size_t i = 0; i < b->row_count; i++)
    if (strlen(b->rows[i]->name) > width) width = strlen(b->rows[i]->name);
  return (int)width;
}

static bool in_columns(const kn_bench* b, const bench_field* f) {
  return b->claims && (strcmp(f->key, "claim") == 0 || strcmp(f->key, "paper") == 0);
}

static void table_row(const kn_bench* b, const bench_row* row, int width) {
  const bench_entry *ours = bench_ours(row), *peer = bench_best_peer(row);
  fprintf(stderr, "%-*s %-4s", width, row->name, row->unit);
  cell(ours ? ours->median : NAN);
  cell(peer ? peer->median : NAN);
  if (!b->claims) {
    cell(ours && peer ? ours->median / peer->median : NAN);
    fprintf(stderr, "  %-12s", peer ? peer->name : "-");
  }
  for (size_t i = 0; i < row->entry_count; i++)
    if (&row->entries[i] != ours && &row->entries[i] != peer)
      fprintf(stderr, " %s %.4g", row->entries[i].name, row->entries[i].median);
  for (size_t i = 0; i < row->field_count; i++) {
    const bench_field* f = &row->fields[i];
    if (in_columns(b, f)) continue;
    if (f->is_text)
      fprintf(stderr, " %s=%s", f->key, f->text);
    else
      fprintf(stderr, " %s=%.3g", f->key, f->number);
  }
  fputc('\n', stderr);
}

void bench_write_table(const kn_bench* b) {
  int width = name_width(b);
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
  fprintf(stderr, "%s: %s\n%s\n", b->name, b->title, bench_machine());
  for (size_t g = 0; g < b->group_count; g++) {
    if (b->claims)
      fprintf(stderr, "\n%s\n%-*s %-4s %11s %11s\n", b->groups[g].title, width, "claim", "unit", "knuckle",
              "paper");
    else
      fprintf(stderr, "\n%s\n%-*s %-4s %11s %11s %11s  %-12s\n", b->groups[g].title, width, "row", "unit",
              "knuckle", "best peer", "ratio", "which");
    for (size_t i = 0; i < b->row_count; i++)
      if (b->rows[i]->group == g) table_row(b, b->rows[i], width);
  }
  for (size_t i = 0; i < b->note_count; i++) fprintf(stderr, "note: %s\n", b->notes[i].text);
}

/* Keys "rows.contact", "rows.limit", one after the other, are members of an object "rows". */
static void json_fields(kn_json* j, const bench_row* row) {
  char open[64] = "";
  for (size_t i = 0; i < row->field_count; i++) {
    const bench_field* f = &row->fields[i];
    const char* dot = strchr(f->key, '.');
    size_t n = dot ? (size_t)(dot - f->key) : 0;
    if (*open && (n != strlen(open) || strncmp(open, f->key, n) != 0)) kn_json_end(j), *open = '\0';
    if (dot && !*open && n < sizeof open) {
      memcpy(open, f->key, n);
      open[n] = '\0';
      kn_json_begin(j, open);
    }
    const char* key = dot ? dot + 1 : f->key;
    if (f->is_text)
      kn_json_text(j, key, f->text);
    else
      kn_json_number(j, key, f->number);
  }
  if (*open) kn_json_end(j);
}

static void json_row(const kn_bench* b, kn_json* j, const bench_row* row) {
  const bench_entry *ours = bench_ours(row), *peer = bench_best_peer(row);
  kn_json_begin(j, NULL);
  kn_json_text(j, "name", row->name);
  kn_json_text(j, "group", b->groups[row->group].title);
  if (row->has_x) kn_json_number(j, "x", row->x);
  kn_json_text(j, "unit", row->unit);
  kn_json_number(j, "knuckle", ours ? ours->median : NAN);
  kn_json_number(j, "best_peer", peer ? peer->median : NAN);
  kn_json_text(j, "best_peer_name", peer ? peer->name : NULL);
  kn_json_number(j, "ratio", ours && peer ? ours->median / peer->median : NAN);
  kn_json_number(j, "spread", ours ? ours->spread : NAN);
  kn_json_begin(j, "all");
  for (size_t i = 0; i < row->entry_count; i++)
    kn_json_number(j, row->entries[i].name, row->entries[i].median);
  kn_json_end(j);
  json_fields(j, row);
  kn_json_end(j);
}

bool bench_write_json(const kn_bench* b, FILE* file) {
  kn_json j;
  kn_json_open(&j, file, true);
  kn_json_begin(&j, NULL);
  kn_json_text(&j, "bench", b->name);
  kn_json_text(&j, "machine", bench_machine());
  kn_json_array(&j, "rows");
  for (size_t i = 0; i < b->row_count; i++) json_row(b, &j, b->rows[i]);
  kn_json_end(&j);
  if (b->members) b->members(&j, b->members_context);
  kn_json_array(&j, "notes");
  for (size_t i = 0; i < b->note_count; i++) kn_json_text(&j, NULL, b->notes[i].text);
  return kn_json_close(&j);
}

enum { SERIES_MAX = 24 };

/* The picture of one group; everything allocated for it is freed by free_panel. */
typedef struct plotted {
  kn_plot plot;
  kn_plot_series series[SERIES_MAX];
  char y_label[64];
  const char** categories;
} plotted;

static kn_plot_series* series_named(plotted* p, const bench_entry* e, size_t room, bool by_x) {
  const char* name = e->name;
  for (size_t i = 0; i < p->plot.series_count; i++)
    if (strcmp(p->series[i].name, name) == 0) return &p->series[i];
  if (p->plot.series_count == SERIES_MAX) return NULL;
  kn_plot_series* s = &p->series[p->plot.series_count++];
  double *x = malloc(room * sizeof *x), *y = malloc(room * sizeof *y);
  if (!x || !y) abort();
  for (size_t i = 0; i < room; i++) x[i] = y[i] = NAN;
  *s = (kn_plot_series){.name = name,
                        .style = by_x ? KN_PLOT_LINE_POINTS : KN_PLOT_BARS,
                        .x = x,
                        .y = y,
                        .dashed = p->plot.series_count > 8, /* colours repeat */
                        .width = e->kind == BENCH_OURS ? 3 : 1.8};
  return s;
}

static void fill_panel(plotted* p, const kn_bench* b, size_t g) {
  const bench_group* group = &b->groups[g];
  size_t room = b->row_count, n = 0;
  *p = (plotted){.categories = calloc(room ? room : 1, sizeof(char*))};
  if (!p->categories) abort();
  snprintf(p->y_label, sizeof p->y_label, "%s%s", strcmp(group->unit, "us") ? group->unit : "time [µs]",
           group->axes == KN_BENCH_LOG ? "" : "");
  p->plot = (kn_plot){.title = group->title,
                      .x_label = group->by_x ? group->x_label : NULL,
                      .y_label = p->y_label,
                      .log_x = group->axes == KN_BENCH_LOG,
                      .log_y = group->axes == KN_BENCH_LOG,
                      .categories = p->categories};
  for (size_t i = 0; i < b->row_count; i++) {
    const bench_row* row = b->rows[i];
    if (row->group != g || (group->by_x && !row->has_x)) continue;
    p->categories[n] = row->name;
    for (size_t e = 0; e < row->entry_count; e++) {
      kn_plot_series* s = series_named(p, &row->entries[e], room, group->by_x);
      if (!s) continue;
      size_t at = group->by_x ? s->n : n;
      ((double*)(size_t)s->x)[at] = row->x;
      ((double*)(size_t)s->y)[at] = row->entries[e].median;
      s->n = at + 1;
    }
    n++;
  }
  p->plot.category_count = n;
  p->plot.series = p->series;
}

static void free_panel(plotted* p) {
  for (size_t i = 0; i < p->plot.series_count; i++) {
    free((void*)(size_t)p->series[i].x);
    free((void*)(size_t)p->series[i].y);
  }
  free(p->categories);
}

bool bench_write_plot(const kn_bench* b, const char* path) {
  if (b->claims) return true;
  plotted* p = calloc(b->group_count, sizeof *p);
  kn_plot* panels = calloc(b->group_count, sizeof *panels);
  size_t used = 0;
  if (!p || !panels) abort();
  for (size_t g = 0; g < b->group_count; g++) {
    fill_panel(&p[g], b, g);
    if (p[g].plot.category_count) panels[used++] = p[g].plot;
  }
  bool ok = used == 0 || kn_plot_save(path, panels, used, used > 1 ? 2 : 1, 0, 0);
  for (size_t g = 0; g < b->group_count; g++) free_panel(&p[g]);
  free(p);
  free(panels);
  return ok;
}
