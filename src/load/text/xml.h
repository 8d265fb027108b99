/* XML files as a tree that remembers where everything stands. Read with expat; documents with a DTD (and so
   with entities of their own) are refused; depth, size and the number of nodes are bounded. */
#pragma once

#include "base/hoard.h"
#include "knuckle/load.h"
#include "knuckle/mesh.h"

/* Where the loaders get their files from: the disk, or the caller (kn_load_settings.files). */
/* `files` may be NULL, or have no `read`: the disk. */
/* Whole file in pool memory, zero-terminated. */
kn_status kn_files_read(char** bytes, size_t* size, kn_hoard* pool, const char* path, const kn_files* files);
bool kn_files_have(const char* path, const kn_files* files);
kn_status kn_files_mesh(kn_mesh_data* out, const char* path, const kn_files* files);
/* Are two paths the same file? On the disk also when links lead there. */
bool kn_files_same(const char* a, const char* b, const kn_files* files);

#define KN_XML_MAX_DEPTH 500
#define KN_XML_MAX_BYTES ((size_t)256 << 20) /* of one file */
#define KN_XML_MAX_POOL  ((size_t)2 << 30)   /* of everything read */
#define KN_XML_MAX_FILES 256

typedef struct kn_xml_attr {
  const char *name, *value;
  const char* file;
  int line, column;
} kn_xml_attr;

typedef struct kn_xml_node {
  const char* name;
  const char* file;
  int line, column;
  int nattr;
  kn_xml_attr* attr;
  struct kn_xml_node *parent, *child, *last, *next;
} kn_xml_node;

/* Parses text; `file` names it in messages and must outlive the tree (as pool memory does). */
kn_status kn_xml_parse(kn_xml_node** root, kn_hoard* pool, const char* file, const char* text, size_t size);
/* Reads and parses a file. */
kn_status kn_xml_read(kn_xml_node** root, kn_hoard* pool, const char* path, const kn_files* files);
/* Replaces every <include file="…"/> by the children of that file's root. Paths are relative to `folder` (the
   folder of the main file). A file may be included once. */
kn_status kn_xml_include(kn_xml_node* root, kn_hoard* pool, const char* folder, const kn_files* files);

/* "folder/name", or name alone when it is absolute or folder is empty. NULL: no memory. */
char* kn_path_join(kn_hoard* pool, const char* folder, const char* name);
/* Folder of a path without the last slash; "" when there is none. */
char* kn_path_folder(kn_hoard* pool, const char* path);

bool kn_xml_is(const kn_xml_node* node, const char* name);                 /* its tag */
const kn_xml_attr* kn_xml_find(const kn_xml_node* node, const char* name); /* NULL: none */
const char* kn_xml_value(const kn_xml_node* node, const char* name);       /* NULL: none */
kn_xml_node* kn_xml_child(const kn_xml_node* node, const char* name);      /* first child so named */

#define KN_XML_NO_MEMORY(at)                                                                                 \
  kn_fail(KN_OUT_OF_MEMORY, "%s:%d: no memory", (at)->file, (at)->line) /* a node or attribute */
/* Errors: "file:line:column: message", status KN_BAD_FILE (or the given one). */
kn_status kn_xml_fail(const kn_xml_node* node, const char* format, ...) __attribute__((format(printf, 2, 3)));
kn_status kn_xml_fail_at(const kn_xml_attr* attr, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the element added to the spec came from it; a failure to add (the last error) is told there, what already has a place stays. */
kn_status kn_xml_added(kn_status status, kn_spec* spec, const kn_xml_node* node);
