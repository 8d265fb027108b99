/* Parsing of options by the tables of the commands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

const kn_option kn_common_options[] = {
    {.name = "--json", .type = KN_OPTION_FLAG, .help = "one JSON object on standard output, nothing else"},
    {.name = "--quiet", .type = KN_OPTION_FLAG, .letter = 'q', .help = "no progress bar, no remarks"},
    {.name = "--help", .type = KN_OPTION_FLAG, .letter = 'h', .help = "this page"},
    {0}};
#define common kn_common_options

/* Edit distance that counts a swap of neighbours as one. Words longer than the table count as far. */
static int edit_distance(const char* a, const char* b) {
  enum { LONG = 40 };
  int d[LONG + 1][LONG + 1], n = (int)strlen(a), m = (int)strlen(b);
  if (n > LONG || m > LONG) return LONG;
  for (int i = 0; i <= n; i++) d[i][0] = i;
  for (int k = 0; k <= m; k++) d[0][k] = k;
  for (int i = 1; i <= n; i++)
    for (int k = 1; k <= m; k++) {
      int best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
      if (d[i - 1][k] + 1 < best) best = d[i - 1][k] + 1;
      if (d[i][k - 1] + 1 < best) best = d[i][k - 1] + 1;
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && d[i - 2][k - 2] + 1 < best)
        best = d[i - 2][k - 2] + 1;
      d[i][k] = best;
    }
  return d[n][m];
}

const char* kn_suggest(const char* word, const char* const* candidates, size_t n) {
  const char* best = NULL;
  int nearest = 1 + (int)strlen(word) / 3; /* a third of the letters may be wrong */
  for (size_t i = 0; i < n; i++) {
    int d = edit_distance(word, candidates[i]);
    bool begins = strlen(word) >= 3 && strncmp(word, candidates[i], strlen(word)) == 0;
    if (begins) d = 1;
    if (d < nearest || (d == nearest && !best)) best = candidates[i], nearest = d;
  }
  return best;
}

static size_t option_count(const kn_command* c) {
  size_t n = 0;
  while (c->options && c->options[n].name) n++;
  return n;
}

static const kn_option* find_in(const kn_option* table, const char* name, size_t length, char letter) {
  for (; table && table->name; table++)
    if (letter ? table->letter == letter
               : strlen(table->name) == length && strncmp(table->name, name, length) == 0)
      return table;
  return NULL;
}

static kn_exit unknown_option(kn_args* args, const char* text, size_t length) {
  const char* names[128];
  char word[64];
  size_t n = 0;
  snprintf(word, sizeof word, "%.*s", (int)length, text);
  for (const kn_option* o = common; o->name; o++) names[n++] = o->name;
  for (const kn_option* o = args->command->options; o && o->name && n < 128; o++) names[n++] = o->name;
  const char* near = kn_suggest(word, names, n);
  if (near) return kn_complain(args, KN_EXIT_USAGE, "unknown option %s; did you mean %s?", word, near);
  return kn_complain(args, KN_EXIT_USAGE, "unknown option %s; see knuckle %s --help", word,
                     args->command->name);
}

static bool read_number(const char* text, const char** end, double* out) {
  char* stop;
  *out = strtod(text, &stop);
  *end = stop;
  return stop != text && isfinite(*out);
}

static bool in_range(const kn_option* o, double v) {
  return (o->min == 0 && o->max == 0) || (v >= o->min && v <= o->max);
}

static kn_exit bad_number(kn_args* args, const kn_option* o, const char* text, const char* what) {
  if (o->min == 0 && o->max == 0)
    return kn_complain(args, KN_EXIT_USAGE, "%s: expected %s, got \"%s\"", o->name, what, text);
  return kn_complain(args, KN_EXIT_USAGE, "%s: expected %s from %.10g to %.10g, got \"%s\"", o->name, what,
                     o->min, o->max, text);
}

static kn_exit check_choice(kn_args* args, const kn_option* o, const char* text) {
  const char* names[256];
  char* copy = strdup(o->choices ? o->choices : "");
  char all[1024] = "";
  size_t n = 0, used = 0;
  bool found = false;
  if (!copy) return kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
  for (char *save, *part = strtok_r(copy, "|", &save); part && n < 256; part = strtok_r(NULL, "|", &save))
    names[n++] = part;
  for (size_t i = 0; o->choice && n < 256 && o->choice(i); i++) names[n++] = o->choice(i);
  for (size_t i = 0; i < n; i++) {
    found = found || strcmp(names[i], text) == 0;
    if (used < sizeof all)
      used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
  }
  const char* near = found ? NULL : kn_suggest(text, names, n);
  if (!found && near)
    kn_complain(args, KN_EXIT_USAGE, "%s: no \"%s\"; did you mean %s? (%s)", o->name, text, near, all);
  else if (!found)
    kn_complain(args, KN_EXIT_USAGE, "%s: no \"%s\"; one of %s", o->name, text, all);
  free(copy);
  return found ? KN_EXIT_OK : KN_EXIT_USAGE;
}

static kn_exit check_numbers(kn_args* args, const kn_option* o, const char* text) {
  const char* at = text;
  double v;
  for (;;) {
    if (!read_number(at, &at, &v) || !in_range(o, v) || (*at != ',' && *at != '\0'))
      return bad_number(args, o, text, "numbers separated by commas");
    if (*at == '\0') return KN_EXIT_OK;
    at++;
  }
}

static kn_exit check_value(kn_args* args, const kn_option* o, const char* text) {
  const char* end;
  double v;
  switch (o->type) {
  case KN_OPTION_NUMBER:
    if (!read_number(text, &end, &v) || *end || !in_range(o, v)) return bad_number(args, o, text, "a number");
    return KN_EXIT_OK;
  case KN_OPTION_INT:
    if (!read_number(text, &end, &v) || *end || v != floor(v) || fabs(v) > 1e15 || !in_range(o, v))
      return bad_number(args, o, text, "a whole number");
    return KN_EXIT_OK;
  case KN_OPTION_NUMBERS: return check_numbers(args, o, text);
  case KN_OPTION_CHOICE: return check_choice(args, o, text);
  case KN_OPTION_TEXT:
  case KN_OPTION_TWO:
  case KN_OPTION_FLAG: break;
  }
  return KN_EXIT_OK;
}

/* One option at argv[*i]; moves *i over its value. */
static kn_exit parse_option(kn_args* args, int argc, char** argv, int* i, bool* helped) {
  const char *text = argv[*i], *value = NULL, *equals = strchr(text, '=');
  bool is_long = text[1] == '-';
  size_t length = is_long && equals ? (size_t)(equals - text) : strlen(text);
  char letter = is_long ? 0 : text[1];
  const kn_option* o = find_in(args->command->options, text, length, letter);
  const kn_option* c = o ? NULL : find_in(common, text, length, letter);
  if (!is_long && text[2]) value = text + 2; /* -ofile */
  if (is_long && equals) value = equals + 1;
  if (!o && !c) return unknown_option(args, text, length);
  if ((o ? o : c)->type == KN_OPTION_FLAG) {
    if (value) return kn_complain(args, KN_EXIT_USAGE, "%s takes no value", (o ? o : c)->name);
    value = "";
  } else if (!value) {
    if (*i + 1 >= argc)
      return kn_complain(args, KN_EXIT_USAGE, "%s needs a value: %s", o->name, o->value ? o->value : "VALUE");
    value = argv[++*i];
  }
  if (c) {
    args->json |= strcmp(c->name, "--json") == 0;
    args->quiet |= strcmp(c->name, "--quiet") == 0;
    *helped |= strcmp(c->name, "--help") == 0;
    return KN_EXIT_OK;
  }
  if (o->type == KN_OPTION_TWO) {
    if (*i + 1 >= argc || argv[*i + 1][0] == '-')
      return kn_complain(args, KN_EXIT_USAGE, "%s needs two values: %s", o->name, o->value);
    args->second = argv[++*i];
  }
  args->values[o - args->command->options] = value;
  return check_value(args, o, value);
}

static kn_exit check_operands(kn_args* args) {
  const kn_command* c = args->command;
  if (args->operands < c->min_operands)
    return kn_complain(args, KN_EXIT_USAGE, "expected %s; see knuckle %s --help",
                       c->operands ? c->operands : "an operand", c->name);
  if (c->max_operands >= 0 && args->operands > c->max_operands)
    return kn_complain(args, KN_EXIT_USAGE, "unexpected \"%s\"; see knuckle %s --help",
                       args->operand[c->max_operands], c->name);
  return KN_EXIT_OK;
}

kn_exit kn_args_parse(kn_args* args, const kn_command* command, int argc, char** argv, bool* helped) {
  bool only_operands = false;
  *args = (kn_args){.command = command};
  *helped = false;
  args->values = (const char**)calloc(option_count(command) + 1, sizeof *args->values);
  args->operand = (char**)calloc((size_t)argc + 1, sizeof *args->operand);
  if (!args->values || !args->operand) return kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
  for (int i = 0; i < argc; i++) {
    only_operands |= command->raw && args->operands > 0;
    if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0')
      args->operand[args->operands++] = argv[i];
    else if (strcmp(argv[i], "--") == 0)
      only_operands = true;
    else {
      kn_exit code = parse_option(args, argc, argv, &i, helped);
      if (code != KN_EXIT_OK) return code;
    }
    if (*helped) {
      for (int k = i + 1; k < argc; k++) args->json |= strcmp(argv[k], "--json") == 0;
      return kn_help_show(command, args->json);
    }
  }
  return check_operands(args);
}

bool kn_args_copy(kn_args* copy, const kn_args* args) {
  size_t values = (option_count(args->command) + 1) * sizeof *copy->values;
  size_t operands = ((size_t)args->operands + 1) * sizeof *copy->operand;
  *copy = *args;
  copy->input = NULL;
  copy->inputs = 0;
  copy->values = (const char**)malloc(values);
  copy->operand = (char**)malloc(operands);
  if (!copy->values || !copy->operand) {
    kn_args_free(copy);
    return false;
  }
  memcpy(copy->values, args->values, values);
  memcpy(copy->operand, args->operand, operands);
  return true;
}

void kn_args_free(kn_args* args) {
  free(args->values);
  free(args->operand);
  for (int i = 0; i < args->inputs; i++) free(args->input[i]);
  free(args->input);
}

static const kn_option* declared(const kn_args* args, const char* name) {
  const kn_option* o = find_in(args->command->options, name, strlen(name), 0);
  if (o) return o;
  fprintf(stderr, "knuckle %s: option %s is not declared\n", args->command->name, name);
  abort();
}

kn_exit kn_arg_set(kn_args* args, const char* name, const char* value) {
  const kn_option* o = declared(args, name);
  args->values[o - args->command->options] = value;
  return check_value(args, o, value);
}

bool kn_arg_given(const kn_args* args, const char* name) {
  return args->values[declared(args, name) - args->command->options] != NULL;
}

bool kn_arg_flag(const kn_args* args, const char* name) { return kn_arg_given(args, name); }

const char* kn_arg_text(const kn_args* args, const char* name) {
  const kn_option* o = declared(args, name);
  const char* value = args->values[o - args->command->options];
  return value ? value : o->fallback;
}

const char* kn_arg_second(const kn_args* args) { return args->second; }

double kn_arg_number(const kn_args* args, const char* name) {
  const char* text = kn_arg_text(args, name);
  return text ? strtod(text, NULL) : NAN;
}

long long kn_arg_int(const kn_args* args, const char* name) {
  const char* text = kn_arg_text(args, name);
  return text ? (long long)strtod(text, NULL) : 0;
}

size_t kn_arg_numbers(const kn_args* args, const char* name, double* out, size_t room) {
  const char* text = kn_arg_text(args, name);
  size_t n = 0;
  if (!text) return 0;
  for (;;) {
    char* end;
    double v = strtod(text, &end);
    if (end == text) return n;
    if (n < room) out[n] = v;
    n++;
    if (*end != ',') return n;
    text = end + 1;
  }
}
