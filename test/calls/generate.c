/* generate HEADER… > calls.inc: for every function that the public headers declare, one C function that calls it with a
   chosen value for each parameter:

     static void call_17(const int* pick) { sink(kn_state_copy(ARG_P(kn_state*, pick[0]), ARG_P(const kn_state*, pick[1]))); }
     {"kn_state_copy", 2, "pp", call_17},

   The letters: p pointer, i integer or enumeration, d double, f function, s structure by value. calls.c has the values. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, ARGS = 24 };

typedef struct function {
  char result[100], name[100], type[ARGS][160], kind[ARGS + 1];
  int args;
} function;

static function list[MOST];
static int count;

static char* read_all(const char* path) {
  FILE* in = fopen(path, "rb");
  char* text = calloc(1, 1 << 20);
  if (!in || !text) exit(1);
  size_t n = fread(text, 1, (1 << 20) - 1, in);
  text[n] = 0;
  fclose(in);
  return text;
}

/* Comments and preprocessor lines become blanks. */
static void strip(char* s) {
  for (char* p = s; *p; p++) {
    if (p[0] == '/' && p[1] == '*')
      while (*p && !(p[0] == '*' && p[1] == '/')) *p++ = ' ';
    if (p[0] == '*' && p[1] == '/') p[0] = p[1] = ' ';
    if (*p == '#' && (p == s || p[-1] == '\n'))
      while (*p && *p != '\n') {
        if (p[0] == '\\' && p[1] == '\n') p[1] = ' ';
        *p++ = ' ';
      }
    if (*p == '\n' || *p == '\t') *p = ' ';
  }
}

static char* trimmed(char* s) {
  while (*s == ' ') s++;
  for (size_t n = strlen(s); n && s[n - 1] == ' ';) s[--n] = 0;
  return s;
}

static int starts(const char* s, const char* word) { return strncmp(s, word, strlen(word)) == 0; }

/* "const double* x", "double pos[3]", "int n", "void (*fn)(…)" */
static void argument(function* f, char* text) {
  char* type = f->type[f->args];
  text = trimmed(text);
  if (!strcmp(text, "void") || !*text) return;
  if (strchr(text, '(')) {
    if (strstr(text, ")[")) /* a pointer to an array */
      strcpy(type, "void*"), f->kind[f->args++] = 'p';
    else
      strcpy(type, "void*"), f->kind[f->args++] = 'f';
    return;
  }
  char *bracket = strchr(text, '['), *end = bracket ? bracket : text + strlen(text);
  while (end > text && (isalnum((unsigned char)end[-1]) || end[-1] == '_')) end--;
  if (end == text) end = text + strlen(text); /* no name */
  snprintf(type, sizeof f->type[0], "%.*s%s", (int)(end - text), text, bracket ? "*" : "");
  type = trimmed(type);
  memmove(f->type[f->args], type, strlen(type) + 1);
  type = f->type[f->args];
  static const char* const whole[] = {"int",    "int32_t", "int64_t", "uint64_t", "uint32_t",
                                      "size_t", "bool",    "long",    "unsigned"};
  char kind = strchr(type, '*') ? 'p' : !strcmp(type, "double") || !strcmp(type, "float") ? 'd' : 'i';
  (void)whole;
  if (kind == 'i' && (strstr(type, "_fn") != NULL)) kind = 'f';
  f->kind[f->args++] = kind;
}

static void declaration(char* text) {
  function* f = &list[count];
  memset(f, 0, sizeof *f);
  char *open = strchr(text, '('), *close = strrchr(text, ')');
  if (!open || !close) return;
  *close = 0;
  char* name = open;
  while (name > text && name[-1] == ' ') name--;
  char* end = name;
  while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) name--;
  snprintf(f->name, sizeof f->name, "%.*s", (int)(end - name), name);
  *name = 0;
  snprintf(f->result, sizeof f->result, "%s", trimmed(text));
  int depth = 0;
  char* from = open + 1;
  for (char* p = from;; p++) {
    depth += *p == '(', depth -= *p == ')';
    if ((*p == ',' && !depth) || !*p) {
      int last = !*p;
      *p = 0;
      argument(f, from);
      if (last) break;
      from = p + 1;
    }
  }
  if (!starts(f->name, "kn_")) return;
  count++;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    char* text = read_all(argv[i]);
    strip(text);
    for (char* at = strstr(text, "KN_API "); at; at = strstr(at, "KN_API ")) {
      at += 7;
      char* end = strchr(at, ';');
      if (!end) break;
      *end = 0;
      char* next = end + 1;
      declaration(at);
      at = next;
    }
    free(text);
  }
  for (int i = 1; i < argc; i++) printf("#include \"knuckle/%s\"\n", strrchr(argv[i], '/') + 1);
  for (int k = 0; k < count; k++) {
    const function* f = &list[k];
    printf("static void call_%d(const int* pick) {\n  (void)pick;\n  ", k);
    if (strcmp(f->result, "void")) printf("(void)");
    printf("%s(", f->name);
    for (int a = 0; a < f->args; a++) {
      const char* t = f->type[a];
      printf("%s", a ? ", " : "");
      if (f->kind[a] == 'p') printf("(%s)pointer(\"%s\", pick[%d])", t, t, a);
      if (f->kind[a] == 'i') printf("(%s)whole(\"%s\", pick[%d])", t, t, a);
      if (f->kind[a] == 'd') printf("(%s)number(pick[%d])", t, a);
      if (f->kind[a] == 'f') printf("NULL");
    }
    printf(");\n}\n");
  }
  printf("static const call calls[] = {\n");
  for (int k = 0; k < count; k++)
    printf("    {\"%s\", \"%s\", %d, call_%d},\n", list[k].name, list[k].kind, list[k].args, k);
  printf("};\n");
  return count > 200 ? 0 : 1;
}
