/* knuckle view: a run in the browser. The page holds the engine itself: a scene or a model is simulated there, and
   checked against hashes of the same run made here; a recording is read there. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/file.h"
#include "view.h"

static kn_exit say_written(const kn_view* v, const kn_args* args, const char* path, size_t size) {
  char hash[24];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)v->hash);
  if (!args->json) {
    if (!args->quiet && size)
      printf("%s: %.2f MB, %ld steps %s\n", path, 1e-6 * (double)size, v->steps,
             v->recorded ? "recorded inside" : "simulated again in the page and compared by their hashes");
    printf("look at it: %s\n", path);
    return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
  }
  kn_json j;
  kn_json_start(&j);
  kn_json_text(&j, "file", path);
  if (size) kn_json_int(&j, "bytes", (long long)size);
  kn_json_text(&j, "kind", v->recorded ? "recording" : "recipe");
  kn_json_int(&j, "steps", v->steps);
  kn_json_int(&j, "checks", v->checks);
  kn_json_text(&j, "state_hash", hash);
  return kn_json_finish(&j, KN_EXIT_OK);
}

static kn_exit write_page(const kn_view* v, const kn_args* args, const char* path, size_t* size) {
  kn_file f;
  char* page = kn_view_page(size, v, args, NULL);
  if (!page) return KN_EXIT_INPUT;
  kn_exit code = kn_out_open(&f, args, path, "html");
  if (code == KN_EXIT_OK) code = kn_out_close(&f, args, fwrite(page, 1, *size, f.stream) == *size);
  free(page);
  return code;
}

/* ---- a picture ---- */

extern char** environ;

static int run_browser(const char* page, const char* png, const char* size) {
  char url[4200], shot[4200], window[64];
  snprintf(url, sizeof url, "file://%s", page);
  snprintf(shot, sizeof shot, "--screenshot=%s", png);
  snprintf(window, sizeof window, "--window-size=%s", size);
  const char* argv[] = {"chromium",
                        "--headless",
                        "--use-angle=swiftshader",
                        "--enable-unsafe-swiftshader",
                        "--hide-scrollbars",
                        "--force-device-scale-factor=1",
                        "--virtual-time-budget=20000",
                        "--run-all-compositor-stages-before-draw",
                        window,
                        shot,
                        url,
                        geteuid() == 0 ? "--no-sandbox" : NULL,
                        NULL};
  posix_spawn_file_actions_t quiet;
  pid_t child;
  int status = -1;
  if (posix_spawn_file_actions_init(&quiet) != 0) return -1;
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", 1, 0);
  if (posix_spawnp(&child, argv[0], &quiet, NULL, (char**)(size_t)argv, environ) == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  posix_spawn_file_actions_destroy(&quiet);
  return status;
}

static kn_exit take_picture(kn_view* v, const kn_args* args, const char* png) {
  char page[] = "/tmp/knuckle-view-XXXXXX.html";
  kn_file f;
  size_t size;
  kn_exit code = kn_out_ending(args, png, "png");
  if (code != KN_EXIT_OK) return code;
  int fd = mkstemps(page, 5);
  if (fd < 0) return kn_complain(args, KN_EXIT_WRITE, "%s: %s", page, strerror(errno));
  close(fd);
  v->shot = kn_arg_number(args, "--at");
  code = write_page(v, args, page, &size);
  if (code == KN_EXIT_OK) code = kn_out_reserve(&f, args, png, "png");
  if (code == KN_EXIT_OK) {
    int status = run_browser(page, f.part, kn_arg_text(args, "--size"));
    bool there = status == 0 && access(f.part, R_OK) == 0;
    code = there ? kn_out_commit(&f, args, KN_OK, "")
                 : (kn_file_commit(&f, false),
                    kn_complain(args, KN_EXIT_WRITE,
                                "%s: chromium made no picture; is it installed? (Debian: chromium)", png));
  }
  remove(page);
  return code == KN_EXIT_OK ? say_written(v, args, png, 0) : code;
}

static int run(kn_args* args) {
  kn_view v;
  size_t size = 0;
  const char *html = kn_arg_text(args, "--html"), *png = kn_arg_text(args, "--screenshot");
  kn_exit code = html ? kn_out_ending(args, html, "html") : KN_EXIT_OK;
  if (code != KN_EXIT_OK) return code;
  code = kn_view_prepare(&v, args);
  if (code == KN_EXIT_OK && html) {
    code = write_page(&v, args, html, &size);
    if (code == KN_EXIT_OK && !png) code = say_written(&v, args, html, size);
  }
  if (code == KN_EXIT_OK && png) code = take_picture(&v, args, png);
  if (code == KN_EXIT_OK && !html && !png)
    code = kn_view_serve(&v, args, (int)kn_arg_int(args, "--port"), !kn_arg_flag(args, "--no-browser"));
  kn_view_free(&v);
  return code;
}

static const kn_option options[] = {
    {.name = "--html",
     .type = KN_OPTION_TEXT,
     .value = "FILE.html",
     .help = "write one self-contained page instead of serving it"},
    {.name = "--screenshot",
     .type = KN_OPTION_TEXT,
     .value = "FILE.png",
     .help = "a picture of one instant (needs chromium)"},
    {.name = "--at",
     .type = KN_OPTION_NUMBER,
     .value = "SECONDS",
     .min = 0,
     .max = 1e6,
     .fallback = "0",
     .help = "instant of the picture"},
    {.name = "--size",
     .type = KN_OPTION_TEXT,
     .value = "WIDTH,HEIGHT",
     .fallback = "1280,800",
     .help = "size of the picture, pixels"},
    KN_TIME_OPTION,
    {.name = "--port",
     .type = KN_OPTION_INT,
     .value = "N",
     .min = 0,
     .max = 65535,
     .fallback = "0",
     .help = "port on 127.0.0.1; 0: any free one"},
    {.name = "--no-browser", .type = KN_OPTION_FLAG, .help = "say the address only"},
    KN_CASE_OPTION,
    KN_SUBJECT_OPTIONS,
    {0}};

static const kn_example examples[] = {
    {"knuckle view pendulum-2014",
     "simulated in the browser: scrub, pick, pull, change friction and run again"},
    {"knuckle view run.mcap", "a recording"},
    {"knuckle view robot.urdf --base floating --drop 0.1 --passive", "a robot with its meshes"},
    {"knuckle view stack --html stack.html", "one file to mail; it opens without a network"},
    {"knuckle view stack --at 1 --screenshot stack.png", "a picture"},
    {0}};

extern const kn_command kn_command_view;
const kn_command kn_command_view = {.name = "view",
                                    .summary = "look at a run in the browser",
                                    .operands = "RUN|SCENE|MODEL",
                                    .min_operands = 1,
                                    .max_operands = 1,
                                    .details = "The page has the engine inside: a scene or a model file is "
                                               "simulated there and compared with the hashes of "
                                               "the same run made here; a recording is read there. Served on "
                                               "127.0.0.1 only, with a token in the address.",
                                    .options = options,
                                    .examples = examples,
                                    .run = run};
