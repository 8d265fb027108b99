/* knuckle sweep: a study with many cases. What its files share:

     sweep.c       the command
     case.c        one case, from its number to a row of results
     expression.c  outputs by expression
     model_edit.c  attributes of a model file as fields
     journal.c     rows on disk while the sweep runs, and what is missing after a kill
     crew.c        threads, and ranks of MPI when the program has them (mpi.c)
     results.c     table, HDF5, plots, page */
#ifndef KN_CLI_SWEEP_PLAN_H
#define KN_CLI_SWEEP_PLAN_H

#include "subject.h"

enum {
  KN_SWEEP_THREADS = 256,
  KN_SWEEP_VARIES = 32,
  KN_SWEEP_OUTPUTS = 16,
  KN_SWEEP_TEXT = 256,
  KN_SWEEP_REASON = 400
};

typedef enum kn_case_status {
  KN_CASE_OK,
  KN_CASE_TROUBLE, /* ran to its end; a step was in trouble (the reason says which) */
  KN_CASE_FAILED   /* has no outputs */
} kn_case_status;

typedef struct kn_case_row { /* a finished case; the values of its variables follow from its number */
  int64_t i;
  kn_case_status status;
  long steps;
  double time;                     /* simulated, s */
  uint64_t hash;                   /* of the last state */
  double output[KN_SWEEP_OUTPUTS]; /* NAN: none */
  char* reason;                    /* malloc'd; NULL: none */
} kn_case_row;

typedef struct kn_sweep {
  kn_args* args;
  kn_study* study; /* with its section `sweep` */
  const kn_study_sweep* plan;
  double duration; /* --time; NAN: the study's */
  double limit;    /* s of wall time per case */
  uint64_t hash;   /* of the study, the model and the options: what journals belong to */
  char folder[1024];
} kn_sweep;

/* case.c: runs case i; threads may do so at the same time. The caller frees row->reason. False:
   interrupted, there is no row. */
bool kn_case_run(kn_case_row* row, const kn_sweep* sweep, int64_t i);
/* The subject of a case as `args` ask, like kn_subject_open. `values` (KN_SWEEP_VARIES texts) must live as long. */
kn_exit kn_case_open(kn_subject* subject, kn_args* args, const kn_study_sweep* plan, int64_t i,
                     char (*values)[KN_SWEEP_TEXT]);

/* Are the sweep's outputs understood for this subject? */
kn_exit kn_case_check(const kn_subject* subject, const kn_sweep* sweep);

/* model_edit.c: files of a model with attributes changed: model.geom.foot.size.0. */
typedef struct kn_model_edits kn_model_edits;
kn_model_edits* kn_model_edits_create(void);
bool kn_model_edits_add(kn_model_edits* edits, const char* field, const char* value);
kn_files kn_model_edits_files(kn_model_edits* edits);
/* A field that fitted no element of the files that were read; NULL: all did. */
const char* kn_model_edits_missed(const kn_model_edits* edits);
void kn_model_edits_free(kn_model_edits* edits);

/* journal.c: one line per finished case, appended as soon as it is known; a torn last line is left out. */
typedef struct kn_journal kn_journal;
kn_journal* kn_journal_open(const kn_sweep* sweep, const char* name, char* why, size_t room);
bool kn_journal_add(kn_journal* journal, const kn_case_row* row);
bool kn_journal_close(kn_journal* journal); /* false: something could not be written */
int kn_journal_head(char* line, size_t room, const kn_sweep* sweep); /* its first line */
int kn_journal_line(char* line, size_t room, const kn_sweep* sweep, const kn_case_row* row);
bool kn_journal_lines(kn_journal* journal, const char* lines,
                      size_t size); /* ready-made lines of another rank */
/* Adds the rows in the journals of a folder (none: no such folder) to row[case], done[case] and *count; false with a
   sentence in why. */
bool kn_journals_read(kn_case_row* row, bool* done, int64_t* count, const kn_sweep* sweep, const char* folder,
                      char* why, size_t room);

/* Ranks of MPI (mpi.c); NULL in the ordinary program. Only the main thread calls them. */
typedef struct kn_ranks {
  int rank, size;
  void (*share)(void* bytes, size_t size); /* from rank 0 to all */
  /* Rank 0: a request of another rank, if there is one: the lines it sends (valid until the next call). */
  bool (*receive)(int* from, const char** lines, size_t* bytes);
  void (*answer)(int to, const int64_t* list, int64_t count); /* cases for it; count 0: no more */
  /* Other ranks: lines to rank 0, cases from it; returns their number. */
  int64_t (*ask)(int64_t* list, int64_t room, const char* lines, size_t bytes);
} kn_ranks;
extern const kn_ranks* kn_sweep_ranks;

/* crew.c: runs every case that is not done and keeps its row. */
typedef struct kn_sweep_outcome {
  int64_t ran;
  bool interrupted, lost; /* lost: the journal could not be written */
} kn_sweep_outcome;
kn_sweep_outcome kn_sweep_work(const kn_sweep* sweep, kn_journal* journal, const bool* done, int64_t first,
                               int64_t stride, int threads);

/* results.c: results.csv, results.h5, summary.svg and index.html in the sweep's folder. */
/* page.c: index.html, the table and its picture; a click on a case says how to replay it, or replays it where the page
   is served. value: numbers of the variables, one column of `count` after the other, NAN for words. */
kn_exit kn_results_page(const double* value, const kn_sweep* sweep, const kn_case_row* row, int64_t count);
kn_exit kn_results_write(const kn_sweep* sweep, const kn_case_row* row, int64_t count);

#endif
