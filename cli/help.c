/* Help pages, made from the tables of the commands. */
#include <string.h>

#include "command.h"
#include "troubles.h"

static void option_head(char* text, size_t room, const kn_option* o) {
  char letter[8] = "";
  if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
  if (o->type == KN_OPTION_FLAG)
    snprintf(text, room, "%s%s", letter, o->name);
  else
    snprintf(text, room, "%s%s %s", letter, o->name, o->value ? o->value : "VALUE");
}

static void choices_text(char* text, size_t room, const kn_option* o) {
  size_t used = 0;
  text[0] = '\0';
  if (o->choices) {
    used = (size_t)snprintf(text, room, "%s", o->choices);
    for (char* c = text; *c; c++)
      if (*c == '|') *c = ' ';
  }
  for (size_t i = 0; o->choice && o->choice(i) && used < room; i++)
    used += (size_t)snprintf(text + used, room - used, "%s%s", used ? " " : "", o->choice(i));
}

/* Columns of a UTF-8 text. */
static int columns(const char* s) {
  int n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

static void usage_line(FILE* out, const kn_command* c) {
  fprintf(out, "knuckle %s%s%s%s\n", c->name, c->operands ? " " : "", c->operands ? c->operands : "",
          c->raw ? "" : " [options]");
}

enum { PAGE = 96 }; /* columns of a help page */

/* A text in lines of at most PAGE columns after `indent`; lines that begin with spaces stay as they are. */
static void wrapped(FILE* out, const char* text, int indent, int column) {
  for (const char* at = text; *at;) {
    if (*at == '\n') {
      fputc('\n', out);
      at++;
      column = 0;
      while (*at == ' ' || *at == '\n') { /* lines to keep */
        size_t n = strcspn(at, "\n");
        fprintf(out, "%.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
      }
      continue;
    }
    size_t n = strcspn(at, " \n");
    char word[256];
    snprintf(word, sizeof word, "%.*s", (int)n, at);
    if (column > indent && column + 1 + columns(word) > PAGE) {
      fprintf(out, "\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      fputc(' ', out);
      column++;
    }
    fputs(word, out);
    column += columns(word);
    at += n;
    at += *at == ' ';
  }
  fputc('\n', out);
}

static void option_lines(FILE* out, const kn_option* o) {
  char head[96], choices[512], text[1200];
  option_head(head, sizeof head, o);
  choices_text(choices, sizeof choices, o);
  snprintf(text, sizeof text, "%s%s%s%s%s%s", o->help ? o->help : "", o->fallback ? " (default " : "",
           o->fallback ? o->fallback : "", o->fallback ? ")" : "", choices[0] ? "; one of: " : "", choices);
  fprintf(out, "  %s%*s ", head, columns(head) < 26 ? 26 - columns(head) : 0, "");
  wrapped(out, text, 29, columns(head) < 26 ? 29 : 3 + columns(head));
}

void kn_help_command(FILE* out, const kn_command* c) {
  usage_line(out, c);
  fprintf(out, "  %s\n", c->summary);
  if (c->details) fputc('\n', out), wrapped(out, c->details, 0, 0);
  fputs("\noptions:\n", out);
  for (const kn_option* o = c->options; o && o->name; o++) option_lines(out, o);
  for (const kn_option* o = kn_common_options; o->name; o++) option_lines(out, o);
  if (!c->examples || !c->examples->line) return;
  fputs("\nexamples:\n", out);
  for (const kn_example* e = c->examples; e->line; e++) {
    fprintf(out, "  %s\n", e->line);
    if (e->what) fprintf(out, "      %s\n", e->what);
  }
}

void kn_help_overview(FILE* out) {
  fputs("knuckle: contact and collision dynamics of articulated rigid bodies\n\n"
        "usage: knuckle COMMAND [arguments]\n\n",
        out);
  for (const kn_command* const* c = kn_commands; *c; c++)
    fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
  fputs("\nknuckle COMMAND --help explains a command with examples; knuckle --version.\n"
        "Exit status: 0 done; 1 a violation was found; 2 usage; 3 bad input; 4 could not write; 130 "
        "interrupted.\n",
        out);
}

static void markdown_text(FILE* out, const char* s) {
  for (; s && *s; s++) {
    if (*s == '|' || *s == '<' || *s == '*') fputc('\\', out);
    fputc(*s, out);
  }
}

static void markdown_options(FILE* out, const kn_command* c) {
  if (!c->options || !c->options->name) return;
  fputs("\n| option | default | meaning |\n|---|---|---|\n", out);
  for (const kn_option* o = c->options; o->name; o++) {
    char head[96], choices[512];
    option_head(head, sizeof head, o);
    choices_text(choices, sizeof choices, o);
    fprintf(out, "| `%s` | %s%s%s | ", head, o->fallback ? "`" : "", o->fallback ? o->fallback : "",
            o->fallback ? "`" : "");
    markdown_text(out, o->help);
    if (choices[0]) fprintf(out, "; one of `%s`", choices);
    fputs(" |\n", out);
  }
}

/* Lines that begin with two spaces become four: a code block. */
static void markdown_details(FILE* out, const char* text) {
  fputc('\n', out);
  for (const char* at = text; *at;) {
    size_t n = strcspn(at, "\n");
    fprintf(out, "%s%.*s\n", *at == ' ' ? "  " : "", (int)n, at);
    at += n + (at[n] == '\n');
  }
}

void kn_help_markdown(FILE* out) {
  fputs("# The command line\n\n"
        "Written by `knuckle help --markdown` from the commands' own tables; a test keeps it up to date.\n\n"
        "Every command has `--json` (one JSON object on standard output, nothing else there), `--quiet` and "
        "`--help`.\nExit status: 0 done; 1 the run or check found a violation; 2 usage; 3 bad input (the "
        "message "
        "on standard error has\nfile:line:column); 4 could not write; 130 interrupted (recordings are "
        "closed).\n\n"
        "| command | does |\n|---|---|\n",
        out);
  for (const kn_command* const* c = kn_commands; *c; c++)
    fprintf(out, "| [`%s`](#knuckle-%s) | %s |\n", (*c)->name, (*c)->name, (*c)->summary);
  for (const kn_command* const* c = kn_commands; *c; c++) {
    fprintf(out, "\n## knuckle %s\n\n`", (*c)->name);
    fprintf(out, "knuckle %s%s%s%s`: %s.\n", (*c)->name, (*c)->operands ? " " : "",
            (*c)->operands ? (*c)->operands : "", (*c)->raw ? "" : " [options]", (*c)->summary);
    if ((*c)->details) markdown_details(out, (*c)->details);
    markdown_options(out, *c);
    if (!(*c)->examples || !(*c)->examples->line) continue;
    fputs("\n```\n", out);
    for (const kn_example* e = (*c)->examples; e->line; e++)
      fprintf(out, "%s%s%s\n", e->line, e->what ? "   # " : "", e->what ? e->what : "");
    fputs("```\n", out);
  }
}

static void json_option(kn_json* j, const kn_option* o) {
  static const char* const types[] = {
      [KN_OPTION_FLAG] = "flag",    [KN_OPTION_TEXT] = "text",     [KN_OPTION_TWO] = "two texts",
      [KN_OPTION_INT] = "integer",  [KN_OPTION_NUMBER] = "number", [KN_OPTION_NUMBERS] = "numbers",
      [KN_OPTION_CHOICE] = "choice"};
  char letter[3] = {'-', o->letter, '\0'}, choices[512];
  choices_text(choices, sizeof choices, o);
  kn_json_begin(j, NULL);
  kn_json_text(j, "name", o->name);
  kn_json_text(j, "letter", o->letter ? letter : NULL);
  kn_json_text(j, "type", types[o->type]);
  kn_json_text(j, "value", o->value);
  kn_json_text(j, "default", o->fallback);
  kn_json_text(j, "choices", choices[0] ? choices : NULL);
  kn_json_text(j, "help", o->help);
  kn_json_end(j);
}

static void json_command(kn_json* j, const kn_command* c) {
  kn_json_begin(j, NULL);
  kn_json_text(j, "name", c->name);
  kn_json_text(j, "summary", c->summary);
  kn_json_text(j, "operands", c->operands);
  kn_json_text(j, "details", c->details);
  kn_json_array(j, "options");
  for (const kn_option* o = c->options; o && o->name; o++) json_option(j, o);
  kn_json_end(j);
  kn_json_array(j, "examples");
  for (const kn_example* e = c->examples; e && e->line; e++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "line", e->line);
    kn_json_text(j, "what", e->what);
    kn_json_end(j);
  }
  kn_json_end(j);
  kn_json_end(j);
}

kn_exit kn_help_show(const kn_command* command, bool json) {
  kn_json j;
  if (json) {
    kn_json_start(&j);
    kn_json_array(&j, "commands");
    for (const kn_command* const* c = kn_commands; *c; c++)
      if (!command || *c == command) json_command(&j, *c);
    kn_json_end(&j);
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  if (command)
    kn_help_command(stdout, command);
  else
    kn_help_overview(stdout);
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

static int run_help(kn_args* args) {
  bool troubles = kn_arg_flag(args, "--troubles");
  if (troubles || kn_arg_flag(args, "--markdown")) {
    if (args->json)
      return kn_complain(args, KN_EXIT_USAGE, "%s and --json exclude each other",
                         troubles ? "--troubles" : "--markdown");
    if (troubles)
      kn_troubles_markdown(stdout);
    else
      kn_help_markdown(stdout);
    return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
  }
  const kn_command* c = args->operands ? kn_command_find(args->operand[0]) : NULL;
  if (args->operands && !c) return KN_EXIT_USAGE; /* kn_command_find has said so */
  if (kn_arg_flag(args, "--man")) {
    if (args->json) return kn_complain(args, KN_EXIT_USAGE, "--man and --json exclude each other");
    kn_help_man(stdout, c);
    return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
  }
  return kn_help_show(c, args->json);
}

static const kn_option options[] = {
    {.name = "--markdown", .type = KN_OPTION_FLAG, .help = "all commands as one Markdown page"},
    {.name = "--troubles", .type = KN_OPTION_FLAG, .help = "all kinds of trouble as one Markdown page"},
    {.name = "--man", .type = KN_OPTION_FLAG, .help = "a manual page (troff) of COMMAND, or of all"},
    {0}};
static const kn_example examples[] = {{"knuckle help list", "what knuckle list does"},
                                      {"knuckle help --markdown > docs/cli.md", NULL},
                                      {"knuckle help run --man | man -l -", "as a manual page"},
                                      {0}};
extern const kn_command kn_command_help;
const kn_command kn_command_help = {.name = "help",
                                    .summary = "explain the commands",
                                    .operands = "[COMMAND]",
                                    .max_operands = 1,
                                    .options = options,
                                    .examples = examples,
                                    .run = run_help};
