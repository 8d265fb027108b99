/* One value of a study put in the place of another, before it is read: what a sweep changes from case to case.
   Called by study.c for every change. The field is a path of keys and, in lists, of numbers that count from 0:

     dt      materials.0.friction      initial.q.elbow      initial.v.base.2      controller."left.knee".kp

   Maps that are missing on the way are made; elements of lists must be there. A field that the study does not
   know is refused where the study is read, with the place of the change. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/study/parts.h"

/* The next key of a path into word; moves *path behind it and its dot. False: none, or a quote that is open. */
static bool next_key(char** word, kn_hoard* pool, const char** path) {
  const char* p = *path;
  bool quoted = *p == '"';
  size_t n = quoted ? strcspn(++p, "\"") : strcspn(p, ".");
  *word = n ? kn_hoard_text(pool, p, n) : NULL;
  if (!*word || (quoted && p[n] != '"')) return false;
  p += n + quoted;
  if (*p && (*p != '.' || !p[1])) return false;
  *path = p + (*p == '.');
  return true;
}

static kn_yaml* add(kn_study_own* x, kn_yaml* up, const kn_xml_attr* at, char* name) {
  kn_yaml* n = kn_hoard_take(&x->pool, sizeof *n);
  if (!n) return NULL;
  n->at = n->key = *at;
  n->at.name = n->key.name = name;
  n->at.value = "";
  if (up->last)
    up->last = up->last->next = n;
  else
    up->child = up->last = n;
  return n;
}

static kn_status element(kn_yaml** out, const kn_yaml* list, const char* word, const kn_xml_attr* at) {
  char* end;
  long k = strtol(word, &end, 10);
  kn_yaml* n = list->child;
  int count = 0;
  for (const kn_yaml* c = list->child; c; c = c->next) count++;
  if (*end || k < 0 || k >= count)
    return kn_xml_fail_at(at, "\"%.40s\" is no element of \"%.40s\", expected a number from 0 to %d", word,
                          list->at.name, count - 1);
  while (k-- > 0) n = n->next;
  *out = n;
  return KN_OK;
}

kn_status kn_study_change(kn_study_own* x, kn_yaml* root, const kn_study_edit* edit) {
  kn_xml_attr at = {.name = "", .value = "", .file = x->s.path, .line = edit->line, .column = edit->column};
  const char* path = edit->field;
  kn_yaml* n = root;
  if (!root) return KN_OK; /* an empty file: refused by its reader */
  while (*path) {
    char* word;
    if (!next_key(&word, &x->pool, &path))
      return kn_xml_fail_at(&at, "\"%.80s\" is no field, expected keys with dots between: initial.q.elbow",
                            edit->field);
    if (n->kind == KN_YAML_LIST) {
      KN_TRY(element(&n, n, word, &at));
      continue;
    }
    if (n->kind == KN_YAML_SCALAR && n->at.value[0])
      return kn_xml_fail_at(&at, "\"%.80s\": \"%.40s\" is a value, nothing is below it", edit->field,
                            n->at.name);
    n->kind = KN_YAML_MAP;
    kn_yaml* down = kn_yaml_get(n, word);
    if (!down) down = add(x, n, &at, word);
    if (!down) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", x->s.path);
    n = down;
  }
  if (n == root || (n->kind != KN_YAML_SCALAR && n->child))
    return kn_xml_fail_at(&at, "\"%.80s\" holds several values, expected the field of one", edit->field);
  n->kind = KN_YAML_SCALAR;
  n->at.value = kn_hoard_text(&x->pool, edit->value, strlen(edit->value));
  n->at.line = edit->line, n->at.column = edit->column;
  return n->at.value ? KN_OK : kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", x->s.path);
}
