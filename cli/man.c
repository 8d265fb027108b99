/* Manual pages and completions of shells, from the same tables as the help pages. */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "knuckle/version.h"
#include "scene.h"

/* ---- manual pages: troff with the man macros ---- */

/* Text with what troff would take as its own made harmless; `keep` lines (leading blanks) stay as they are. */
static void troff(FILE* out, const char* text) {
  bool start = true, kept = false;
  for (const char* c = text; c && *c; c++) {
    if (start && *c == ' ' && !kept) fputs(".nf\n", out), kept = true;
    if (start && *c != ' ' && *c != '\n' && kept) fputs(".fi\n", out), kept = false;
    if (start && (*c == '.' || *c == '\'')) fputs("\\&", out);
    if (*c == '\\')
      fputs("\\e", out);
    else if (*c == '-')
      fputs("\\-", out);
    else
      fputc(*c, out);
    start = *c == '\n';
  }
  if (kept) fputs("\n.fi", out);
}

static void upper(FILE* out, const char* text) {
  for (; *text; text++) fputc(toupper((unsigned char)*text), out);
}

static void man_head(FILE* out, const char* page, const char* summary) {
  fputs(".TH ", out);
  upper(out, page);
  fprintf(out, " 1 \"\" \"Knuckle %s\" \"User Commands\"\n.SH NAME\n%s \\- ", KN_VERSION, page);
  troff(out, summary);
  fputc('\n', out);
}

static void man_option(FILE* out, const kn_option* o) {
  fputs(".TP\n", out);
  if (o->letter) fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
  fputs("\\fB", out);
  troff(out, o->name);
  fputs("\\fR", out);
  if (o->type != KN_OPTION_FLAG) {
    fputs(" \\fI", out);
    troff(out, o->value ? o->value : "VALUE");
    fputs("\\fR", out);
  }
  fputc('\n', out);
  troff(out, o->help ? o->help : "");
  if (o->fallback) {
    fputs(" (default ", out);
    troff(out, o->fallback);
    fputc(')', out);
  }
  for (size_t i = 0; o->choice && o->choice(i); i++) {
    fputs(i ? ", " : "; one of ", out);
    troff(out, o->choice(i));
  }
  if (o->choices) {
    fputs("; one of ", out);
    for (const char* c = o->choices; *c; c++) *c == '|' ? fputs(", ", out) : fputc(*c, out);
  }
  fputc('\n', out);
}

static const char statuses[] =
    ".SH EXIT STATUS\n0 done; 1 the run or check found a violation; 2 usage; 3 bad input "
    "(the message has file:line:column); 4 could not write; 130 interrupted.\n";

static void man_command(FILE* out, const kn_command* c) {
  char page[64];
  snprintf(page, sizeof page, "knuckle-%s", c->name);
  man_head(out, page, c->summary);
  fprintf(out, ".SH SYNOPSIS\n\\fBknuckle %s\\fR %s%s\n", c->name, c->operands ? c->operands : "",
          c->raw ? "" : " [\\fIoptions\\fR]");
  fputs(".SH DESCRIPTION\n", out);
  troff(out, c->details ? c->details : c->summary);
  fputs("\n.SH OPTIONS\n", out);
  for (const kn_option* o = c->options; o && o->name; o++) man_option(out, o);
  for (const kn_option* o = kn_common_options; o->name; o++) man_option(out, o);
  if (c->examples && c->examples->line) fputs(".SH EXAMPLES\n", out);
  for (const kn_example* e = c->examples; e && e->line; e++) {
    fputs(".TP\n\\fB", out);
    troff(out, e->line);
    fputs("\\fR\n", out);
    troff(out, e->what ? e->what : "");
    fputc('\n', out);
  }
  fputs(statuses, out);
  fputs(".SH SEE ALSO\n\\fBknuckle\\fR(1)\n", out);
}

void kn_help_man(FILE* out, const kn_command* command) {
  if (command) {
    man_command(out, command);
    return;
  }
  man_head(out, "knuckle", "contact and collision dynamics of articulated rigid bodies");
  fputs(".SH SYNOPSIS\n\\fBknuckle\\fR \\fICOMMAND\\fR [\\fIarguments\\fR]\n.SH COMMANDS\n", out);
  for (const kn_command* const* c = kn_commands; *c; c++) {
    fprintf(out, ".TP\n\\fBknuckle\\-%s\\fR(1)\n", (*c)->name);
    troff(out, (*c)->summary);
    fputc('\n', out);
  }
  fputs(statuses, out);
}

/* ---- completions ---- */

static void options_of(FILE* out, const kn_command* c) {
  for (const kn_option* o = c->options; o && o->name; o++) fprintf(out, "%s ", o->name);
  for (const kn_option* o = kn_common_options; o->name; o++)
    fprintf(out, "%s%s", o->name, o[1].name ? " " : "");
}

static void choices_of(FILE* out, const kn_option* o) {
  for (const char* c = o->choices; c && *c; c++) fputc(*c == '|' ? ' ' : *c, out);
  for (size_t i = 0; o->choice && o->choice(i); i++) fprintf(out, "%s%s", i ? " " : "", o->choice(i));
}

static bool takes_scene(const kn_command* c) {
  return c->operands && (strstr(c->operands, "SCENE") || strstr(c->operands, "MODEL"));
}

/* What may stand for the first operand, beside files. */
static void operands_of(FILE* out, const kn_command* c) {
  if (takes_scene(c))
    for (size_t i = 0; kn_scenes()[i]; i++) fprintf(out, "%s ", kn_scenes()[i]->name);
  if (strcmp(c->name, "help") == 0)
    for (const kn_command* const* k = kn_commands; *k; k++) fprintf(out, "%s ", (*k)->name);
  if (strcmp(c->name, "completion") == 0) fputs("bash zsh", out);
  if (strcmp(c->name, "study") == 0) fputs("init", out);
  if (strcmp(c->name, "list") == 0)
    fputs("scenes formulations laws steppers solvers lcp-solvers troubles commands statuses", out);
}

/* One function serves both shells: zsh runs it through bashcompinit. */
static void completion(FILE* out, bool zsh) {
  if (zsh) fputs("#compdef knuckle\nautoload -U +X bashcompinit && bashcompinit\n", out);
  fputs("# knuckle completion, made by `knuckle completion`\n"
        "_knuckle() {\n"
        "  local now=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\"\n"
        "  COMPREPLY=()\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"",
        out);
  for (const kn_command* const* c = kn_commands; *c; c++) fprintf(out, "%s ", (*c)->name);
  fputs("--help --version\"\n  else\n    case \"${COMP_WORDS[1]} $before\" in\n", out);
  for (const kn_command* const* c = kn_commands; *c; c++)
    for (const kn_option* o = (*c)->options; o && o->name; o++) {
      if (o->type != KN_OPTION_CHOICE) continue;
      fprintf(out, "      \"%s %s\") words=\"", (*c)->name, o->name);
      choices_of(out, o);
      fputs("\" ;;\n", out);
    }
  fputs("    esac\n    if [ -z \"$words\" ]; then\n      case \"${COMP_WORDS[1]}\" in\n", out);
  for (const kn_command* const* c = kn_commands; *c; c++) {
    fprintf(out, "        %s)\n          case \"$now\" in\n            -*) words=\"", (*c)->name);
    options_of(out, *c);
    fputs("\" ;;\n            *) words=\"", out);
    operands_of(out, *c);
    fputs("\" ;;\n          esac ;;\n", out);
  }
  fputs("      esac\n    fi\n  fi\n"
        "  while read -r word; do COMPREPLY+=(\"$word\"); done < <(compgen -W \"$words\" -- \"$now\"; "
        "[ \"$COMP_CWORD\" -gt 1 ] && compgen -f -- \"$now\")\n"
        "}\ncomplete -o filenames -F _knuckle knuckle\n",
        out);
}

static int run(kn_args* args) {
  const char* shell = args->operand[0];
  bool zsh = strcmp(shell, "zsh") == 0;
  if (!zsh && strcmp(shell, "bash") != 0)
    return kn_complain(args, KN_EXIT_USAGE, "no completion for \"%s\", expected bash or zsh", shell);
  if (args->json) {
    kn_json j;
    char* text = NULL;
    size_t size;
    FILE* f = open_memstream(&text, &size);
    if (!f) return kn_complain(args, KN_EXIT_VIOLATION, "out of memory");
    completion(f, zsh);
    fclose(f);
    kn_json_start(&j);
    kn_json_text(&j, "shell", shell);
    kn_json_text(&j, "script", text);
    free(text);
    return kn_json_finish(&j, KN_EXIT_OK);
  }
  completion(stdout, zsh);
  return fflush(stdout) == 0 ? KN_EXIT_OK : KN_EXIT_WRITE;
}

static const kn_example examples[] = {
    {"knuckle completion bash > ~/.local/share/bash-completion/completions/knuckle", "from the next bash on"},
    {"source <(knuckle completion bash)", "in this one"},
    {0}};
extern const kn_command kn_command_completion;
const kn_command kn_command_completion = {.name = "completion",
                                          .summary = "completion of commands, options and scenes for a shell",
                                          .operands = "bash|zsh",
                                          .min_operands = 1,
                                          .max_operands = 1,
                                          .details =
                                              "`make install` puts the scripts where both shells look.",
                                          .examples = examples,
                                          .run = run};
