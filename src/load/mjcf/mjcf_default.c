/* Default classes and the attributes they lend. A class is a list of elements; an attribute comes from the
   element itself, else from the last element of the same tag in its class, else from the class above. */
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"

static kn_mj_class* class_named(const kn_mj_document* d, const char* name) {
  for (int i = 0; i < d->nclass; i++)
    if (strcmp(d->class[i] -> name, name) == 0) return d->class[i];
  return NULL;
}

static kn_status add_class(kn_mj_class** out, kn_mj_loader* l, kn_mj_document* d, const char* name,
                           kn_mj_class* parent, const kn_xml_node* node) {
  kn_mj_class* c = kn_hoard_take(l->pool, sizeof *c);
  if (!c || !KN_GROW(l->pool, d->class, d->nclass, d->class_capacity)) return KN_XML_NO_MEMORY(node);
  c->name = name;
  c->parent = parent;
  d->class[d->nclass++] = c;
  *out = c;
  return KN_OK;
}

static kn_status read_class(kn_mj_loader* l, kn_mj_document* d, kn_mj_class* c, const kn_xml_node* node) {
  for (const kn_xml_node* k = node->child; k; k = k->next) {
    if (strcmp(k->name, "default") != 0) {
      if (!KN_GROW(l->pool, c->element, c->count, c->capacity)) return KN_XML_NO_MEMORY(k);
      c->element[c->count++] = k;
      continue;
    }
    const kn_xml_attr* name = kn_xml_find(k, "class");
    if (!name || !name->value[0])
      return kn_xml_fail(k, "nested <default> without a name, expected class=\"…\"");
    kn_mj_class* sub = class_named(d, name->value);
    if (sub && sub->parent != c)
      return kn_xml_fail_at(name, "default class \"%s\" is defined twice, expected a new name", name->value);
    if (!sub) KN_TRY(add_class(&sub, l, d, name->value, c, k));
    KN_TRY(read_class(l, d, sub, k));
  }
  return KN_OK;
}

kn_status kn_mj_defaults_read(kn_mj_loader* l, kn_mj_document* d) {
  KN_TRY(add_class(&d->main, l, d, "main", NULL, d->root));
  for (const kn_xml_node* k = d->root->child; k; k = k->next) {
    if (!kn_xml_is(k, "default")) continue;
    const kn_xml_attr* name = kn_xml_find(k, "class");
    kn_mj_class* c = d->main;
    if (name && strcmp(name->value, "main") != 0) {
      if (!name->value[0]) return kn_xml_fail_at(name, "empty class name, expected a word");
      c = class_named(d, name->value);
      if (c && c != d->main && c->parent != d->main)
        return kn_xml_fail_at(name, "default class \"%s\" is defined twice, expected a new name",
                              name->value);
      if (!c) KN_TRY(add_class(&c, l, d, name->value, d->main, k));
    }
    KN_TRY(read_class(l, d, c, k));
  }
  return KN_OK;
}

kn_status kn_mj_class_find(const kn_mj_class** out, const kn_mj_document* d, const kn_xml_attr* attr) {
  *out = class_named(d, attr->value);
  if (*out) return KN_OK;
  const char* best = NULL;
  int near = -1;
  for (int i = 0; i < d->nclass; i++) {
    int m = kn_value_near(attr->value, d->class[i] -> name);
    if (m >= 0 && (near < 0 || m < near)) near = m, best = d->class[i]->name;
  }
  if (best)
    return kn_xml_fail_at(attr, "unknown default class \"%.60s\", did you mean \"%.60s\"?", attr->value,
                          best);
  return kn_xml_fail_at(attr, "unknown default class \"%.60s\", expected a class of a <default> element",
                        attr->value);
}

kn_status kn_mj_element_open(kn_mj_element* e, const kn_mj_scope* scope, const kn_xml_node* node,
                             const char* tag) {
  const kn_xml_attr* class = kn_xml_find(node, "class");
  *e = (kn_mj_element){.node = node, .document = scope->document, .tag = tag};
  e->class = scope->childclass ? scope->childclass : scope->document->main;
  return class ? kn_mj_class_find(&e->class, scope->document, class) : KN_OK;
}

/* Actuators of every kind share their common defaults. */
bool kn_mj_is_actuator(const char* tag) {
  static const char* const tags[] = {"general",     "motor",       "position", "velocity",
                                     "intvelocity", "orientation", "pid",      "damper",
                                     "cylinder",    "muscle",      "adhesion", "dcmotor"};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
    if (strcmp(tag, tags[i]) == 0) return true;
  return false;
}

const kn_xml_attr* kn_mj_attr(const kn_mj_element* e, const char* name) {
  const kn_xml_attr* a = kn_xml_find(e->node, name);
  bool actuator = e->tag && strcmp(e->tag, "actuator") == 0;
  for (const kn_mj_class* c = e->tag ? e->class : NULL; !a && c; c = c->parent)
    for (int i = c->count - 1; !a && i >= 0; i--) {
      const char* tag = c->element[i]->name;
      if (actuator ? kn_mj_is_actuator(tag) : strcmp(tag, e->tag) == 0) a = kn_xml_find(c->element[i], name);
    }
  return a;
}

kn_status kn_mj_reals(double* out, int* count, const kn_mj_element* e, const char* name, int least,
                      int most) {
  return kn_value_reals(out, count, kn_mj_attr(e, name), least, most);
}

kn_status kn_mj_real(double* out, const kn_mj_element* e, const char* name) {
  return kn_mj_reals(out, NULL, e, name, 1, 1);
}

kn_status kn_mj_int(int* out, const kn_mj_element* e, const char* name) {
  return kn_value_ints(out, NULL, kn_mj_attr(e, name), 1, 1);
}

kn_status kn_mj_bool(bool* out, const kn_mj_element* e, const char* name) {
  return kn_value_bool(out, kn_mj_attr(e, name));
}

kn_status kn_mj_keyword(int* out, const kn_mj_element* e, const char* name, const char* list) {
  return kn_value_keyword(out, kn_mj_attr(e, name), list);
}

kn_status kn_mj_limited(bool* out, const kn_mj_element* e, const char* limited, const char* range) {
  const kn_xml_attr *a = kn_mj_attr(e, limited), *r = kn_mj_attr(e, range);
  double v[2] = {0, 0};
  int choice = 2;
  KN_TRY(kn_value_keyword(&choice, a, "false|true|auto"));
  KN_TRY(kn_value_reals(v, NULL, r, 2, 2));
  bool given = v[0] != 0.0 || v[1] != 0.0;
  if (choice == 2 && given && !e->document->compiler.autolimits)
    return kn_xml_fail_at(
        r, "\"%s\" is given but \"%s\" is not, and autolimits is false; add %s=\"true\" or \"false\"", range,
        limited, limited);
  *out = choice == 1 || (choice == 2 && given);
  if (!*out || v[0] < v[1]) return KN_OK;
  if (!r)
    return kn_xml_fail_at(a, "\"%s\" is true but there is no \"%s\", expected two numbers", limited, range);
  return kn_xml_fail_at(r, "range from %g to %g is empty, expected the first number smaller than the second",
                        v[0], v[1]);
}

kn_status kn_mj_name(const char** out, kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node) {
  const char *name = kn_xml_value(node, "name"), *prefix = scope->document->prefix, *suffix = scope->suffix;
  *out = name && name[0] ? name : NULL;
  if (!*out || (!prefix[0] && !suffix[0])) return KN_OK;
  *out = kn_hoard_format(l->pool, "%s%s%s", prefix, name, suffix);
  return *out ? KN_OK : KN_XML_NO_MEMORY(node);
}

const char* kn_mj_prefixed(kn_mj_loader* l, const kn_mj_document* d, const char* name) {
  return d->prefix[0] ? kn_hoard_format(l->pool, "%s%s", d->prefix, name) : name;
}
