/* generate OUT FILE…: copies engine files into OUT/LAYER/…/NAME with the mutants of mutants.def planted. A text that is
   not found exactly once is left out and said so; the test fails then, because nobody notices such a mutant. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mutant {
  int number;
  const char *file, *text, *instead;
} mutant;

static const mutant mutants[] = {
#define MUTANT(number, file, text, instead, runs, notices) {number, file, text, instead},
#include "mutants.def"
#undef MUTANT
};

static char* read_all(const char* path) {
  FILE* in = fopen(path, "rb");
  char* text = NULL;
  size_t n = 0, room = 0, got = 1;
  while (in && got) {
    if (room - n < 65536) text = realloc(text, room += 1 << 17);
    got = fread(text + n, 1, 65536, in);
    n += got;
  }
  if (!in) return NULL;
  fclose(in);
  text[n] = 0;
  return text;
}

/* "…/src/step/time/time.c" is the file "step/time/time.c" of the list, whatever room it is in. */
static int is_file(const char* path, const char* file) {
  const char *src = strstr(path, "/src/"), *last = strrchr(path, '/'), *slash = strchr(file, '/');
  while (src && strstr(src + 1, "/src/")) src = strstr(src + 1, "/src/");
  if (!src || !last || !slash || strcmp(last, slash) != 0) return 0;
  return strncmp(src + 5, file, (size_t)(slash - file) + 1) == 0;
}

static char* planted(char* text, const mutant* m) {
  char *at = strstr(text, m->text), *more = at ? strstr(at + 1, m->text) : NULL;
  if (!at || more) {
    fprintf(stderr, "mutant %d: its text occurs %s in %s: %s\n", m->number, at ? "more than once" : "nowhere",
            m->file, m->text);
    return text; /* the test then finds a mutant that nobody notices */
  }
  size_t before = (size_t)(at - text), old = strlen(m->text), fresh = strlen(m->instead), all = strlen(text);
  char* out = malloc(all + fresh + 1);
  memcpy(out, text, before);
  memcpy(out + before, m->instead, fresh);
  memcpy(out + before + fresh, at + old, all - before - old + 1);
  free(text);
  return out;
}

int main(int argc, char** argv) {
  for (int i = 2; i < argc; i++) {
    char path[4096], *text = read_all(argv[i]), *name = strrchr(argv[i], '/');
    const char* layer = NULL;
    if (!text || !name) return fprintf(stderr, "%s: cannot be read\n", argv[i]), 1;
    for (size_t k = 0; k < sizeof mutants / sizeof *mutants; k++)
      if (is_file(argv[i], mutants[k].file)) text = planted(text, &mutants[k]), layer = mutants[k].file;
    if (!layer) return fprintf(stderr, "%s: there is no mutant for it\n", argv[i]), 1;
    const char* below = strstr(argv[i], "/src/") + 5;
    while (strstr(below, "/src/")) below = strstr(below, "/src/") + 5;
    snprintf(path, sizeof path, "%s/%s", argv[1], below);
    FILE* out = fopen(path, "wb");
    if (!out) return fprintf(stderr, "%s: cannot be written\n", path), 1;
    fprintf(out, "extern int kn_mutant;\n#undef M\n#define M(n) (kn_mutant == (n))\n#line 1 \"%s\"\n%s",
            argv[i], text);
    if (fclose(out) != 0) return 1;
    free(text);
  }
  return 0;
}
