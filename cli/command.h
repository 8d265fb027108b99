/* What a subcommand is. Each lives in one file cli/NAME.c, defines one const kn_command and is listed in
   cli/commands.c; parsing, help, the Markdown page docs/cli.md and suggestions come from its tables:

     static const kn_option options[] = {
         {.name = "--dt", .type = KN_OPTION_NUMBER, .value = "SECONDS", .fallback = "1e-3", .min = 1e-9, .max
   = 1, .help = "time step"}, {0}}; static int run(kn_args* args) { double dt = kn_arg_number(args, "--dt");
       const char* scene = args->operand[0];
       …
       return KN_EXIT_OK;
     }
     const kn_command kn_command_run = {.name = "run", .summary = "simulate a scene", .operands = "SCENE",
       .min_operands = 1, .max_operands = 1, .options = options, .examples = examples, .run = run};

   Every command also has --json, --quiet and --help. With --json one JSON object goes to standard output and
   nothing else does (output/json.h); messages always go to standard error. */
#ifndef KN_CLI_COMMAND_H
#define KN_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "knuckle/status.h"
#include "output/json.h"

typedef enum kn_exit {
  KN_EXIT_OK = 0,
  KN_EXIT_VIOLATION = 1, /* the run or check found something wrong */
  KN_EXIT_USAGE = 2,
  KN_EXIT_INPUT = 3, /* bad input; the message has file:line:column where there is one */
  KN_EXIT_WRITE = 4, /* could not write */
  KN_EXIT_INTERRUPTED = 130
} kn_exit;

typedef enum kn_option_type {
  KN_OPTION_FLAG,
  KN_OPTION_TEXT,
  KN_OPTION_TWO, /* two texts; at most one such option per command, the second by kn_arg_second */
  KN_OPTION_INT,
  KN_OPTION_NUMBER,
  KN_OPTION_NUMBERS, /* comma-separated */
  KN_OPTION_CHOICE   /* one of choices or of the list choice() */
} kn_option_type;

typedef struct kn_option {
  const char* name; /* "--time"; a table ends with a zero entry */
  char letter;      /* 'o' for -o, or 0 */
  kn_option_type type;
  const char* value;    /* what the value is called in the help: "SECONDS" */
  const char* fallback; /* default as text, NULL: none */
  const char* help;
  double min, max;                 /* of numbers; both 0: any finite number */
  const char* choices;             /* "a|b|c" */
  const char* (*choice)(size_t i); /* or a list: name i, NULL after the last */
} kn_option;

typedef struct kn_command kn_command;

typedef struct kn_args {
  const kn_command* command;
  char** operand; /* what is not an option, in order */
  int operands;
  bool json, quiet;
  const char** values; /* by option, NULL: not given */
  const char* second;  /* of an option with two values */
  char** input; /* files that are read beside the operands: a study's model, what it includes, meshes */
  int inputs;
} kn_args;

typedef struct kn_example {
  const char *line, *what; /* a table ends with a zero entry */
} kn_example;

struct kn_command {
  const char* name;
  const char* summary;            /* one line, no full stop */
  const char* operands;           /* "SCENE [FILE]" */
  int min_operands, max_operands; /* max < 0: any number */
  const char* details;            /* a paragraph for the help page, or NULL */
  const kn_option* options;       /* or NULL */
  const kn_example* examples;     /* or NULL */
  bool raw;                  /* after the first operand nothing is parsed (handed on to another program) */
  int (*run)(kn_args* args); /* returns a kn_exit */
};

extern const kn_option kn_common_options[];   /* --json, --quiet, --help; args.c */
extern const kn_command* const kn_commands[]; /* cli/commands.c; ends with NULL */

int kn_main(int argc, char** argv); /* main.c: the whole program; returns the exit status */

/* Values of options, of the declared type; asking for an undeclared option is a bug and aborts. A number
   without default that was not given is NaN, an integer 0, a text NULL. */
bool kn_arg_flag(const kn_args* args, const char* name);
bool kn_arg_given(const kn_args* args, const char* name);
const char* kn_arg_text(const kn_args* args, const char* name);
const char* kn_arg_second(const kn_args* args); /* NULL: not given */
double kn_arg_number(const kn_args* args, const char* name);
long long kn_arg_int(const kn_args* args, const char* name);
/* Up to room numbers of a list into out; returns how many were given (may exceed room). */
size_t kn_arg_numbers(const kn_args* args, const char* name, double* out, size_t room);

/* Parses what follows the command's name. On a mistake prints it and returns KN_EXIT_USAGE; on --help prints
   the help, sets *helped and returns KN_EXIT_OK. kn_args_free in any case. */
kn_exit kn_args_parse(kn_args* args, const kn_command* command, int argc, char** argv, bool* helped);
void kn_args_free(kn_args* args);
/* A copy whose values can be changed (texts are shared with the original), and such a change, checked like
   one on the command line. */
bool kn_args_copy(kn_args* copy, const kn_args* args);
kn_exit kn_arg_set(kn_args* args, const char* name, const char* value);

const kn_command* kn_command_find(const char* name);
void kn_help_overview(FILE* out);
void kn_help_command(FILE* out, const kn_command* command);
void kn_help_markdown(FILE* out);
void kn_help_man(FILE* out, const kn_command* command);     /* man.c; NULL: knuckle(1) */
kn_exit kn_help_show(const kn_command* command, bool json); /* on standard output; NULL: the overview */

/* "knuckle NAME: message" on standard error; returns code, so that `return kn_complain(…)` reads well. */
kn_exit kn_complain(const kn_args* args, kn_exit code, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
/* The library's last error as a complaint; the exit status follows from the status. */
kn_exit kn_complain_status(const kn_args* args, kn_status status);
kn_exit kn_exit_of(kn_status status);
/* The same with a text of one's own. */
kn_exit kn_complain_text(const kn_args* args, kn_status status, const char* text);
/* From here on complaints of this thread go into the text instead (the first one stays); NULL: to standard
   error again. */
void kn_complaints_keep(char* text, size_t room);
/* With --json, at the very end: a failure that left no result becomes {"error":{…}} on standard output. */
kn_exit kn_complaint_json(kn_exit code, int argc, char** argv);

/* What a command writes: plots, or anything else to a part file that kn_out_close puts in place
   (output/file.h). On failure they complain; the exit status is KN_EXIT_WRITE, or KN_EXIT_USAGE for an
   ending that is not one of `endings` ("csv|json"; NULL: any). */
struct kn_file;
struct kn_plot;
kn_exit kn_out_ending(const kn_args* args, const char* path, const char* endings);
kn_exit kn_out_not_input(const kn_args* args,
                         const char* path); /* complains of a file that the command reads */
kn_exit kn_out_open(struct kn_file* file, const kn_args* args, const char* path, const char* endings);
kn_exit kn_out_close(struct kn_file* file, const kn_args* args, bool good);
kn_exit kn_out_reserve(struct kn_file* file, const kn_args* args, const char* path, const char* endings);
kn_exit kn_out_commit(struct kn_file* file, const kn_args* args, kn_status status, const char* why);
kn_exit kn_out_image(const kn_args* args, const char* path, bool (*draw)(FILE*, void*), void* context);
kn_exit kn_out_plot(const kn_args* args, const char* path, const struct kn_plot* panels, size_t count,
                    size_t columns, double width, double height);

/* The bytes of a plain file, with a zero behind them; the caller frees them. NULL: not there, or no plain file. */
char* kn_plain_file(size_t* size, const char* path);

/* The candidate nearest to a misspelt word, or NULL when none is near. */
const char* kn_suggest(const char* word, const char* const* candidates, size_t n);

/* What a body, joint, geom or actuator is called: its name, or its kind and number ("joint3", in `own`) without one. */
enum { KN_LABEL = 32 };
const char* kn_label(char own[KN_LABEL], const char* name, const char* kind, int index);

/* Ctrl-C and SIGTERM set a flag instead of ending the program; a second one ends it. */
void kn_interrupt_catch(void);
bool kn_interrupted(void);

double kn_seconds(void); /* of a clock that only goes forward */

/* Numbers as people write them: "36 µs", "1.25 s", "2 min 5 s"; "2790", "0.31" (three digits, no exponent
   where avoidable). Both return their text. */
enum { KN_SHORT_TEXT = 32 };
const char* kn_time_text(char text[KN_SHORT_TEXT], double seconds);
const char* kn_count_text(char text[KN_SHORT_TEXT], double value);

/* stream.c: control characters in what is printed become visible text; kn_terminal is standard error for what
   the program itself sends to a terminal. Colours on a terminal only, never with NO_COLOR or TERM=dumb. */
void kn_streams_open(void);
FILE* kn_terminal(void);
bool kn_colours(void);

/* A progress bar on standard error if that is a terminal, nothing otherwise. */
typedef struct kn_progress {
  const char* label;
  double total; /* seconds of simulated time, or a count */
  bool is_time; /* total is simulated time: show it and the real-time factor */
  bool on;
  double started, shown;
} kn_progress;
void kn_progress_start(kn_progress* p, const kn_args* args, const char* label, double total, bool is_time);
void kn_progress_update(kn_progress* p, double done, const char* extra); /* extra may be NULL */
void kn_progress_end(kn_progress* p);

/* Opens a JSON object on standard output; kn_json_finish closes it and returns the exit status. */
void kn_json_start(kn_json* j);
kn_exit kn_json_finish(kn_json* j, kn_exit code);

#endif
