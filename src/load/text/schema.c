/* Checking a document against its schema: unknown elements and attributes are errors with the nearest known name,
   known ones without effect are noted (schema.h). */
#include "load/text/schema.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/text/value.h"

static const kn_schema_row* find_row(const kn_schema* schema, const char* kind, const char* name) {
  for (int i = 0; i < schema->rows; i++)
    if (strcmp(schema->row[i].parent, kind) == 0 && strcmp(schema->row[i].name, name) == 0)
      return &schema->row[i];
  return NULL;
}

/* The rest "type mark" of an attribute in a row, or NULL. */
static const char* find_attribute(const char* attributes, const char* name) {
  size_t n = strlen(name);
  for (const char* p = attributes; *p;) {
    size_t m = strcspn(p, ":");
    if (m == n && strncmp(p, name, n) == 0) return p + m + 1;
    p += strcspn(p, " ");
    p += strspn(p, " ");
  }
  return NULL;
}

static kn_status unknown_attribute(const kn_schema_row* row, const kn_xml_node* node,
                                   const kn_xml_attr* attr) {
  char best[64] = "", name[64];
  int near = -1;
  for (const char* p = row->attributes; *p;) {
    size_t m = strcspn(p, ":");
    snprintf(name, sizeof name, "%.*s", (int)(m < 60 ? m : 60), p);
    int d = kn_value_near(attr->name, name);
    if (d >= 0 && (near < 0 || d < near)) near = d, memcpy(best, name, sizeof best);
    p += strcspn(p, " ");
    p += strspn(p, " ");
  }
  if (near >= 0)
    return kn_xml_fail_at(attr, "unknown attribute \"%.40s\" of <%.40s>, did you mean \"%s\"?", attr->name,
                          node->name, best);
  char list[240];
  size_t used = 0;
  list[0] = 0;
  for (const char* p = row->attributes; *p && used + 40 < sizeof list;) {
    size_t m = strcspn(p, ":");
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "", (int)m, p);
    p += strcspn(p, " ");
    p += strspn(p, " ");
    if (*p && used + 40 >= sizeof list) snprintf(list + used, sizeof list - used, ", …");
  }
  if (!list[0])
    return kn_xml_fail_at(attr, "unknown attribute \"%.40s\": <%.40s> has none", attr->name, node->name);
  return kn_xml_fail_at(attr, "unknown attribute \"%.40s\" of <%.40s>, expected one of: %s", attr->name,
                        node->name, list);
}

/* Type grammar: see the header. Returns the mark through *mark. */
static kn_status check_value(const kn_xml_attr* attr, const char* type, char* mark) {
  const char* end;
  kn_status status = KN_OK;
  if (*type == '{') {
    end = strchr(type, '}');
    char list[400];
    snprintf(list, sizeof list, "%.*s", (int)(end - type - 1), type + 1);
    int k;
    status = kn_value_keyword(&k, attr, list);
    end++;
  } else if (*type == 's') {
    end = type + 1;
  } else if (*type == 'b') {
    int k;
    status = kn_value_keyword(&k, attr, "false|true");
    end = type + 1;
  } else { /* r or i */
    char* rest;
    int least = 1, most = INT_MAX;
    if (type[1] == '*') {
      end = type + 2;
    } else {
      least = most = (int)strtol(type + 1, &rest, 10);
      if (*rest == '-' && rest[1] >= '0' && rest[1] <= '9') most = (int)strtol(rest + 1, &rest, 10);
      end = rest;
    }
    status = kn_value_check(attr, *type, least, most);
  }
  *mark = *end;
  return status;
}

static bool idle_value(const char* value) {
  if (!strcmp(value, "false") || !strcmp(value, "none") || !strcmp(value, "")) return true;
  return value[strspn(value, "0. \t\n\r-+")] == 0;
}

static kn_status check_attributes(const kn_schema_row* row, const kn_xml_node* node, const kn_schema* schema,
                                  kn_load_report* report, int* soft) {
  for (int i = 0; i < node->nattr; i++) {
    const kn_xml_attr* a = &node->attr[i];
    const char* type = find_attribute(row->attributes, a->name);
    if (!type && (schema->lenient || strchr(a->name, ':'))) {
      if (strncmp(a->name, "xmlns", 5) != 0)
        KN_TRY(kn_note_attr(report, KN_NOTE_INFO, a,
                            "attribute \"%.40s\" of <%.40s> is not part of %s and is set aside", a->name,
                            node->name, schema->format));
      continue;
    }
    if (!type) return unknown_attribute(row, node, a);
    char mark;
    KN_TRY(check_value(a, type, &mark));
    if (mark == '~') ++*soft;
    if (mark == '!' && !idle_value(a->value))
      KN_TRY(kn_note_attr(report, KN_NOTE_UNSUPPORTED, a,
                          "%s=\"%.60s\" of <%s> is not supported and has no effect", a->name, a->value,
                          node->name));
  }
  return KN_OK;
}

static kn_status unknown_element(const kn_schema* schema, const kn_xml_node* node, const char* kind) {
  const char *best = NULL, *home = NULL;
  int near = -1;
  for (int i = 0; i < schema->rows; i++) {
    const kn_schema_row* r = &schema->row[i];
    if (strcmp(r->parent, kind) == 0) {
      int d = kn_value_near(node->name, r->name);
      if (d >= 0 && (near < 0 || d < near)) near = d, best = r->name;
    }
    if (!home && strcmp(r->name, node->name) == 0) home = r->parent;
  }
  const char* parent = node->parent ? node->parent->name : "the file";
  if (home && *home)
    return kn_xml_fail(node, "<%.40s> cannot stand in <%.40s>, it belongs in <%s>", node->name, parent, home);
  if (best)
    return kn_xml_fail(node, "unknown element <%.40s> in <%.40s>, did you mean <%s>?", node->name, parent,
                       best);
  char list[240];
  size_t used = 0;
  list[0] = 0;
  for (int i = 0; i < schema->rows && used + 24 < sizeof list; i++)
    if (strcmp(schema->row[i].parent, kind) == 0)
      used +=
          (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", schema->row[i].name);
  if (!list[0])
    return kn_xml_fail(node, "unknown element <%.40s>: <%.40s> has no children", node->name, parent);
  return kn_xml_fail(node, "unknown element <%.40s> in <%.40s>, expected one of: %s", node->name, parent,
                     list);
}

kn_status kn_schema_check(const kn_schema* schema, const kn_xml_node* node, const char* kind,
                          kn_load_report* report, int* soft) {
  const kn_schema_row* row = find_row(schema, kind, node->name);
  if (!row && schema->lenient)
    return kn_note_node(report, KN_NOTE_INFO, node, "<%.40s> is not part of %s and is set aside", node->name,
                        schema->format);
  if (!row) return unknown_element(schema, node, kind);
  if (row->use == '!')
    return kn_note_node(report, KN_NOTE_UNSUPPORTED, node, "<%s> is not supported and was left out%s",
                        node->name, row->attributes);
  if (row->use == '.') return KN_OK; /* anything may stand here */
  KN_TRY(check_attributes(row, node, schema, report, soft));
  for (const kn_xml_node* c = node->child; c; c = c->next)
    KN_TRY(kn_schema_check(schema, c, row->kind, report, soft));
  return KN_OK;
}
