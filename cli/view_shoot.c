/* Pictures and films of a run: the page in Chromium without a window; the frames of a film go to ffmpeg as they come. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/file.h"
#include "view.h"
#include "view_browser.h"

extern char** environ;

enum { MAX_SIDE = 8192, MAX_FRAMES = 1000000 };

/* WIDTH,HEIGHT, both even: the film formats share colours between neighbours. */
static kn_exit read_size(int size[2], const kn_args* args) {
  const char* text = kn_arg_text(args, "--size");
  int used = 0;
  bool ok = sscanf(text, "%d,%d%n", &size[0], &size[1], &used) == 2 && text[used] == '\0';
  for (int i = 0; i < 2 && ok; i++) ok = size[i] >= 16 && size[i] <= MAX_SIDE && size[i] % 2 == 0;
  return ok ? KN_EXIT_OK
            : kn_complain(args, KN_EXIT_USAGE, "--size %s: expected WIDTH,HEIGHT, even numbers up to %d",
                          text, MAX_SIDE);
}

static kn_exit have_programs(const kn_args* args, const char* path, bool film) {
  if (!kn_program_there("chromium"))
    return kn_complain(args, KN_EXIT_WRITE, "%s: chromium is not installed (Debian: chromium)", path);
  if (film && !kn_program_there("ffmpeg"))
    return kn_complain(args, KN_EXIT_WRITE,
                       "%s: ffmpeg, which makes the film, is not installed (Debian: ffmpeg)", path);
  return KN_EXIT_OK;
}

kn_exit kn_view_shoot_check(const kn_args* args) {
  const char *png = kn_arg_text(args, "--screenshot"), *film = kn_arg_text(args, "--video");
  int size[2];
  kn_exit code = png ? kn_out_ending(args, png, "png") : KN_EXIT_OK;
  if (code == KN_EXIT_OK && film) code = kn_out_ending(args, film, "mp4|webm");
  if (code == KN_EXIT_OK && (png || film)) code = read_size(size, args);
  if (code == KN_EXIT_OK && (png || film)) code = have_programs(args, film ? film : png, film != NULL);
  return code;
}

/* ---- the encoder ---- */

typedef struct encoder {
  pid_t child;
  int to;
} encoder;

/* PNG pictures in, a film out: H.264 in MP4, VP9 in WebM, with colours that every player knows. */
static bool start_encoder(encoder* e, const char* file, bool webm, const char* rate) {
  const char* mp4_words[] = {"-c:v", "libx264", "-crf", "18", "-movflags", "+faststart", "-f", "mp4", NULL};
  const char* webm_words[] = {"-c:v",      "libvpx-vp9", "-crf",    "30", "-b:v", "0",    "-deadline", "good",
                              "-cpu-used", "4",          "-row-mt", "1",  "-f",   "webm", NULL};
  const char* argv[32] = {"ffmpeg", "-y",   "-loglevel", "error", "-f", "image2pipe", "-framerate",
                          rate,     "-c:v", "png",       "-i",    "-",  "-pix_fmt",   "yuv420p"};
  int n = 14, ends[2];
  for (const char** w = webm ? webm_words : mp4_words; *w; w++) argv[n++] = *w;
  argv[n] = file;
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t files;
  bool ok = posix_spawn_file_actions_init(&files) == 0;
  if (ok) {
    posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ok = posix_spawnp(&e->child, argv[0], &files, NULL, (char**)(size_t)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
  }
  close(ends[0]);
  if (!ok) close(ends[1]);
  e->to = ends[1];
  return ok;
}

static bool put(const encoder* e, const uint8_t* bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(e->to, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n, size -= (size_t)n;
  }
  return true;
}

/* Its exit status: 0, the film is whole. */
static int end_encoder(encoder* e) {
  int status = -1;
  close(e->to);
  while (waitpid(e->child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

/* ---- one picture, many pictures ---- */

static kn_exit picture(kn_browser* b, const kn_args* args, const char* path) {
  kn_file f;
  uint8_t* png;
  size_t size;
  if (!kn_browser_frame(b, 0) || !kn_browser_picture(b, &png, &size))
    return kn_complain(args, KN_EXIT_WRITE, "%s: %s", path, b->why);
  kn_exit code = kn_out_open(&f, args, path, "png");
  return code == KN_EXIT_OK ? kn_out_close(&f, args, fwrite(png, 1, size, f.stream) == size) : code;
}

static bool frames(kn_browser* b, const encoder* e, int count, kn_progress* bar) {
  uint8_t* png;
  size_t size;
  for (int i = 0; i < count; i++) {
    if (kn_interrupted() || !kn_browser_frame(b, i) || !kn_browser_picture(b, &png, &size)) return false;
    if (!put(e, png, size)) return snprintf(b->why, sizeof b->why, "ffmpeg stopped reading") < 0;
    kn_progress_update(bar, i + 1, NULL);
  }
  return true;
}

static kn_exit film(kn_browser* b, const kn_view* v, const kn_args* args, const char* path) {
  kn_file f;
  encoder e;
  kn_progress bar;
  char rate[32];
  snprintf(rate, sizeof rate, "%g", v->rate);
  kn_exit code = kn_out_reserve(&f, args, path, "mp4|webm");
  if (code != KN_EXIT_OK) return code;
  if (!start_encoder(&e, f.part, kn_file_ends(path, "webm"), rate)) {
    kn_file_commit(&f, false);
    return kn_complain(args, KN_EXIT_WRITE, "%s: ffmpeg could not be started: %s", path, strerror(errno));
  }
  kn_progress_start(&bar, args, "frames", v->frames, false);
  bool good = frames(b, &e, v->frames, &bar);
  kn_progress_end(&bar);
  int status = end_encoder(&e);
  if (good && status == 0) return kn_out_commit(&f, args, KN_OK, "");
  kn_file_commit(&f, false);
  if (kn_interrupted()) return kn_complain_text(args, KN_INTERRUPTED, "interrupted: no film was written");
  return kn_complain(args, KN_EXIT_WRITE, "%s: %s", path,
                     good        ? "ffmpeg made no film"
                     : b->why[0] ? b->why
                                 : "ffmpeg ended early");
}

/* How many frames from --at to the end of the run. */
static kn_exit count_frames(kn_view* v, const kn_args* args, const char* path) {
  v->rate = kn_arg_number(args, "--fps");
  v->speed = kn_arg_number(args, "--speed");
  double seconds = (v->end - v->shot) / v->speed, n = floor(seconds * v->rate + 1e-9) + 1.0;
  if (!(seconds >= 0.0))
    return kn_complain(args, KN_EXIT_USAGE, "%s: the run ends at %g s, before --at %g", path, v->end,
                       v->shot);
  if (n > MAX_FRAMES)
    return kn_complain(args, KN_EXIT_USAGE, "%s: %.0f frames are more than %d; see --time, --speed, --fps",
                       path, n, MAX_FRAMES);
  v->frames = (int)n;
  return KN_EXIT_OK;
}

kn_exit kn_view_shoot(kn_view* v, const kn_args* args, const char* path) {
  char page[] = "/tmp/knuckle-view-XXXXXX.html";
  kn_browser b;
  size_t size;
  int side[2];
  bool many = kn_file_ends(path, "mp4|webm");
  v->shot = kn_arg_number(args, "--at");
  v->frames = 0;
  kn_exit code = read_size(side, args);
  if (code == KN_EXIT_OK && many) code = count_frames(v, args, path);
  if (code != KN_EXIT_OK) return code;
  int fd = mkstemps(page, 5);
  if (fd < 0) return kn_complain(args, KN_EXIT_WRITE, "%s: %s", page, strerror(errno));
  close(fd);
  code = kn_view_write(v, args, page, &size);
  if (code == KN_EXIT_OK) {
    kn_interrupt_catch();
    if (!kn_browser_open(&b, page, side[0], side[1]))
      code = kn_complain(args, KN_EXIT_WRITE, "%s: %s", path, b.why);
    else
      code = many ? film(&b, v, args, path) : picture(&b, args, path);
    kn_browser_close(&b);
  }
  remove(page);
  return code;
}
