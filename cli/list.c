/* knuckle list: what can be chosen by name. Each registry is one row below. */
#include <string.h>

#include "command.h"
#include "knuckle/comp.h"
#include "scene.h"

typedef struct entry {
  const char *name, *doc;
} entry;

/* Entry i of a registry; name NULL after the last. */
typedef struct registry {
  const char* title;
  entry (*at)(size_t i);
} registry;

static entry command_at(size_t i) {
  const kn_command* c = kn_commands[i];
  return c ? (entry){c->name, c->summary} : (entry){0};
}

static entry scene_at(size_t i) {
  const kn_scene* s = kn_scenes()[i];
  return s ? (entry){s->name, s->purpose} : (entry){0};
}

static entry cone_solver_at(size_t i) {
  const kn_cone_solver* s = &kn_cone_solvers()[i];
  return (entry){s->name, s->doc};
}

static entry lcp_solver_at(size_t i) {
  int count;
  const kn_lcp_solver* const* list = kn_lcp_solvers(&count);
  return i < (size_t)count ? (entry){list[i]->name, list[i]->doc} : (entry){0};
}

static entry formulation_at(size_t i) { return (entry){kn_formulations()[i].name, kn_formulations()[i].doc}; }
static entry law_at(size_t i) { return (entry){kn_impact_laws()[i].name, kn_impact_laws()[i].doc}; }
static entry compliant_law_at(size_t i) {
  return (entry){kn_compliant_laws()[i].name, kn_compliant_laws()[i].doc};
}
static entry stepper_at(size_t i) { return (entry){kn_steppers()[i].name, kn_steppers()[i].doc}; }

static entry fast_path_at(size_t i) { return (entry){kn_fast_paths()[i].name, kn_fast_paths()[i].doc}; }

static entry status_at(size_t i) {
  if (i >= KN_STATUS_COUNT) return (entry){0};
  return (entry){kn_status_name((kn_status)i), kn_status_text((kn_status)i)};
}

static entry trouble_at(size_t i) {
  if (i >= KN_TROUBLE_COUNT) return (entry){0};
  return (entry){kn_trouble_name((kn_trouble_kind)i), kn_trouble_meaning((kn_trouble_kind)i)};
}

static const registry registries[] = {{"scenes", scene_at},
                                      {"formulations", formulation_at},
                                      {"laws", law_at},
                                      {"compliant-laws", compliant_law_at},
                                      {"steppers", stepper_at},
                                      {"solvers", cone_solver_at},
                                      {"lcp-solvers", lcp_solver_at},
                                      {"fast-paths", fast_path_at},
                                      {"commands", command_at},
                                      {"statuses", status_at},
                                      {"troubles", trouble_at}};
enum { REGISTRIES = sizeof registries / sizeof *registries };

static const char* registry_name(size_t i) { return i < REGISTRIES ? registries[i].title : NULL; }

static bool wanted(const kn_args* args, const registry* r) {
  return args->operands == 0 || strcmp(args->operand[0], r->title) == 0;
}

static void write_json(kn_json* j, const registry* r) {
  kn_json_array(j, r->title);
  for (size_t i = 0; r->at(i).name; i++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", r->at(i).name);
    kn_json_text(j, "doc", r->at(i).doc);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void write_text(const registry* r) {
  printf("%s\n", r->title);
  for (size_t i = 0; r->at(i).name; i++)
    printf("  %-20s %s\n", r->at(i).name, r->at(i).doc ? r->at(i).doc : "");
}

/* knuckle list SCENE: its purpose, what to look for, its parameters. */
static kn_exit show_scene(const kn_args* args, const kn_scene* s) {
  kn_json j;
  if (args->json) {
    kn_json_start(&j);
    kn_json_text(&j, "name", s->name);
    kn_json_text(&j, "purpose", s->purpose);
    kn_json_text(&j, "look_for", s->watch);
    kn_json_text(&j, "reference", s->citation);
    kn_json_number(&j, "dt", s->dt);
    kn_json_number(&j, "duration", s->duration);
    kn_json_array(&j, "parameters");
    for (int i = 0; i < kn_scene_params(s); i++) {
      kn_json_begin(&j, NULL);
      kn_json_text(&j, "name", s->param[i].name);
      kn_json_number(&j, "default", s->param[i].value);
      kn_json_number(&j, "low", s->param[i].lo);
      kn_json_number(&j, "high", s->param[i].hi);
      kn_json_text(&j, "words", kn_scene_param_words(s, i));
      kn_json_text(&j, "doc", s->param[i].doc);
      kn_json_end(&j);
    }
    kn_json_end(&j);
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  printf("%s: %s\n", s->name, s->purpose);
  if (s->watch) printf("  look for    %s\n", s->watch);
  if (s->citation[0]) printf("  reference   %s\n", s->citation);
  if (kn_scene_params(s)) printf("  parameters (--set name=value)\n");
  for (int i = 0; i < kn_scene_params(s); i++) {
    const char* words = kn_scene_param_words(s, i);
    printf("    %-12s %-10g %s%s%s%s\n", s->param[i].name, s->param[i].value, s->param[i].doc,
           words ? " (" : "", words ? words : "", words ? ")" : "");
  }
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

static int run(kn_args* args) {
  kn_json j;
  bool any = false;
  const kn_scene* scene;
  if (args->operands && kn_scene_find(&scene, args->operand[0]) == KN_OK) return show_scene(args, scene);
  for (size_t i = 0; i < REGISTRIES; i++) any |= wanted(args, &registries[i]);
  if (!any) {
    const char* names[REGISTRIES];
    for (size_t i = 0; i < REGISTRIES; i++) names[i] = registry_name(i);
    const char* near = kn_suggest(args->operand[0], names, REGISTRIES);
    return kn_complain(args, KN_EXIT_USAGE, "no list \"%s\"%s%s%s", args->operand[0],
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  }
  if (args->json) kn_json_start(&j);
  for (size_t i = 0; i < REGISTRIES; i++) {
    if (!wanted(args, &registries[i])) continue;
    if (args->json)
      write_json(&j, &registries[i]);
    else
      write_text(&registries[i]);
  }
  return args->json ? kn_json_finish(&j, KN_EXIT_OK) : fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

static const kn_example examples[] = {
    {"knuckle list", "everything"},
    {"knuckle list newton-cradle", "a scene, its parameters, what to look for"},
    {"knuckle list commands --json", "one list, for scripts"},
    {0}};
extern const kn_command kn_command_list;
const kn_command kn_command_list = {
    .name = "list",
    .summary = "formulations, solvers, laws, steppers, scenes, troubles; or one scene in detail",
    .operands = "[KIND|SCENE]",
    .max_operands = 1,
    .examples = examples,
    .run = run};
