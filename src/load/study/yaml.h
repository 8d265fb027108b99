/* YAML as a small tree with positions; anchors, aliases and tags are refused. */
#pragma once

#include "load/text/value.h"

typedef enum kn_yaml_kind { KN_YAML_SCALAR, KN_YAML_MAP, KN_YAML_LIST } kn_yaml_kind;

typedef struct kn_yaml {
  kn_yaml_kind kind;
  kn_xml_attr at;  /* name: its key ("" in a list), value: text of a scalar; place of the value */
  kn_xml_attr key; /* place of the key */
  struct kn_yaml *child, *last, *next;
} kn_yaml;

kn_status kn_yaml_parse(kn_yaml** root, kn_hoard* pool, const char* file, const char* text, size_t size);
kn_yaml* kn_yaml_get(const kn_yaml* map, const char* key); /* NULL: none */
