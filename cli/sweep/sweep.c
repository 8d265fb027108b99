/* knuckle sweep: all cases of a study, on the threads of one machine, on ranks of MPI, or shard by shard.

   The folder of a sweep (STUDY.sweep beside the study) holds the journals, and the results once every case is there.
   The same command goes on where a killed one stopped; it runs nothing twice. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/file.h"
#include "sweep/plan.h"

/* Under mpirun the program with ranks takes over; it lies beside this one. Without it every rank would run the whole
   sweep, so that is refused. */
static kn_exit become_ranks(const kn_args* args) {
  const char* size = getenv("OMPI_COMM_WORLD_SIZE");
  char path[4096], command[65536];
  if (kn_sweep_ranks || !size || atoi(size) < 2) return KN_EXIT_OK;
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
  FILE* f = fopen("/proc/self/cmdline", "rb");
  size_t used = f ? fread(command, 1, sizeof command - 1, f) : 0;
  if (f) fclose(f);
  char* argv[256];
  int argc = 0;
  for (char* p = command; p < command + used && argc < 255; p += strlen(p) + 1) argv[argc++] = p;
  argv[argc] = NULL;
  if (n > 0) {
    path[n] = 0;
    strcat(path, "-mpi");
    execv(path, argv);
  }
  return kn_complain(args, KN_EXIT_USAGE,
                     "%s ranks, but %s is not there: build it with MPI installed (libopenmpi-dev)", size,
                     n > 0 ? path : "knuckle-mpi");
}

/* ---- what belongs together ---- */

static uint64_t mix(uint64_t h, const void* bytes, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char*)bytes)[i]) * 0x100000001b3u;
  return h;
}

static uint64_t mix_file(uint64_t h, const char* path) {
  char block[4096];
  size_t n;
  FILE* f = path ? fopen(path, "rb") : NULL;
  while (f && (n = fread(block, 1, sizeof block, f)) > 0) h = mix(h, block, n);
  if (f) fclose(f);
  return h;
}

/* The study's text, the model of the first case and the options that change a run. */
static uint64_t identity(const kn_sweep* w, const kn_subject* first) {
  uint64_t h = mix_file(0xcbf29ce484222325u, w->args->operand[0]), model = kn_model_hash(first->model);
  h = mix_file(mix(h, &model, sizeof model), first->model_path);
  const kn_option* o = w->args->command->options;
  for (int i = 0; o[i].name; i++) {
    static const char* const aside[] = {"--threads", "--shard", "--merge", "--fresh",
                                        "--output",  "--plan",  "--rows"};
    bool counts = w->args->values[i] != NULL;
    for (size_t k = 0; k < sizeof aside / sizeof *aside; k++)
      counts = counts && strcmp(o[i].name, aside[k]) != 0;
    if (counts) h = mix(mix(h, o[i].name, strlen(o[i].name)), w->args->values[i], strlen(w->args->values[i]));
  }
  return h;
}

static kn_exit open_plan(kn_sweep* w, kn_args* args) {
  *w = (kn_sweep){.args = args, .duration = NAN, .limit = INFINITY};
  const char* path = args->operand[0];
  kn_status status = kn_study_load(&w->study, path);
  if (status != KN_OK) return kn_complain_status(args, status);
  w->plan = w->study->sweep;
  if (!w->plan) return kn_complain(args, KN_EXIT_INPUT, "%s:1:1: the study has no section sweep:", path);
  if (w->plan->varies > KN_SWEEP_VARIES || w->plan->outputs > KN_SWEEP_OUTPUTS)
    return kn_complain(args, KN_EXIT_INPUT,
                       "%s:%d:1: %d variables and %d outputs, expected at most %d and %d", path,
                       w->plan->line, w->plan->varies, w->plan->outputs, KN_SWEEP_VARIES, KN_SWEEP_OUTPUTS);
  if (kn_arg_given(args, "--time")) w->duration = kn_arg_number(args, "--time");
  if (!isnan(w->plan->limit)) w->limit = w->plan->limit;
  if (kn_arg_given(args, "--limit")) w->limit = kn_arg_number(args, "--limit");
  const char* out = kn_arg_text(args, "--output");
  size_t stem = strlen(path) > 5 ? strlen(path) - 5 : strlen(path);
  if (out)
    snprintf(w->folder, sizeof w->folder, "%s", out);
  else
    snprintf(w->folder, sizeof w->folder, "%.*s.sweep", (int)stem, path);
  return KN_EXIT_OK;
}

/* The first case must open and its outputs be understood: a mistake in the study ends here, with its line. */
static kn_exit try_first(kn_sweep* w) {
  char values[KN_SWEEP_VARIES][KN_SWEEP_TEXT];
  kn_subject s;
  kn_args args;
  if (!kn_args_copy(&args, w->args)) return kn_complain(w->args, KN_EXIT_VIOLATION, "out of memory");
  kn_exit code = kn_case_open(&s, &args, w->plan, 0, values);
  if (code == KN_EXIT_OK) code = kn_case_check(&s, w);
  if (code == KN_EXIT_OK) w->hash = identity(w, &s);
  kn_subject_close(&s);
  kn_args_free(&args);
  return code;
}

/* ---- the parts of the command ---- */

typedef struct rows {
  kn_case_row* row;
  bool* done;
  int64_t count;
} rows;

static void rows_free(rows* r, int64_t cases) {
  for (int64_t i = 0; r->row && i < cases; i++) free(r->row[i].reason);
  free(r->row);
  free(r->done);
}

static kn_exit rows_read(rows* r, const kn_sweep* w, const char* folder) {
  char why[4096] = "";
  if (!r->row) {
    r->row = calloc((size_t)w->plan->cases, sizeof *r->row);
    r->done = calloc((size_t)w->plan->cases, sizeof *r->done);
    if (!r->row || !r->done)
      return kn_complain(w->args, KN_EXIT_VIOLATION, "out of memory for %" PRId64 " cases", w->plan->cases);
  }
  if (kn_journals_read(r->row, r->done, &r->count, w, folder, why, sizeof why)) return KN_EXIT_OK;
  return kn_complain(w->args, KN_EXIT_INPUT, "%s", why);
}

static void forget_journals(const kn_sweep* w) {
  DIR* d = opendir(w->folder);
  char path[4096];
  for (struct dirent* e = d ? readdir(d) : NULL; e; e = readdir(d))
    if (strncmp(e->d_name, "journal", 7) == 0 && strstr(e->d_name, ".txt")) {
      snprintf(path, sizeof path, "%s/%s", w->folder, e->d_name);
      unlink(path);
    }
  if (d) closedir(d);
}

static kn_exit shard_of(int* shard, int* shards, const kn_args* args) {
  const char* text = kn_arg_text(args, "--shard");
  char rest;
  *shard = 0;
  *shards = 1;
  if (!text) return KN_EXIT_OK;
  if (sscanf(text, "%d/%d%c", shard, shards, &rest) == 2 && *shards >= 1 && *shards <= 100000 &&
      *shard >= 1 && *shard <= *shards) {
    --*shard;
    return KN_EXIT_OK;
  }
  return kn_complain(args, KN_EXIT_USAGE, "--shard %s: expected I/N with I from 1 to N", text);
}

static int thread_count(const kn_args* args) {
  long n =
      kn_arg_given(args, "--threads") ? (long)kn_arg_int(args, "--threads") : sysconf(_SC_NPROCESSORS_ONLN);
  if (kn_sweep_ranks && !kn_arg_given(args, "--threads"))
    n = 1; /* mpirun has spread the ranks over the cores */
  return n < 1 ? 1 : n > KN_SWEEP_THREADS ? KN_SWEEP_THREADS : (int)n;
}

static kn_exit work(const kn_sweep* w, rows* r) {
  int shard, shards;
  char name[64] = "journal.txt", why[4096];
  kn_exit code = shard_of(&shard, &shards, w->args);
  if (code != KN_EXIT_OK) return code;
  bool helper = kn_sweep_ranks && kn_sweep_ranks->rank > 0;
  if (shards > 1) snprintf(name, sizeof name, "journal-%d-of-%d.txt", shard + 1, shards);
  kn_journal* journal = helper ? NULL : kn_journal_open(w, name, why, sizeof why);
  if (!helper && !journal) code = kn_complain(w->args, KN_EXIT_WRITE, "%s", why);
  if (kn_sweep_ranks) kn_sweep_ranks->share(&code, sizeof code);
  if (code != KN_EXIT_OK) return code;
  if (!helper) code = rows_read(r, w, w->folder);
  if (kn_sweep_ranks) kn_sweep_ranks->share(&code, sizeof code);
  kn_sweep_outcome done = {0};
  if (code == KN_EXIT_OK) done = kn_sweep_work(w, journal, r->done, shard, shards, thread_count(w->args));
  if (!kn_journal_close(journal)) done.lost = true;
  if (code == KN_EXIT_OK && done.lost)
    code = kn_complain(w->args, KN_EXIT_WRITE, "%s: a journal could not be written: %s", w->folder,
                       strerror(errno));
  if (code == KN_EXIT_OK && done.interrupted) code = KN_EXIT_INTERRUPTED;
  return code;
}

static kn_exit tell(const kn_sweep* w, const rows* r, kn_exit code, double seconds, bool whole) {
  int64_t sum[3] = {0}, cases = w->plan->cases, first_bad = -1;
  for (int64_t i = 0; r->done && i < cases; i++) {
    if (!r->done[i]) continue;
    sum[r->row[i].status]++;
    if (r->row[i].status != KN_CASE_OK && first_bad < 0) first_bad = i;
  }
  if (code == KN_EXIT_OK && whole && sum[1] + sum[2]) code = KN_EXIT_VIOLATION;
  if (w->args->json) {
    kn_json j;
    kn_json_start(&j);
    kn_json_text(&j, "study", w->study->path);
    kn_json_text(&j, "folder", w->folder);
    kn_json_text(&j, "status",
                 code == KN_EXIT_INTERRUPTED ? "interrupted"
                 : !whole                    ? "unfinished"
                 : sum[2]                    ? "failed"
                 : sum[1]                    ? "trouble"
                                             : "ok");
    kn_json_int(&j, "cases", cases);
    kn_json_int(&j, "done", r->count);
    kn_json_int(&j, "ok", sum[0]);
    kn_json_int(&j, "trouble", sum[1]);
    kn_json_int(&j, "failed", sum[2]);
    kn_json_number(&j, "wall_s", seconds);
    return kn_json_finish(&j, code);
  }
  char wall[KN_SHORT_TEXT];
  printf("%s: %" PRId64 " of %" PRId64 " cases, %" PRId64 " ok, %" PRId64 " in trouble, %" PRId64
         " failed, in %s\n",
         w->study->path, r->count, cases, sum[0], sum[1], sum[2], kn_time_text(wall, seconds));
  if (first_bad >= 0)
    printf("  case %" PRId64 ": %s\n", first_bad, r->row[first_bad].reason ? r->row[first_bad].reason : "");
  if (whole) printf("  wrote %s/results.csv, results.h5, summary.svg, index.html\n", w->folder);
  if (!whole)
    printf("  %" PRId64 " cases are missing: %s\n", cases - r->count,
           kn_arg_given(w->args, "--shard") ? "run the other shards, then --merge"
                                            : "the same command goes on");
  return code;
}

static kn_exit finish(const kn_sweep* w, rows* r, kn_exit code, double seconds) {
  bool whole = false;
  if (code == KN_EXIT_OK || code == KN_EXIT_INTERRUPTED) {
    kn_exit read = KN_EXIT_OK;
    rows_free(r,
              w->plan->cases); /* the journals as they are on the disk, not what was thought to be in them */
    *r = (rows){0};
    read = rows_read(r, w, w->folder);
    for (int i = 1; i < w->args->operands && read == KN_EXIT_OK; i++)
      read = rows_read(r, w, w->args->operand[i]);
    if (read != KN_EXIT_OK) return read;
    whole = r->count == w->plan->cases;
    if (whole) read = kn_results_write(w, r->row, r->count);
    if (read != KN_EXIT_OK) return read;
  } else
    return code;
  if (kn_arg_flag(w->args, "--merge") && !whole && code == KN_EXIT_OK) code = KN_EXIT_VIOLATION;
  return tell(w, r, code, seconds, whole);
}

/* ---- for schedulers of others (Dask, Ray) ---- */

/* What there is to do: the head of a journal, and the cases that no journal has. */
static kn_exit tell_plan(const kn_sweep* w) {
  kn_json j;
  rows r = {0};
  char head[256];
  kn_exit code = rows_read(&r, w, w->folder);
  if (code == KN_EXIT_OK) {
    kn_journal_head(head, sizeof head, w);
    kn_json_start(&j);
    kn_json_text(&j, "study", w->study->path);
    kn_json_text(&j, "folder", w->folder);
    kn_json_text(&j, "head", head);
    kn_json_int(&j, "cases", w->plan->cases);
    kn_json_array(&j, "missing"); /* [first, behind the last] */
    for (int64_t i = 0; i < w->plan->cases; i++) {
      if (r.done[i]) continue;
      kn_json_array(&j, NULL);
      kn_json_int(&j, NULL, i);
      while (i < w->plan->cases && !r.done[i]) i++;
      kn_json_int(&j, NULL, i);
      kn_json_end(&j);
    }
    kn_json_end(&j);
    code = kn_json_finish(&j, KN_EXIT_OK);
  }
  rows_free(&r, w->plan->cases);
  return code;
}

/* Cases A … B - 1, their journal lines on standard output. */
static kn_exit print_rows(const kn_sweep* w) {
  const char* text = kn_arg_text(w->args, "--rows");
  long long first, end;
  char rest, line[2048];
  if (sscanf(text, "%lld:%lld%c", &first, &end, &rest) != 2 || first < 0 || end > w->plan->cases ||
      first > end)
    return kn_complain(w->args, KN_EXIT_USAGE, "--rows %s: expected A:B with 0 <= A <= B <= %" PRId64, text,
                       w->plan->cases);
  kn_interrupt_catch();
  for (int64_t i = first; i < end && !kn_interrupted(); i++) {
    kn_case_row row;
    if (kn_case_run(&row, w, i)) fwrite(line, 1, (size_t)kn_journal_line(line, sizeof line, w, &row), stdout);
    free(row.reason);
  }
  return kn_interrupted() ? KN_EXIT_INTERRUPTED : KN_EXIT_OK;
}

/* Every case frees what the next one takes: the C library keeps it instead of giving pages back between cases (a
   third of the time of short cases). */
static void keep_pages(void) {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

static int run(kn_args* args) {
  kn_sweep w;
  rows r = {0};
  double begin = kn_seconds();
  kn_exit code = become_ranks(args);
  if (code != KN_EXIT_OK) return code;
  keep_pages();
  bool helper = kn_sweep_ranks && kn_sweep_ranks->rank > 0;
  char ignored[2048] = "";
  if (helper) kn_complaints_keep(ignored, sizeof ignored); /* rank 0 says it once */
  code = open_plan(&w, args);
  if (code == KN_EXIT_OK) code = try_first(&w);
  if (helper) kn_complaints_keep(NULL, 0);
  bool plan = kn_arg_flag(args, "--plan"), some = kn_arg_given(args, "--rows");
  if (code == KN_EXIT_OK && (plan || some)) {
    code = plan ? tell_plan(&w) : print_rows(&w);
    kn_study_free(w.study);
    return code;
  }
  if (code == KN_EXIT_OK && !helper) {
    if (!kn_make_folders(w.folder, true))
      code = kn_complain(args, KN_EXIT_WRITE, "%s cannot be made a folder: %s", w.folder, strerror(errno));
    if (code == KN_EXIT_OK && kn_arg_flag(args, "--fresh")) forget_journals(&w);
  }
  if (kn_sweep_ranks) kn_sweep_ranks->share(&code, sizeof code);
  if (code == KN_EXIT_OK && !kn_arg_flag(args, "--merge")) code = work(&w, &r);
  if (!helper && (code == KN_EXIT_OK || code == KN_EXIT_INTERRUPTED))
    code = finish(&w, &r, code, kn_seconds() - begin);
  if (w.plan) rows_free(&r, w.plan->cases);
  kn_study_free(w.study);
  return helper ? KN_EXIT_OK : code;
}

static const kn_option options[] = {
    {.name = "--output",
     .letter = 'o',
     .type = KN_OPTION_TEXT,
     .value = "FOLDER",
     .help = "where journals and results go (default: STUDY.sweep beside the study)"},
    {.name = "--threads",
     .type = KN_OPTION_INT,
     .value = "N",
     .min = 1,
     .max = KN_SWEEP_THREADS,
     .help = "threads (default: one per core; one per rank under mpirun)"},
    {.name = "--shard",
     .type = KN_OPTION_TEXT,
     .value = "I/N",
     .help = "only every N-th case, from the I-th on: one process of a job array"},
    {.name = "--merge",
     .type = KN_OPTION_FLAG,
     .help = "run nothing: make the results of the journals there are"},
    {.name = "--plan",
     .type = KN_OPTION_FLAG,
     .help = "run nothing: print the cases that are missing, as JSON"},
    {.name = "--rows",
     .type = KN_OPTION_TEXT,
     .value = "A:B",
     .help = "run cases A to B - 1 and print their journal lines (for other schedulers)"},
    {.name = "--fresh",
     .type = KN_OPTION_FLAG,
     .help = "forget earlier journals of the folder and start over"},
    {.name = "--time",
     .type = KN_OPTION_NUMBER,
     .value = "SECONDS",
     .min = 0,
     .max = 1e6,
     .help = "simulated time of a case (default: the study's)"},
    {.name = "--limit",
     .type = KN_OPTION_NUMBER,
     .value = "SECONDS",
     .min = 1e-3,
     .max = 1e7,
     .help = "wall time of a case; what takes longer has failed (default: the study's)"},
    KN_SUBJECT_OPTIONS,
    {0}};

static const kn_example examples[] = {
    {"knuckle sweep drop.yaml", "every case, on all cores"},
    {"mpirun -np 64 knuckle sweep drop.yaml", "the same on a cluster"},
    {"knuckle sweep drop.yaml --shard 2/8", "part 2 of 8, then, when all are done:"},
    {"knuckle sweep drop.yaml --merge", "one result file of all shards"},
    {"knuckle run drop.yaml --case 17 -o case.mcap", "one case again, recorded"},
    {0}};

const kn_command kn_command_sweep = {
    .name = "sweep",
    .summary = "run a study many times with changed values",
    .operands = "STUDY.yaml [FOLDER …]",
    .min_operands = 1,
    .max_operands = -1,
    .details =
        "The study's section `sweep` says what varies and what is kept:\n\n"
        "  scene: pendulum-2014\n"
        "  duration: 1\n"
        "  sweep:\n"
        "    method: grid                  # grid, random, latin, list\n"
        "    vary:\n"
        "      links: {field: set.links, values: [3, 6, 12]}\n"
        "      mu: {field: option.mu, from: 0.1, to: 1, count: 10}\n"
        "    outputs:\n"
        "      loss: first(energy.total) - final(energy.total)\n"
        "      hit: when(contacts > 0)\n\n"
        "Fields are keys of the study (materials.0.friction, initial.q.elbow), attributes of the model file "
        "(model.geom.foot.size.0) and options (option.gravity). A killed sweep goes on with the same "
        "command; "
        "FOLDERs are further places of journals for --merge. The exit status is 1 when a case failed or was "
        "in "
        "trouble. All of it: docs/sweeps.md.",
    .options = options,
    .examples = examples,
    .run = run};
