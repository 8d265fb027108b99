/* What the harness keeps of a run; shared by its own files only. */
#ifndef KN_BENCH_INTERNAL_H
#define KN_BENCH_INTERNAL_H

#include "bench.h"

enum { BENCH_ENTRIES = 16, BENCH_FIELDS = 24, BENCH_TEXT = 160, BENCH_REPEATS = 101 };

typedef enum bench_kind { BENCH_OURS, BENCH_PEER, BENCH_EXTRA } bench_kind;

typedef struct bench_entry {
  char name[48];
  bench_kind kind;
  kn_bench_fn run;
  void* context;
  long calls; /* per sample */
  double sample[BENCH_REPEATS];
  double median; /* in the row's unit */
  double spread; /* (third - first quartile) / median */
} bench_entry;

typedef struct bench_field {
  char key[48];
  bool is_text;
  double number;
  char text[BENCH_TEXT];
} bench_field;

typedef struct bench_row {
  char name[96], unit[16];
  double scale, per, x;
  bool has_x;
  size_t group, entry_count, field_count;
  bench_entry entries[BENCH_ENTRIES];
  bench_field fields[BENCH_FIELDS];
} bench_row;

typedef struct bench_group {
  char title[96], x_label[64], unit[16];
  bool by_x;
  kn_bench_axes axes;
} bench_group;

typedef struct bench_line {
  char text[400];
} bench_line;

struct kn_bench {
  const char *name, *title, *results, *filter;
  int argc;
  char** argv;
  bool json, quick, save, failed, claims;
  int repeats;
  double sample_seconds, scale;
  char unit[16];
  bench_row** rows;
  size_t row_count, row_room;
  bench_group* groups;
  size_t group_count, group_room;
  bench_line* notes;
  size_t note_count, note_room;
  void (*members)(kn_json* j, void* context);
  void* members_context;
  const char *ratio_key, *ratio_words; /* NULL: the plot has times */
};

/* The row's "knuckle" and its fastest peer; NULL when absent. */
const bench_entry* bench_ours(const bench_row* row);
const bench_entry* bench_best_peer(const bench_row* row);
const char* bench_machine(void);

void bench_write_table(const kn_bench* b);
bool bench_write_json(const kn_bench* b, FILE* file);
bool bench_write_plot(const kn_bench* b, const char* path);
bool bench_write_ratios(const kn_bench* b, const char* path);

#endif
