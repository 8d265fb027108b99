/* docs/scenes.md from the list of scenes. */
#include <string.h>

#include "picture.h"

/* A parameter whose values have names. */
static void words(FILE* f, const kn_scene_param* p, const char* names) {
  const char* w = names;
  for (int i = 0; i < (int)p->value; i++) w = strchr(w, '|') + 1;
  fprintf(f, "| `%s` | %.*s | ", p->name, (int)strcspn(w, "|"), w);
  for (w = names; *w; w += strcspn(w, "|"), w += *w == '|')
    fprintf(f, "%s%.*s", w == names ? "" : ", ", (int)strcspn(w, "|"), w);
  fprintf(f, " | %s |\n", p->doc);
}

static void parameters(FILE* f, const kn_scene* s) {
  if (!kn_scene_params(s)) return;
  fprintf(f, "\n| parameter | default | range | |\n|---|---|---|---|\n");
  for (int i = 0; i < kn_scene_params(s); i++) {
    const kn_scene_param* p = &s->param[i];
    const char* names = kn_scene_param_words(s, i);
    if (names) {
      words(f, p, names);
      continue;
    }
    fprintf(f, "| `%s` | %g | %g … %g%s | %s |\n", p->name, p->value, p->lo, p->hi, p->whole ? ", whole" : "",
            p->doc);
  }
}

void kn_scenes_page(FILE* f) {
  fprintf(
      f,
      "# Scenes\n\nWritten from the list of scenes by `make docs` (`build/gallery docs`), pictures included. "
      "Run one with\n"
      "`knuckle run NAME`, parameters as `--set name=value`; add one by a builder in `scenes/` and a row in\n"
      "`scenes/registry.c`.\n");
  for (const kn_scene* const* s = kn_scenes(); *s; s++) {
    fprintf(f, "\n## %s\n\n![%s](pictures/scenes/%s.svg)\n\n%s. Step %g s, %g s.\n", (*s)->name, (*s)->name,
            (*s)->name, (*s)->purpose, (*s)->dt, (*s)->duration);
    if ((*s)->watch) fprintf(f, "\nLook for: %s.\n", (*s)->watch);
    if (*(*s)->citation) fprintf(f, "\nReference: %s.\n", (*s)->citation);
    if ((*s)->dimensions) fprintf(f, "\nDimensions: %s.\n", (*s)->dimensions);
    parameters(f, *s);
  }
}
