/* Interrupts and the progress bar. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command.h"

double kn_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
  interrupted = 1;
  signal(number, SIG_DFL); /* the next one ends the program */
}

void kn_interrupt_catch(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool kn_interrupted(void) { return interrupted != 0; }

void kn_progress_start(kn_progress* p, const kn_args* args, const char* label, double total, bool is_time) {
  *p = (kn_progress){.label = label, .total = total, .is_time = is_time};
  p->on = isatty(STDERR_FILENO) && !(args && args->quiet);
  p->started = kn_seconds();
  p->shown = -1;
}

static void duration_text(char text[24], double s) {
  if (!isfinite(s))
    strcpy(text, "--:--");
  else if (s < 3600)
    snprintf(text, 24, "%d:%02d", (int)s / 60, (int)s % 60);
  else
    snprintf(text, 24, "%d:%02d:%02d", (int)fmin(s / 3600, 1e6), (int)fmod(s, 3600) / 60, (int)fmod(s, 60));
}

/* Columns of the terminal; 80 when it does not say. */
static int width_of_terminal(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* At most `most` columns of a line of text: UTF-8 letters count once, control characters become '?'. */
static void cut(char* line, int most) {
  int column = 0;
  for (char* c = line; *c; c++) {
    bool begins = ((unsigned char)*c & 0xc0) != 0x80;
    if (begins && column == most) {
      *c = '\0';
      return;
    }
    column += begins;
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  }
}

void kn_progress_update(kn_progress* p, double done, const char* extra) {
  enum { CELLS = 24 };
  double now = p->on ? kn_seconds() : 0, elapsed = now - p->started;
  char eta[24], speed[KN_SHORT_TEXT], bar[3 * CELLS + 1], line[512], *at = bar;
  if (!p->on || (now - p->shown < 0.1 && done < p->total)) return; /* ten times a second is enough */
  double part = p->total > 0 ? fmin(fmax(done / p->total, 0), 1) : 0;
  for (int i = 0; i < CELLS; i++) at += sprintf(at, "%s", i < (int)(part * CELLS) ? "█" : "░");
  duration_text(eta, part > 0 ? elapsed * (1 - part) / part : INFINITY);
  const char* slash = strrchr(p->label, '/');
  int n = snprintf(line, sizeof line, "%.40s %s %3.0f %%", slash ? slash + 1 : p->label, bar, 100 * part);
  if (p->is_time)
    n += snprintf(line + n, sizeof line - (size_t)n, "  %.2f of %.2f s  left %s  %s x real time", done,
                  p->total, eta, kn_count_text(speed, elapsed > 0 ? done / elapsed : 0));
  else
    n += snprintf(line + n, sizeof line - (size_t)n, "  %.0f of %.0f  left %s", done, p->total, eta);
  if (extra && *extra) snprintf(line + n, sizeof line - (size_t)n, "  %.60s", extra);
  cut(line, width_of_terminal() - 1); /* a full line would wrap and leave copies behind */
  fprintf(kn_terminal(), "\r\033[K%s", line);
  fflush(kn_terminal());
  p->shown = now;
}

void kn_progress_end(kn_progress* p) {
  if (p->on && p->shown >= 0) fputs("\r\033[K", kn_terminal()), fflush(kn_terminal());
  p->on = false;
}
