/* What a command simulates: a built-in scene by name, or a model file. Shared by run, compare and diagnose.
 */
#ifndef KN_CLI_SUBJECT_H
#define KN_CLI_SUBJECT_H

#include "command.h"
#include "knuckle/load.h"
#include "knuckle/step.h"
#include "scene.h"

typedef struct kn_servos kn_servos; /* study.c */

/* Two geoms that overlap in the state a run starts from (overlaps.c). */
typedef struct kn_overlap {
  kn_body a, b;
  double depth;  /* m */
  bool left_out; /* links of one robot: the pair is left out of contact */
} kn_overlap;

typedef struct kn_subject {
  const char* name;
  char* model_path;       /* of a file, the model that a study names; NULL: a scene */
  kn_scene_opened* scene; /* NULL: a file */
  kn_load_report* report; /* NULL: a scene */
  kn_study* study;        /* NULL: none beside the file */
  kn_servos* servos;      /* of the study */
  kn_model* model;
  kn_state* state;
  kn_controller controller; /* fn NULL: none */
  kn_sim_settings settings;
  double duration;           /* s */
  kn_spec* spec;             /* of a file, while it is being opened */
  const kn_study_edit* edit; /* changes of the study, while it is being opened */
  int edits;
  kn_overlap* overlap;
  int overlaps;
  bool moved; /* the start was not allowed, and was moved */
  kn_event start;
} kn_subject;

/* Of commands that simulate. */
#define KN_TIME_OPTION                                                                                       \
  {                                                                                                          \
    .name = "--time", .type = KN_OPTION_NUMBER, .value = "SECONDS", .min = 0, .max = 1e6,                    \
    .help = "simulated time (default: the scene's)"                                                          \
  }
#define KN_VERDICT_OPTION                                                                                    \
  {                                                                                                          \
    .name = "--verdict", .type = KN_OPTION_FLAG,                                                             \
    .help = "judge existence and uniqueness in every step (slower)"                                          \
  }
/* Options every such command has: append to its own table. */
#define KN_SUBJECT_OPTIONS                                                                                   \
  {.name = "--base",                                                                                         \
   .type = KN_OPTION_CHOICE,                                                                                 \
   .choices = "fixed|floating",                                                                              \
   .value = "KIND",                                                                                          \
   .fallback = "fixed",                                                                                      \
   .help = "how a URDF's root link is held"},                                                                \
      {.name = "--packages",                                                                                 \
       .type = KN_OPTION_TEXT,                                                                               \
       .value = "FOLDERS",                                                                                   \
       .help = "folders with ROS packages, ':' between them"},                                               \
      {.name = "--strict",                                                                                   \
       .type = KN_OPTION_FLAG,                                                                               \
       .help = "unsupported features of a model file are errors"},                                           \
      {.name = "--drop",                                                                                     \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "METRES",                                                                                    \
       .min = 0,                                                                                             \
       .max = 1000,                                                                                          \
       .help = "start free bodies of a model file this high above a floor"},                                 \
      {.name = "--passive", .type = KN_OPTION_FLAG, .help = "actuators of a model file exert no force"},     \
      {.name = "--overlaps",                                                                                 \
       .type = KN_OPTION_CHOICE,                                                                             \
       .choices = "leave-out|keep",                                                                          \
       .value = "WHAT",                                                                                      \
       .fallback = "leave-out",                                                                              \
       .help = "links of one robot that overlap in its starting pose: no contact between them, or apart"},   \
      {.name = "--mu",                                                                                       \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "MU",                                                                                        \
       .min = 0,                                                                                             \
       .max = 1e9,                                                                                           \
       .help = "sliding friction coefficient of all surfaces (default: the model's)"},                       \
      {.name = "--restitution",                                                                              \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "E",                                                                                         \
       .min = 0,                                                                                             \
       .max = 1,                                                                                             \
       .help = "restitution coefficient of all surfaces (default: the model's)"},                            \
      {.name = "--gravity",                                                                                  \
       .type = KN_OPTION_NUMBERS,                                                                            \
       .value = "X,Y,Z",                                                                                     \
       .help = "gravity, m/s² (default: the model's)"},                                                      \
      {.name = "--set",                                                                                      \
       .type = KN_OPTION_TEXT,                                                                               \
       .value = "NAME=VALUE,…",                                                                              \
       .help = "parameters of a built-in scene"},                                                            \
      {.name = "--links",                                                                                    \
       .type = KN_OPTION_INT,                                                                                \
       .value = "N",                                                                                         \
       .min = 1,                                                                                             \
       .max = 100000,                                                                                        \
       .help = "short for --set links=N"},                                                                   \
      {.name = "--dt",                                                                                       \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "SECONDS",                                                                                   \
       .min = 1e-9,                                                                                          \
       .max = 1,                                                                                             \
       .help = "time step (default: the scene's)"},                                                          \
      {.name = "--formulation",                                                                              \
       .type = KN_OPTION_CHOICE,                                                                             \
       .choice = kn_subject_formulation,                                                                     \
       .value = "NAME",                                                                                      \
       .fallback = "os",                                                                                     \
       .help = "how the contact problem is set up"},                                                         \
      {.name = "--friction",                                                                                 \
       .type = KN_OPTION_TEXT,                                                                               \
       .value = "cone|polyN",                                                                                \
       .help = "true cone, or a polyhedron with N directions (default: the scene's)"},                       \
      {.name = "--friction-tol",                                                                             \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "TOL",                                                                                       \
       .min = 1e-12,                                                                                         \
       .max = 1,                                                                                             \
       .help = "turn and refine the polyhedron until it is this close to the cone"},                         \
      {.name = "--max-contacts",                                                                             \
       .type = KN_OPTION_INT,                                                                                \
       .value = "N",                                                                                         \
       .min = 1,                                                                                             \
       .max = 100000,                                                                                        \
       .help = "a step that finds more contacts fails (default: room grows)"},                               \
      {.name = "--rtol",                                                                                     \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "R",                                                                                         \
       .min = 1e-14,                                                                                         \
       .max = 1e-2,                                                                                          \
       .help = "stepper event: relative error of the motion between events (default 1e-9)"},                 \
      {.name = "--solver",                                                                                   \
       .type = KN_OPTION_TEXT,                                                                               \
       .value = "NAME",                                                                                      \
       .fallback = "auto",                                                                                   \
       .help = "contact solver, see `knuckle list solvers`"},                                                \
      {.name = "--law",                                                                                      \
       .type = KN_OPTION_CHOICE,                                                                             \
       .choice = kn_subject_law,                                                                             \
       .value = "NAME",                                                                                      \
       .help = "impact law (default: the scene's)"},                                                         \
      {.name = "--sequential",                                                                               \
       .type = KN_OPTION_FLAG,                                                                               \
       .help = "impacts one after the other, each by the law (law sequential: Poisson's)"},                  \
      {.name = "--certificate",                                                                              \
       .type = KN_OPTION_CHOICE,                                                                             \
       .choices = "project|refuse|allow",                                                                    \
       .value = "MODE",                                                                                      \
       .help = "law projection: what happens to restitution that can create energy (default project)"},      \
      {.name = "--stepper",                                                                                  \
       .type = KN_OPTION_CHOICE,                                                                             \
       .choice = kn_subject_stepper,                                                                         \
       .value = "NAME",                                                                                      \
       .help = "how time advances (default: the scene's)"},                                                  \
      {.name = "--bias-iterations",                                                                          \
       .type = KN_OPTION_INT,                                                                                \
       .value = "N",                                                                                         \
       .min = 0,                                                                                             \
       .max = 100,                                                                                           \
       .help = "time stepper: rounds for forces that depend on velocity; 2: second order also where "        \
               "contacts bend the motion (spinning tops; default 1)"},                                       \
      {.name = "--keep-energy",                                                                              \
       .type = KN_OPTION_FLAG,                                                                               \
       .help = "time stepper: take back the integrator's own energy error (long chains)"},                   \
      {.name = "--step-threads",                                                                             \
       .type = KN_OPTION_INT,                                                                                \
       .value = "N",                                                                                         \
       .help = "threads that share the steps of a large world; 0: one per processor; the same bits"},        \
      {.name = "--sleep",                                                                                    \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "SPEED",                                                                                     \
       .help =                                                                                               \
           "time stepper: islands slower than this (m/s, rad/s) for 0.25 s sleep until something reaches "   \
           "them; 0: none"},                                                                                 \
      {.name = "--split-impacts",                                                                            \
       .type = KN_OPTION_FLAG,                                                                               \
       .help = "time stepper: split steps at impacts (energy after them of second order)"},                  \
      {.name = "--compliant-law",                                                                            \
       .type = KN_OPTION_CHOICE,                                                                             \
       .choice = kn_subject_compliant_law,                                                                   \
       .value = "NAME",                                                                                      \
       .help = "law of compliant contact, normal direction (default kelvin-voigt)"},                         \
      {.name = "--exponent",                                                                                 \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "N",                                                                                         \
       .min = 1,                                                                                             \
       .max = 10,                                                                                            \
       .help = "of the deformation in the other compliant laws (default 1.5)"},                              \
      {.name = "--eps",                                                                                      \
       .type = KN_OPTION_NUMBER,                                                                             \
       .value = "EPS",                                                                                       \
       .min = 1e-12,                                                                                         \
       .max = 1e3,                                                                                           \
       .help = "deformation scale of compliant contact (default 1e-5)"},                                     \
  {                                                                                                          \
    .name = "--keyframe", .type = KN_OPTION_TEXT, .value = "NAME",                                           \
    .help = "start from a keyframe of the model; first: the first one, if any"                               \
  }

/* edit.c: --mu, --restitution and --gravity into a spec. */
kn_status kn_subject_edit(kn_spec* spec, void* args);

/* drop.c: free joints are moved up or down until what can touch is `height` above z = 0. */
kn_status kn_drop_raise(kn_state* state, const kn_model* model, double height);
/* Warns where --drop has no effect. */
void kn_drop_check(const kn_subject* s, const kn_args* args);

/* overlaps.c: lists the pairs of bodies that overlap in the subject's state; with `leave_out`, pairs of one
   robot become exclusions of its spec, and *changed says so. */
kn_status kn_overlaps_find(bool* changed, kn_subject* subject, bool leave_out);
void kn_overlaps_json(kn_json* json, const kn_subject* subject);
void kn_overlaps_print(const kn_subject* subject);
/* start.c: a start of a model file that is not allowed is moved to the nearest position that is; the user is told. */
kn_status kn_start_move(kn_subject* subject);
void kn_start_json(kn_json* json, const kn_subject* subject);
void kn_start_print(FILE* out, const kn_subject* subject);

/* ignored.c: what the model file asks for and the run does without, with lines. */
void kn_ignored_print(FILE* out, const kn_subject* subject);
void kn_ignored_fact(char* text, size_t room, const kn_subject* subject); /* "" when there is nothing */
void kn_notes_json(kn_json* json, const kn_load_report* report);          /* "unsupported" and "warnings" */

const char* kn_subject_formulation(size_t i);
const char* kn_subject_law(size_t i);
const char* kn_subject_compliant_law(size_t i);
kn_compliant_law kn_subject_compliant(const char* name);  /* one of that list */
kn_certify_mode kn_subject_certificate(const char* mode); /* project, refuse, allow */
const char* kn_subject_stepper(size_t i);

/* Opens args' operand 0 with its options; complains and returns the exit status on failure. */
kn_exit kn_subject_open(kn_subject* subject, kn_args* args);
/* The same with the files of a model read through a callback; NULL: from the disk. */
kn_exit kn_subject_open_files(kn_subject* subject, kn_args* args, const kn_files* files);
/* The same with changes of its study file: a case of a sweep. */
kn_exit kn_subject_open_case(kn_subject* subject, kn_args* args, const kn_files* files,
                             const kn_study_edit* edit, int edits);
/* Of commands with --case: a case of the study's sweep where it is given (sweep/case.c). */
kn_exit kn_case_subject(kn_subject* subject, kn_args* args, const kn_files* files);
#define KN_CASE_OPTION                                                                                       \
  {                                                                                                          \
    .name = "--case", .type = KN_OPTION_INT, .value = "N", .min = 0, .max = 1e7,                             \
    .help = "case N of the study's sweep (the first is 0)"                                                   \
  }
/* Puts the state back to the beginning. */
kn_status kn_subject_start(kn_subject* subject);
void kn_subject_close(kn_subject* subject);

#endif
