/* The files of a run: its recording, and what a study file asks for. */
#ifndef KN_CLI_OUTPUTS_H
#define KN_CLI_OUTPUTS_H

#include "output/file.h"
#include "subject.h"

typedef struct kn_outputs {
  const char* recording; /* NULL: none; may be o->own or o->path */
  int every;             /* record every n-th step */
  char own[64];          /* a recording of its own, removed at the end; "" none */
  char path[KN_FILE_PATH], csv[KN_FILE_PATH], plot[KN_FILE_PATH]; /* as a study asks, "" none */
  int lock;    /* descriptor of the locked recording, -1 none */
  bool silent; /* --json or --quiet: nothing is said of what was written */
} kn_outputs;

#define KN_OUTPUT_OPTIONS                                                                                    \
  {                                                                                                          \
    .name = "--force", .type = KN_OPTION_FLAG,                                                               \
    .help = "let a study file replace existing files and write outside its folder"                           \
  }

/* What `run --help` says of study files. */
#define KN_STUDY_HELP                                                                                        \
  " A study file says what the model cannot; robot.yaml beside robot.xml is read with it. "                  \
  "`knuckle study init robot.xml` writes a commented one; a small one that runs is:\n\n"                     \
  "  model: robot.xml\n"                                                                                     \
  "  base: floating                          # of a URDF\n"                                                  \
  "  duration: 2                             # s\n"                                                          \
  "  materials:\n"                                                                                           \
  "    - geom: \"*\"                           # or body: NAME, or pair: [A, B]\n"                           \
  "      friction: 0.8\n"                                                                                    \
  "      restitution: 0.2\n"                                                                                 \
  "  controller: {\"*\": {kp: 50, kd: 2}}      # servos of all joints, to zero\n"                            \
  "  outputs: {recording: robot.mcap, plot: [energy, q]}\n\n"                                                \
  "All keys: docs/loading.md."

/* Where the recording goes; a study without `recording` that wants tables or plots gets a temporary one.
   Refuses what must not be written (outside the study's folder, existing files without --force, the run's own
   inputs, a recording that another run is writing). */
kn_exit kn_outputs_open(kn_outputs* outputs, const kn_subject* subject, const kn_args* args);
/* Writes table and plots of the study once the recording is closed, and says what was written. */
kn_exit kn_outputs_write(const kn_outputs* outputs, const kn_subject* subject);
void kn_outputs_close(kn_outputs* outputs);

#endif
