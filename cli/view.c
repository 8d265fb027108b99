/* knuckle view: a run in the browser. The page holds the engine itself: a scene or a model is simulated there, and
   checked against hashes of the same run made here; a recording is read there. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "output/file.h"
#include "view.h"

static kn_exit say_written(const kn_view* v, const kn_args* args, const char* path, size_t size) {
  char hash[24];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)v->hash);
  if (!args->json) {
    if (!args->quiet && size && v->recorded)
      printf("%s: %.2f MB, %ld of %ld steps recorded inside\n", path, 1e-6 * (double)size, v->kept, v->steps);
    if (!args->quiet && size && !v->recorded)
      printf("%s: %.2f MB, %ld steps simulated again in the page and compared by their hashes\n", path,
             1e-6 * (double)size, v->steps);
    if (!args->quiet) printf("look at it: %s\n", path);
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

kn_exit kn_view_write(const kn_view* v, const kn_args* args, const char* path, size_t* size) {
  kn_file f;
  char* page = kn_view_page(size, v, args, NULL);
  if (!page) return KN_EXIT_INPUT;
  kn_exit code = kn_out_open(&f, args, path, "html");
  if (code == KN_EXIT_OK) code = kn_out_close(&f, args, fwrite(page, 1, *size, f.stream) == *size);
  free(page);
  return code;
}

static int run(kn_args* args) {
  kn_view v;
  size_t size = 0;
  const char* html = kn_arg_text(args, "--html");
  const char* shot[] = {kn_arg_text(args, "--screenshot"), kn_arg_text(args, "--video")};
  kn_exit code = html ? kn_out_ending(args, html, "html") : KN_EXIT_OK;
  if (code == KN_EXIT_OK) code = kn_view_shoot_check(args);
  if (code != KN_EXIT_OK) return code;
  if (kn_arg_given(args, "--sweep")) {
    v = (kn_view){.study = args->operand[0], .sweep = kn_arg_text(args, "--sweep")};
    return kn_view_serve(&v, args, (int)kn_arg_int(args, "--port"), !kn_arg_flag(args, "--no-browser"));
  }
  const char* last = shot[1] ? shot[1] : shot[0] ? shot[0] : html;
  code = kn_view_prepare(&v, args);
  if (code == KN_EXIT_OK && html) code = kn_view_write(&v, args, html, &size);
  for (int i = 0; i < 2; i++)
    if (code == KN_EXIT_OK && shot[i]) code = kn_view_shoot(&v, args, shot[i]);
  if (code == KN_EXIT_OK)
    code = last
               ? say_written(&v, args, last, last == html ? size : 0)
               : kn_view_serve(&v, args, (int)kn_arg_int(args, "--port"), !kn_arg_flag(args, "--no-browser"));
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
    {.name = "--video",
     .type = KN_OPTION_TEXT,
     .value = "FILE.mp4|FILE.webm",
     .help = "a film from --at to the end (needs chromium and ffmpeg)"},
    {.name = "--at",
     .type = KN_OPTION_NUMBER,
     .value = "SECONDS",
     .min = 0,
     .max = 1e6,
     .fallback = "0",
     .help = "instant of the picture, or where the film begins"},
    {.name = "--size",
     .type = KN_OPTION_TEXT,
     .value = "WIDTH,HEIGHT",
     .fallback = "1280,800",
     .help = "size of the picture or film, pixels"},
    {.name = "--fps",
     .type = KN_OPTION_NUMBER,
     .value = "RATE",
     .min = 1,
     .max = 240,
     .fallback = "30",
     .help = "frames of the film in a second"},
    {.name = "--speed",
     .type = KN_OPTION_NUMBER,
     .value = "X",
     .min = 1e-4,
     .max = 1e4,
     .fallback = "1",
     .help = "of the film: 0.25 is slow motion"},
    {.name = "--engine",
     .type = KN_OPTION_CHOICE,
     .choices = "auto|page|native",
     .value = "WHERE",
     .fallback = "auto",
     .help = "simulate in the page, or here and stream to it; auto: here what the page could not do in real "
             "time"},
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
    {.name = "--sweep",
     .type = KN_OPTION_TEXT,
     .value = "FOLDER",
     .help = "the page of the study's sweep in this folder: a click on a case replays it"},
    KN_SUBJECT_OPTIONS,
    {0}};

static const kn_example examples[] = {
    {"knuckle view pendulum-2014",
     "simulated in the browser: scrub, pick, pull, change friction and run again"},
    {"knuckle view run.mcap", "a recording"},
    {"knuckle view sphere-pile --engine native", "simulated here, streamed to the page"},
    {"knuckle view robot.urdf --base floating --drop 0.1 --passive", "a robot with its meshes"},
    {"knuckle view drop.yaml --sweep drop.sweep", "the cases of a sweep, each replayed by a click"},
    {"knuckle view stack --html stack.html", "one file to mail; it opens without a network"},
    {"knuckle view stack --at 1 --screenshot stack.png", "a picture"},
    {"knuckle view pendulum-2014 --time 2 --speed 0.25 --video pendulum.mp4", "a film in slow motion"},
    {0}};

extern const kn_command kn_command_view;
const kn_command kn_command_view = {.name = "view",
                                    .summary = "look at a run in the browser",
                                    .operands = "RUN|SCENE|MODEL",
                                    .min_operands = 1,
                                    .max_operands = 1,
                                    .details =
                                        "The page has the engine inside: a scene or a model file is "
                                        "simulated there and compared with the hashes of "
                                        "the same run made here; a recording is read there; a heavy run "
                                        "is simulated here and streamed. Served on "
                                        "127.0.0.1 only, with a token in the address.",
                                    .options = options,
                                    .examples = examples,
                                    .run = run};
