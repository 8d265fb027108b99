/* Notes of a load (what was read, ignored, approximated) with file, line and column (schema.h). */
#include "load/text/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static kn_status add(kn_load_report* r, kn_note_kind kind, const char* file, int line, int column,
                     const char* format, va_list args) {
  char text[400];
  vsnprintf(text, sizeof text, format, args);
  if (kind == KN_NOTE_UNSUPPORTED && r->strict)
    return kn_fail_at(KN_UNSUPPORTED, file, line, column, "%s (an error because of strict)", text);
  if (!KN_GROW(&r->pool, r->note, r->nnote, r->note_capacity))
    return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", file);
  kn_note* n = &r->note[r->nnote];
  n->kind = kind;
  n->where = kn_hoard_format(&r->pool, "%s:%d:%d", file, line, column);
  n->what = kn_hoard_text(&r->pool, text, strlen(text));
  if (!n->where || !n->what) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", file);
  r->nnote++;
  return KN_OK;
}

kn_status kn_note_node(kn_load_report* report, kn_note_kind kind, const kn_xml_node* node, const char* format,
                       ...) {
  va_list args;
  va_start(args, format);
  kn_status status = add(report, kind, node->file, node->line, node->column, format, args);
  va_end(args);
  return status;
}

kn_status kn_note_attr(kn_load_report* report, kn_note_kind kind, const kn_xml_attr* attr, const char* format,
                       ...) {
  va_list args;
  va_start(args, format);
  kn_status status = add(report, kind, attr->file, attr->line, attr->column, format, args);
  va_end(args);
  return status;
}

static const char* keep(kn_hoard* pool, const char* text) {
  return kn_hoard_text(pool, text ? text : "", text ? strlen(text) : 0);
}

kn_status kn_note_visual(kn_load_report* report, const kn_visual* visual) {
  if (!KN_GROW(&report->pool, report->visual, report->nvisual, report->visual_capacity))
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for visuals");
  kn_visual* v = &report->visual[report->nvisual];
  *v = *visual;
  v->name = keep(&report->pool, visual->name);
  v->mesh_file = keep(&report->pool, visual->mesh_file);
  v->material = keep(&report->pool, visual->material);
  v->texture = keep(&report->pool, visual->texture);
  if (!v->name || !v->mesh_file || !v->material || !v->texture)
    return kn_fail(KN_OUT_OF_MEMORY, "no memory for visuals");
  report->nvisual++;
  return KN_OK;
}

int kn_load_notes(const kn_load_report* report) { return report ? report->nnote : 0; }

const kn_note* kn_load_note(const kn_load_report* report, int i) {
  return report && i >= 0 && i < report->nnote ? &report->note[i] : NULL;
}

int kn_load_visuals(const kn_load_report* report) { return report ? report->nvisual : 0; }

const kn_visual* kn_load_visual(const kn_load_report* report, int i) {
  return report && i >= 0 && i < report->nvisual ? &report->visual[i] : NULL;
}

double kn_load_timestep(const kn_load_report* report) { return report ? report->timestep : 0.0; }

const char* kn_load_format(const kn_load_report* report) {
  return report && report->format ? report->format : "";
}

void kn_load_report_free(kn_load_report* report) {
  if (!report) return;
  kn_hoard_free(&report->pool);
  free(report);
}
