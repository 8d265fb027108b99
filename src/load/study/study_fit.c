/* The section `fit` of a study: what is looked for, the trajectories it is to explain, and how errors count.

     fit:
       parameters:
         mu: {field: materials.0.friction, from: 0.05, to: 0.6, start: 0.2}
         inertia: {field: [model.inertial.diaginertia.0, model.inertial.diaginertia.1], from: 1e-4, to: 1e-2, scale: log}
       data:
         - file: tosses.csv
           trajectory: toss
           rate: 148
           q: {cube: [px*0.0524, py*0.0524, pz*0.0524, qw, qx, qy, qz]}
           v: {cube: [vx*0.0524, vy*0.0524, vz*0.0524-0.033, wx, wy, wz]}
       scales: {length: 0.1, angle: 0.5}

   Read by study.c; fit/ does the work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/study/parts.h"

static kn_status no_memory(const kn_study_own* x) {
  return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", x->s.path);
}

/* ---- parameters ---- */

static kn_status read_fields(kn_study_own* x, kn_study_parameter* p, const kn_yaml* n) {
  const char** list = NULL;
  int capacity = 0;
  const kn_yaml* item = n && n->kind == KN_YAML_LIST ? n->child : n;
  for (; item; item = n->kind == KN_YAML_LIST ? item->next : NULL) {
    if (item->kind != KN_YAML_SCALAR || !item->at.value[0])
      return kn_xml_fail_at(&item->at, "expected a field: materials.0.friction, model.geom.floor.pos.2");
    KN_STUDY_NEW(const char*, f, x, list, p->fields, capacity);
    *f = item->at.value;
  }
  p->field = list;
  return KN_OK;
}

static kn_status read_parameter(kn_study_own* x, kn_study_parameter* p, const kn_yaml* n) {
  const char* scale = "linear";
  *p = (kn_study_parameter){.name = n->at.name, .line = n->key.line, .column = n->key.column};
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "field from to start scale"));
  const kn_yaml* field = kn_yaml_get(n, "field");
  if (!field) return kn_xml_fail_at(&n->key, "\"%.40s\" has no field, expected field: NAME", n->at.name);
  KN_TRY(read_fields(x, p, field));
  KN_TRY(kn_study_number(&p->from, n, "from", -1e300, 1e300));
  KN_TRY(kn_study_number(&p->to, n, "to", -1e300, 1e300));
  KN_TRY(kn_study_number(&p->start, n, "start", -1e300, 1e300));
  KN_TRY(kn_study_choice(&scale, n, "scale", "linear|log"));
  p->log = scale[1] == 'o';
  if (isnan(p->from) || isnan(p->to))
    return kn_xml_fail_at(&n->key, "\"%.40s\" has no range, expected from: and to:", n->at.name);
  if (!(p->from < p->to))
    return kn_xml_fail_at(&n->key, "the range from %g to %g is empty, expected from < to", p->from, p->to);
  if (p->log && p->from <= 0.0)
    return kn_xml_fail_at(&n->key, "a logarithmic range from %g, expected numbers above 0", p->from);
  if (isnan(p->start)) p->start = p->log ? sqrt(p->from * p->to) : 0.5 * (p->from + p->to);
  return p->start >= p->from && p->start <= p->to
             ? KN_OK
             : kn_xml_fail_at(&kn_yaml_get(n, "start")->at, "start %g is outside of the range from %g to %g",
                              p->start, p->from, p->to);
}

static kn_status read_parameters(kn_study_own* x, kn_study_fit* f, const kn_yaml* n) {
  kn_study_parameter* list = NULL;
  int capacity = 0;
  if (!n || n->kind != KN_YAML_MAP || !n->child)
    return kn_fail_at(KN_BAD_FILE, x->s.path, n ? n->at.line : f->line, n ? n->at.column : 1,
                      "a fit without parameters, expected parameters: {mu: {field: …, from: 0, to: 1}}");
  for (const kn_yaml* k = n->child; k; k = k->next) {
    KN_STUDY_NEW(kn_study_parameter, p, x, list, f->parameters, capacity);
    KN_TRY(read_parameter(x, p, k));
  }
  f->parameter = list;
  return KN_OK;
}

/* ---- data ---- */

/* "px", "px*0.0524", "vz*0.0524-0.033", "angle+1.5". */
static kn_status read_column(kn_study_own* x, kn_study_column* c, const kn_yaml* n) {
  if (n->kind != KN_YAML_SCALAR || !n->at.value[0])
    return kn_xml_fail_at(&n->at, "expected the name of a column, or NAME*FACTOR+OFFSET");
  const char* text = n->at.value;
  size_t length = strcspn(text, "*+-");
  const char* at = text + length;
  *c = (kn_study_column){.factor = 1.0, .line = n->at.line, .column = n->at.column};
  while (length && text[length - 1] == ' ') length--;
  c->name = kn_hoard_text(&x->pool, text, length);
  if (!c->name) return no_memory(x);
  bool good = length > 0;
  if (good && *at == '*') at++, good = kn_value_number(&c->factor, &at);
  at += strspn(at, " ");
  if (good && (*at == '+' || *at == '-')) {
    double sign = *at++ == '-' ? -1.0 : 1.0;
    at += strspn(at, " ");
    good = kn_value_number(&c->offset, &at);
    c->offset *= sign;
  }
  return good && !*at ? KN_OK
                      : kn_xml_fail_at(
                            &n->at, "\"%.60s\", expected the name of a column, or NAME*FACTOR+OFFSET", text);
}

static kn_status read_measured(kn_study_own* x, const kn_study_measured** out, int* count, const kn_yaml* n) {
  kn_study_measured* list = NULL;
  int capacity = 0;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  for (const kn_yaml* k = n->child; k; k = k->next) {
    kn_study_column* columns = NULL;
    int room = 0, have = 0;
    KN_STUDY_NEW(kn_study_measured, m, x, list, *count, capacity);
    for (const kn_yaml* c = k->kind == KN_YAML_LIST ? k->child : k; c;
         c = k->kind == KN_YAML_LIST ? c->next : NULL) {
      KN_STUDY_NEW(kn_study_column, column, x, columns, have, room);
      KN_TRY(read_column(x, column, c));
    }
    *m = (kn_study_measured){k->at.name, columns, have, k->key.line, k->key.column};
  }
  *out = list;
  return KN_OK;
}

static kn_status read_data(kn_study_own* x, kn_study_data* d, const kn_yaml* n) {
  double every;
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "file trajectory time rate every q v"));
  *d = (kn_study_data){.line = n->at.line, .column = n->at.column};
  KN_TRY(kn_study_word(&d->file, n, "file"));
  KN_TRY(kn_study_word(&d->trajectory, n, "trajectory"));
  KN_TRY(kn_study_word(&d->time, n, "time"));
  KN_TRY(kn_study_number(&d->rate, n, "rate", 1e-6, 1e9));
  KN_TRY(kn_study_number(&every, n, "every", 1.0, 1e9));
  d->every = isnan(every) ? 1 : (int)every;
  KN_TRY(read_measured(x, &d->q, &d->q_count, kn_yaml_get(n, "q")));
  KN_TRY(read_measured(x, &d->v, &d->v_count, kn_yaml_get(n, "v")));
  if (!d->file) return kn_xml_fail_at(&n->at, "data without a file, expected file: NAME");
  size_t length = strlen(d->file);
  if (length > 5 && strcmp(d->file + length - 5, ".mcap") == 0) return KN_OK;
  if (!d->q_count)
    return kn_xml_fail_at(&n->at, "a table without columns to follow, expected q: {JOINT: [COLUMN, …]}");
  bool timed = d->time != NULL, rated = !isnan(d->rate);
  if (timed == rated) return kn_xml_fail_at(&n->at, "expected either time: COLUMN or rate: FRAMES A SECOND");
  return KN_OK;
}

static kn_status read_files(kn_study_own* x, kn_study_fit* f, const kn_yaml* n) {
  kn_study_data* list = NULL;
  int capacity = 0;
  if (!n || n->kind == KN_YAML_SCALAR || !n->child)
    return kn_fail_at(KN_BAD_FILE, x->s.path, n ? n->at.line : f->line, n ? n->at.column : 1,
                      "a fit without data, expected data: {file: run.mcap} or a list of such");
  for (const kn_yaml* k = n->kind == KN_YAML_LIST ? n->child : n; k;
       k = n->kind == KN_YAML_LIST ? k->next : NULL) {
    KN_STUDY_NEW(kn_study_data, d, x, list, f->files, capacity);
    KN_TRY(read_data(x, d, k));
  }
  f->data = list;
  return KN_OK;
}

/* ---- the section ---- */

static kn_status read_scales(kn_study_fit* f, const kn_yaml* n) {
  f->length = 0.1;
  f->angle = 0.5;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "length angle"));
  double length, angle;
  KN_TRY(kn_study_number(&length, n, "length", 1e-12, 1e12));
  KN_TRY(kn_study_number(&angle, n, "angle", 1e-12, 1e12));
  if (!isnan(length)) f->length = length;
  if (!isnan(angle)) f->angle = angle;
  return KN_OK;
}

kn_status kn_study_read_fit(kn_study_own* x, const kn_yaml* n) {
  const char* loss = "absolute";
  double evaluations, resamples, seed;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "parameters data scales loss tolerance evaluations resamples seed"));
  kn_study_fit* f = kn_hoard_take(&x->pool, sizeof *f);
  if (!f) return no_memory(x);
  f->line = n->key.line;
  KN_TRY(read_parameters(x, f, kn_yaml_get(n, "parameters")));
  KN_TRY(read_files(x, f, kn_yaml_get(n, "data")));
  KN_TRY(read_scales(f, kn_yaml_get(n, "scales")));
  KN_TRY(kn_study_choice(&loss, n, "loss", "absolute|square"));
  KN_TRY(kn_study_number(&f->tolerance, n, "tolerance", 1e-9, 1.0));
  KN_TRY(kn_study_number(&evaluations, n, "evaluations", 1.0, 1e6));
  KN_TRY(kn_study_number(&resamples, n, "resamples", 0.0, 1e5));
  KN_TRY(kn_study_number(&seed, n, "seed", 0.0, 0x1p53));
  f->squares = loss[0] == 's';
  f->evaluations = isnan(evaluations) ? 0 : (int)evaluations;
  f->resamples = isnan(resamples) ? -1 : (int)resamples;
  f->seed = isnan(seed) ? 1 : (uint64_t)seed;
  x->s.fit = f;
  return KN_OK;
}
