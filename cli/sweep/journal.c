/* Rows on disk while a sweep runs. A journal is text: a first line that names the sweep it belongs to, then one line
   per finished case, each with a checksum, appended by one write(2):

     knuckle-sweep 1 4f2a… cases 10000 outputs 2
     17,ok,1000,1,9b1f…,0.25,1.75,"",c0ffee…

   Whatever is killed, whole lines stay and a torn one is told by its checksum and left out. Threads share one journal;
   ranks send their lines to rank 0; shards have one each. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sweep/plan.h"

enum { LINE = 2048 };

struct kn_journal {
  int file;
  int failed; /* errno of a write that failed */
  pthread_mutex_t lock;
  const kn_sweep* sweep;
};

static const char* const status_names[] = {"ok", "trouble", "failed"};

/* FNV-1a, 64 bits: tells torn lines from whole ones. */
static uint64_t sum_of(const char* text, size_t n) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
  return h;
}

int kn_journal_head(char* line, size_t room, const kn_sweep* w) {
  return snprintf(line, room, "knuckle-sweep 1 %016" PRIx64 " cases %" PRId64 " outputs %d\n", w->hash,
                  w->plan->cases, w->plan->outputs);
}

int kn_journal_line(char* line, size_t room, const kn_sweep* w, const kn_case_row* row) {
  int n = snprintf(line, room, "%" PRId64 ",%s,%ld,%.17g,%016" PRIx64, row->i, status_names[row->status],
                   row->steps, row->time, row->hash);
  for (int k = 0; k < w->plan->outputs; k++)
    n += snprintf(line + n, room - (size_t)n, ",%.17g", row->output[k]);
  n += snprintf(line + n, room - (size_t)n, ",\"");
  for (const char* c = row->reason ? row->reason : ""; *c && (size_t)n + 32 < room; c++)
    line[n++] = *c == '"' ? '\'' : (unsigned char)*c < 32 ? ' ' : *c;
  n += snprintf(line + n, room - (size_t)n, "\"");
  return n + snprintf(line + n, room - (size_t)n, ",%016" PRIx64 "\n", sum_of(line, (size_t)n));
}

static bool all_of(int file, const char* bytes, size_t size) {
  while (size) {
    ssize_t n = write(file, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= (size_t)n;
  }
  return true;
}

/* The end of the last whole line: what a kill left behind it is cut off. */
static bool trim(int file, char* why, size_t room, const kn_sweep* w, const char* path) {
  char line[LINE], own[LINE];
  off_t size = lseek(file, 0, SEEK_END);
  int n = kn_journal_head(own, sizeof own, w);
  if (size == 0) return true;
  ssize_t got = pread(file, line, (size_t)n, 0);
  if (got == (ssize_t)n && memcmp(line, own, (size_t)n) == 0) {
    off_t end = size;
    for (char c = 0; end > 0 && pread(file, &c, 1, end - 1) == 1 && c != '\n';) end--;
    return end == size || ftruncate(file, end) == 0;
  }
  if (got >= 0 && got < (ssize_t)n && memcmp(line, own, (size_t)got) == 0) return ftruncate(file, 0) == 0;
  snprintf(why, room,
           "%s belongs to another sweep (the study, the model or an option has changed); --fresh starts over",
           path);
  return false;
}

kn_journal* kn_journal_open(const kn_sweep* w, const char* name, char* why, size_t room) {
  char path[2048], line[LINE];
  kn_journal* j = calloc(1, sizeof *j);
  why[0] = 0;
  snprintf(path, sizeof path, "%s/%s", w->folder, name);
  if (j) j->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (!j || j->file < 0) {
    snprintf(why, room, "%s cannot be written: %s", path, strerror(errno));
    free(j);
    return NULL;
  }
  j->sweep = w;
  pthread_mutex_init(&j->lock, NULL);
  bool good = flock(j->file, LOCK_EX | LOCK_NB) == 0;
  if (!good) snprintf(why, room, "%s is being written by another sweep", path);
  good = good && trim(j->file, why, room, w, path);
  if (good && lseek(j->file, 0, SEEK_END) == 0)
    good = all_of(j->file, line, (size_t)kn_journal_head(line, sizeof line, w));
  if (good) return j;
  if (!why[0]) snprintf(why, room, "%s cannot be written: %s", path, strerror(errno));
  kn_journal_close(j);
  return NULL;
}

bool kn_journal_lines(kn_journal* j, const char* lines, size_t size) {
  pthread_mutex_lock(&j->lock);
  if (!j->failed && !all_of(j->file, lines, size)) j->failed = errno ? errno : EIO;
  bool good = !j->failed;
  pthread_mutex_unlock(&j->lock);
  return good;
}

bool kn_journal_add(kn_journal* j, const kn_case_row* row) {
  char line[LINE];
  return kn_journal_lines(j, line, (size_t)kn_journal_line(line, sizeof line, j->sweep, row));
}

bool kn_journal_close(kn_journal* j) {
  if (!j) return true;
  int failed = j->failed;
  if (fsync(j->file) != 0 && !failed) failed = errno;
  if (close(j->file) != 0 && !failed) failed = errno;
  pthread_mutex_destroy(&j->lock);
  free(j);
  errno = failed;
  return !failed;
}

/* ---- reading ---- */

/* One line into a row; false: torn or not one of ours. */
static bool parse(kn_case_row* row, const kn_sweep* w, char* line) {
  char status[16], *sum = strrchr(line, ','), *p = line;
  int used = 0;
  *row = (kn_case_row){0};
  if (!sum || strtoull(sum + 1, NULL, 16) != sum_of(line, (size_t)(sum - line))) return false;
  *sum = 0;
  if (sscanf(p, "%" SCNd64 ",%15[a-z],%ld,%lf,%" SCNx64 "%n", &row->i, status, &row->steps, &row->time,
             &row->hash, &used) < 5)
    return false;
  p += used;
  for (int k = 0; k < w->plan->outputs; k++) {
    if (*p != ',') return false;
    row->output[k] = strtod(p + 1, &p);
  }
  row->status = KN_CASE_FAILED;
  for (int k = 0; k < 3; k++)
    if (strcmp(status, status_names[k]) == 0) row->status = (kn_case_status)k;
  size_t n = strlen(p);
  if (n < 3 || row->i < 0 || row->i >= w->plan->cases) return false;
  row->reason = n > 3 ? strndup(p + 2, n - 3) : NULL;
  return true;
}

static bool read_one(kn_case_row* row, bool* done, int64_t* count, const kn_sweep* w, const char* path,
                     char* why, size_t room) {
  char line[LINE], own[LINE];
  FILE* f = fopen(path, "r");
  if (!f) {
    snprintf(why, room, "%s cannot be read: %s", path, strerror(errno));
    return false;
  }
  kn_journal_head(own, sizeof own, w);
  bool good = true, any = fgets(line, sizeof line, f) != NULL;
  if (any && strcmp(line, own) != 0 && strchr(line, '\n')) {
    snprintf(why, room,
             "%s belongs to another sweep (the study, the model or an option has changed); --fresh starts "
             "over",
             path);
    good = false;
  }
  while (good && fgets(line, sizeof line, f)) {
    kn_case_row one;
    size_t n = strlen(line);
    if (n == 0 || line[n - 1] != '\n') continue;
    line[n - 1] = 0;
    if (!parse(&one, w, line)) continue;
    if (done[one.i]) {
      free(one.reason);
      continue;
    }
    done[one.i] = true;
    row[one.i] = one;
    ++*count;
  }
  fclose(f);
  return good;
}

bool kn_journals_read(kn_case_row* row, bool* done, int64_t* count, const kn_sweep* w, const char* folder,
                      char* why, size_t room) {
  DIR* d = opendir(folder);
  bool good = true;
  char path[4096];
  for (struct dirent* e = d ? readdir(d) : NULL; e && good; e = readdir(d)) {
    size_t n = strlen(e->d_name);
    if (strncmp(e->d_name, "journal", 7) != 0 || n < 5 || strcmp(e->d_name + n - 4, ".txt") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    good = read_one(row, done, count, w, path, why, room);
  }
  if (d) closedir(d);
  return good;
}
