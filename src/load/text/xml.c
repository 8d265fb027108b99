/* XML by expat into a tree in a pool (xml.h): positions of elements and attributes kept, DTDs refused, depth and
   size limited. */
#include "load/text/xml.h"

#include <errno.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/foreign.h"
#include "model/spec.h"

typedef struct reader {
  XML_Parser parser;
  kn_hoard* pool;
  const char* file;
  const char* text;
  size_t size;
  bool utf8; /* raw bytes can be scanned for attribute positions */
  int depth;
  kn_xml_node *root, *top;
  kn_status status;
  int line, column; /* of the failure */
  char message[400];
} reader;

static void stop(reader* r, int line, int column, const char* message) {
  if (r->status != KN_OK) return;
  r->status = KN_BAD_FILE;
  r->line = line, r->column = column;
  snprintf(r->message, sizeof r->message, "%s", message);
  XML_StopParser(r->parser, XML_FALSE);
}

static void stop_here(reader* r, const char* message) {
  stop(r, (int)XML_GetCurrentLineNumber(r->parser), (int)XML_GetCurrentColumnNumber(r->parser) + 1, message);
}

static void out_of_memory(reader* r) {
  stop_here(r, "the file needs more memory than is allowed");
  if (r->status == KN_BAD_FILE) r->status = KN_OUT_OF_MEMORY;
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Walks the raw start tag (known to be well formed) and notes where each attribute's name begins. */
static void locate(reader* r, kn_xml_node* node) {
  long long at = XML_GetCurrentByteIndex(r->parser);
  if (!r->utf8 || at < 0) return;
  const char *p = r->text + at, *end = r->text + r->size;
  int line = node->line, column = node->column;
  char quote = 0;
  int k = 0;
  bool in_name = true; /* the tag's own name first */
  for (; p < end && k < node->nattr; p++) {
    char c = *p;
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_name = false;
    } else if (c == '=') {
      in_name = true; /* what follows is a value */
    } else if (c == '>') {
      break;
    } else if (blank(c)) {
      if (k == 0) in_name = false;
    } else if (!in_name) {
      node->attr[k].line = line;
      node->attr[k++].column = column;
      in_name = true;
    }
    if (c == '\n')
      line++, column = 1;
    else if (((unsigned char)c & 0xC0) != 0x80)
      column++;
  }
}

/* A line break or tabulator in a name (written &#10; plain ones are blanks already) would forge lines of what is printed. */
static void check_names(reader* r, const kn_xml_node* node) {
  for (int i = 0; i < node->nattr; i++)
    if (strcmp(node->attr[i].name, "name") == 0 && strpbrk(node->attr[i].value, "\n\r\t"))
      stop(r, node->attr[i].line, node->attr[i].column,
           "the name holds a line break or tabulator, expected a name on one line");
}

static void XMLCALL on_start(void* context, const XML_Char* name, const XML_Char** atts) {
  reader* r = context;
  if (r->status != KN_OK) return;
  if (++r->depth > KN_XML_MAX_DEPTH) {
    stop_here(r, "elements are nested deeper than 500; expected a shallower file");
    return;
  }
  kn_xml_node* node = kn_hoard_take(r->pool, sizeof *node);
  int n = 0;
  KN_TEXT_FROM_ELSEWHERE(name);
  for (KN_WRITTEN_ELSEWHERE(atts, sizeof *atts); atts[2 * n]; n++) {
    KN_WRITTEN_ELSEWHERE(atts + 2 * n + 1, 2 * sizeof *atts);
    KN_TEXT_FROM_ELSEWHERE(atts[2 * n]), KN_TEXT_FROM_ELSEWHERE(atts[2 * n + 1]);
  }
  kn_xml_attr* attr = node ? kn_hoard_take(r->pool, (size_t)n * sizeof *attr + 1) : NULL;
  if (!attr) {
    out_of_memory(r);
    return;
  }
  node->name = kn_hoard_text(r->pool, name, strlen(name));
  node->file = r->file;
  node->line = (int)XML_GetCurrentLineNumber(r->parser);
  node->column = (int)XML_GetCurrentColumnNumber(r->parser) + 1;
  node->attr = attr;
  node->nattr = n;
  bool ok = node->name != NULL;
  for (int i = 0; i < n; i++) {
    attr[i] = (kn_xml_attr){.name = kn_hoard_text(r->pool, atts[2 * i], strlen(atts[2 * i])),
                            .value = kn_hoard_text(r->pool, atts[2 * i + 1], strlen(atts[2 * i + 1])),
                            .file = r->file,
                            .line = node->line,
                            .column = node->column};
    ok = ok && attr[i].name && attr[i].value;
  }
  if (!ok) {
    out_of_memory(r);
    return;
  }
  locate(r, node);
  check_names(r, node);
  node->parent = r->top;
  if (!r->top) {
    r->root = node;
  } else if (r->top->last) {
    r->top->last = r->top->last->next = node;
  } else {
    r->top->child = r->top->last = node;
  }
  r->top = node;
}

static void XMLCALL on_end(void* context, const XML_Char* name) {
  reader* r = context;
  (void)name;
  if (r->status != KN_OK) return;
  r->depth--;
  r->top = r->top->parent;
}

static void XMLCALL on_doctype(void* context, const XML_Char* name, const XML_Char* system,
                               const XML_Char* public, int internal) {
  reader* r = context;
  int line = 1, column = 1;
  (void)name, (void)system, (void)public, (void)internal;
  for (size_t i = 0; i + 9 < r->size && memcmp(r->text + i, "<!DOCTYPE", 9) != 0; i++) {
    if (r->text[i] == '\n')
      line++, column = 1;
    else if (((unsigned char)r->text[i] & 0xC0) != 0x80)
      column++;
  }
  stop(r, line, column,
       "a document type declaration (<!DOCTYPE …>) is not allowed; remove it, entities are not read");
}

static void XMLCALL on_declaration(void* context, const XML_Char* version, const XML_Char* encoding,
                                   int standalone) {
  reader* r = context;
  (void)version, (void)standalone;
  if (encoding && strncmp(encoding, "UTF-16", 6) == 0) r->utf8 = false;
}

static kn_status expat_error(reader* r) {
  if (r->status != KN_OK) return kn_fail_at(r->status, r->file, r->line, r->column, "%s", r->message);
  enum XML_Error code = XML_GetErrorCode(r->parser);
  int line = (int)XML_GetCurrentLineNumber(r->parser),
      column = (int)XML_GetCurrentColumnNumber(r->parser) + 1;
  if (code == XML_ERROR_NO_MEMORY)
    return kn_fail(KN_OUT_OF_MEMORY, "%s: reading needs too much memory", r->file);
  if (code == XML_ERROR_TAG_MISMATCH && r->top)
    return kn_fail_at(KN_BAD_FILE, r->file, line, column,
                      "mismatched closing tag, expected </%s> for the element opened at line %d",
                      r->top->name, r->top->line);
  if (code == XML_ERROR_NO_ELEMENTS && r->top)
    return kn_fail_at(KN_BAD_FILE, r->file, line, column,
                      "the file ends inside <%s> opened at line %d, expected </%s>", r->top->name,
                      r->top->line, r->top->name);
  return kn_fail_at(KN_BAD_FILE, r->file, line, column,
                    "not well-formed XML (%s), expected a complete XML document", XML_ErrorString(code));
}

kn_status kn_xml_parse(kn_xml_node** root, kn_hoard* pool, const char* file, const char* text, size_t size) {
  *root = NULL;
  if (size > KN_XML_MAX_BYTES) return kn_fail_at(KN_BAD_FILE, file, 1, 1, "the file is larger than 256 MB");
  reader r = {.pool = pool, .file = file, .text = text, .size = size, .utf8 = true};
  r.parser = XML_ParserCreate(NULL);
  if (!r.parser) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory for the XML reader", file);
  if (size >= 2 && ((unsigned char)text[0] == 0xFF || (unsigned char)text[0] == 0xFE)) r.utf8 = false;
  XML_SetUserData(r.parser, &r);
  XML_SetElementHandler(r.parser, on_start, on_end);
  XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
  XML_SetXmlDeclHandler(r.parser, on_declaration);
  enum XML_Status ok = XML_Parse(r.parser, text, (int)size, XML_TRUE);
  kn_status status = KN_OK;
  if (ok != XML_STATUS_OK || r.status != KN_OK) status = expat_error(&r);
  XML_ParserFree(r.parser);
  if (status == KN_OK) *root = r.root;
  return status;
}

kn_status kn_xml_read(kn_xml_node** root, kn_hoard* pool, const char* path, const kn_files* files) {
  char *bytes, *name = kn_hoard_text(pool, path, strlen(path));
  size_t size;
  *root = NULL;
  if (!name) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  KN_TRY(kn_files_read(&bytes, &size, pool, path, files));
  return kn_xml_parse(root, pool, name, bytes, size);
}

char* kn_path_join(kn_hoard* pool, const char* folder, const char* name) {
  size_t n = strlen(folder);
  if (name[0] == '/' || n == 0) return kn_hoard_text(pool, name, strlen(name));
  return kn_hoard_format(pool, folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

char* kn_path_folder(kn_hoard* pool, const char* path) {
  const char* slash = strrchr(path, '/');
  if (!slash) return kn_hoard_text(pool, "", 0);
  return kn_hoard_text(pool, path, slash == path ? 1 : (size_t)(slash - path));
}

/* ---- includes ---- */

typedef struct included {
  kn_hoard* pool;
  const char* folder;
  const kn_files* files;
  const char* file[KN_XML_MAX_FILES]; /* paths */
  int count;
} included;

static kn_status note_file(included* in, const char* path, const kn_xml_attr* at) {
  errno = 0;
  if (at && !kn_files_have(path, in->files))
    return kn_xml_fail_at(
        at, "included file \"%s\" cannot be opened (%s), expected a path relative to the main file", path,
        in->files->read ? "not given"
        : errno         ? strerror(errno)
                        : "not a regular file");
  for (int i = 0; i < in->count; i++)
    if (kn_files_same(in->file[i], path, in->files))
      return kn_xml_fail_at(
          at, "file \"%s\" is included again (a cycle or a repetition); include each file once", path);
  if (in->count == KN_XML_MAX_FILES)
    return kn_xml_fail_at(at, "more than %d included files", KN_XML_MAX_FILES);
  in->file[in->count++] = path;
  return KN_OK;
}

/* The chain of an included file's top-level nodes, or the failure. */
static kn_status read_included(kn_xml_node** first, included* in, const kn_xml_node* node) {
  const kn_xml_attr* at = kn_xml_find(node, "file");
  if (!at || !at->value[0]) return kn_xml_fail(node, "<include> without file, expected file=\"…\"");
  for (int i = 0; i < node->nattr; i++)
    if (strcmp(node->attr[i].name, "file") != 0 && strcmp(node->attr[i].name, "prefix") != 0)
      return kn_xml_fail_at(&node->attr[i], "unknown attribute \"%s\" of <include>, expected file",
                            node->attr[i].name);
  if (node->child)
    return kn_xml_fail(node->child, "<include> cannot have children, expected <include file=\"…\"/>");
  char* path = kn_path_join(in->pool, in->folder, at->value);
  if (!path) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", node->file);
  KN_TRY(note_file(in, path, at));
  kn_xml_node* root;
  KN_TRY(kn_xml_read(&root, in->pool, path, in->files));
  *first = root->child;
  return KN_OK;
}

static int tree_depth(const kn_xml_node* node) {
  int d = 0;
  for (; node; node = node->parent) d++;
  return d;
}

static kn_status expand(included* in, kn_xml_node* node) {
  if (tree_depth(node) > KN_XML_MAX_DEPTH)
    return kn_xml_fail(node, "elements are nested deeper than %d", KN_XML_MAX_DEPTH);
  kn_xml_node** link = &node->child;
  node->last = NULL;
  while (*link) {
    kn_xml_node* c = *link;
    if (strcmp(c->name, "include") == 0) {
      kn_xml_node *first = NULL, *tail = NULL;
      KN_TRY(read_included(&first, in, c));
      for (kn_xml_node* k = first; k; k = k->next) k->parent = node, tail = k;
      *link = first ? first : c->next;
      if (tail) tail->next = c->next;
      continue; /* the inserted nodes are visited next, includes among them too */
    }
    KN_TRY(expand(in, c));
    node->last = c;
    link = &c->next;
  }
  return KN_OK;
}

kn_status kn_xml_include(kn_xml_node* root, kn_hoard* pool, const char* folder, const kn_files* files) {
  included* in = kn_hoard_take(pool, sizeof *in);
  if (!in) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", root->file);
  in->pool = pool;
  in->folder = folder;
  in->files = files;
  KN_TRY(note_file(in, root->file, NULL));
  return expand(in, root);
}

/* ---- access ---- */

bool kn_xml_is(const kn_xml_node* node, const char* name) { return strcmp(node->name, name) == 0; }

const kn_xml_attr* kn_xml_find(const kn_xml_node* node, const char* name) {
  for (int i = 0; i < node->nattr; i++)
    if (strcmp(node->attr[i].name, name) == 0) return &node->attr[i];
  return NULL;
}

const char* kn_xml_value(const kn_xml_node* node, const char* name) {
  const kn_xml_attr* a = kn_xml_find(node, name);
  return a ? a->value : NULL;
}

kn_xml_node* kn_xml_child(const kn_xml_node* node, const char* name) {
  for (kn_xml_node* c = node->child; c; c = c->next)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

static kn_status fail_text(const char* file, int line, int column, const char* format, va_list args) {
  char text[420];
  vsnprintf(text, sizeof text, format, args);
  return kn_fail_at(KN_BAD_FILE, file, line, column, "%s", text);
}

kn_status kn_xml_fail(const kn_xml_node* node, const char* format, ...) {
  va_list args;
  va_start(args, format);
  kn_status status = fail_text(node->file, node->line, node->column, format, args);
  va_end(args);
  return status;
}

kn_status kn_xml_fail_at(const kn_xml_attr* attr, const char* format, ...) {
  va_list args;
  va_start(args, format);
  kn_status status = fail_text(attr->file, attr->line, attr->column, format, args);
  va_end(args);
  return status;
}

kn_status kn_xml_added(kn_status status, kn_spec* spec, const kn_xml_node* node) {
  if (status == KN_OK) return kn_spec_came_from(spec, node->file, node->line, node->column);
  if (status == KN_OUT_OF_MEMORY || status == KN_BAD_FILE || status == KN_UNSUPPORTED) return status;
  return kn_xml_fail(node, "%s", kn_last_error());
}
