/* The YAML file beside a model. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "load/study/parts.h"
#include "model/spec.h"

/* ---- helpers ---- */

static bool is_listed(const char* keys, const char* name) {
  size_t length = strlen(name);
  for (const char* p = keys; *p;) {
    size_t n = strcspn(p, " ");
    if (n == length && memcmp(p, name, n) == 0) return true;
    p += n + strspn(p + n, " ");
  }
  return false;
}

/* Every key of a map must be in the list "a b c". */
kn_status kn_study_only(const kn_yaml* map, const char* keys) {
  for (const kn_yaml* k = map->child; k; k = k->next) {
    const char* best = NULL;
    char word[40], found[40] = "";
    int near = -1;
    if (is_listed(keys, k->at.name)) continue;
    for (const char* p = keys; *p;) {
      size_t n = strcspn(p, " ");
      snprintf(word, sizeof word, "%.*s", (int)n, p);
      int d = kn_value_near(k->at.name, word);
      if (d >= 0 && (near < 0 || d < near)) near = d, snprintf(found, sizeof found, "%s", word), best = found;
      p += n + strspn(p + n, " ");
    }
    if (best) return kn_xml_fail_at(&k->key, "unknown key \"%.40s\", did you mean \"%s\"?", k->at.name, best);
    return kn_xml_fail_at(&k->key, "unknown key \"%.40s\", expected one of: %s", k->at.name, keys);
  }
  return KN_OK;
}

kn_status kn_study_map(const kn_yaml* n) {
  return n->kind == KN_YAML_MAP
             ? KN_OK
             : kn_xml_fail_at(&n->at, "\"%.40s\" must be a map, expected indented key: value lines",
                              n->at.name);
}

kn_status kn_study_word(const char** out, const kn_yaml* map, const char* key) {
  const kn_yaml* n = kn_yaml_get(map, key);
  if (!n) return KN_OK;
  if (n->kind != KN_YAML_SCALAR || !n->at.value[0])
    return kn_xml_fail_at(&n->at, "\"%s\" must be a word", key);
  *out = n->at.value;
  return KN_OK;
}

kn_status kn_study_number(double* out, const kn_yaml* map, const char* key, double low, double high) {
  const kn_yaml* n = kn_yaml_get(map, key);
  *out = NAN;
  if (!n) return KN_OK;
  if (n->kind != KN_YAML_SCALAR) return kn_xml_fail_at(&n->at, "\"%s\" must be a number", key);
  KN_TRY(kn_value_reals(out, NULL, &n->at, 1, 1));
  if (*out < low || *out > high)
    return kn_xml_fail_at(&n->at, "\"%s\" is %g, expected a number from %g to %g", key, *out, low, high);
  return KN_OK;
}

kn_status kn_study_choice(const char** out, const kn_yaml* map, const char* key, const char* list) {
  const kn_yaml* n = kn_yaml_get(map, key);
  int k;
  KN_TRY(kn_study_word(out, map, key));
  return n ? kn_value_keyword(&k, &n->at, list) : KN_OK;
}

/* ---- sections ---- */

static kn_status read_surface(kn_study_surface* s, const kn_yaml* n) {
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "geom body pair friction torsion roll restitution compliance"));
  const kn_yaml *pair = kn_yaml_get(n, "pair"), *compliance = kn_yaml_get(n, "compliance");
  *s = (kn_study_surface){.stiffness = NAN, .damping = NAN, .line = n->at.line};
  KN_TRY(kn_study_word(&s->geom, n, "geom"));
  KN_TRY(kn_study_word(&s->body, n, "body"));
  if (s->geom && s->body)
    return kn_xml_fail_at(&n->at, "a material of a geom and of a body, expected one of them");
  if (pair) {
    const kn_yaml* a = pair->kind == KN_YAML_LIST ? pair->child : NULL;
    if (s->geom || s->body || !a || !a->next || a->next->next || a->kind != KN_YAML_SCALAR ||
        a->next->kind != KN_YAML_SCALAR)
      return kn_xml_fail_at(&pair->at,
                            "a pair must be two geoms and stand alone, expected pair: [floor, foot]");
    s->geom = a->at.value;
    s->other = a->next->at.value;
  }
  if (!s->geom && !s->body)
    return kn_xml_fail_at(&n->at, "a material without geom, body or pair, expected geom: NAME");
  KN_TRY(kn_study_number(&s->friction, n, "friction", 0.0, 1e9));
  KN_TRY(kn_study_number(&s->torsion, n, "torsion", 0.0, 1e9));
  KN_TRY(kn_study_number(&s->roll, n, "roll", 0.0, 1e9));
  KN_TRY(kn_study_number(&s->restitution, n, "restitution", 0.0, 1.0));
  if (!compliance) return KN_OK;
  KN_TRY(kn_study_map(compliance));
  KN_TRY(kn_study_only(compliance, "stiffness damping"));
  KN_TRY(kn_study_number(&s->stiffness, compliance, "stiffness", 1e-6, 1e15));
  KN_TRY(kn_study_number(&s->damping, compliance, "damping", 0.0, 1e15));
  return isnan(s->stiffness)
             ? kn_xml_fail_at(&compliance->at, "compliance without stiffness, expected stiffness: N/m")
             : KN_OK;
}

static kn_status read_materials(kn_study_own* x, const kn_yaml* n) {
  if (!n) return KN_OK;
  if (n->kind != KN_YAML_LIST)
    return kn_xml_fail_at(&n->at,
                          "\"materials\" must be a list, expected lines that begin with \"- geom: NAME\"");
  kn_study_surface* list = NULL;
  int capacity = 0;
  for (const kn_yaml* k = n->child; k; k = k->next) {
    KN_STUDY_NEW(kn_study_surface, s, x, list, x->s.surfaces, capacity);
    KN_TRY(read_surface(s, k));
  }
  x->s.surface = list;
  return KN_OK;
}

/* joint: number, or joint: [numbers]. */
static kn_status read_joints(kn_study_own* x, const kn_study_joint** out, int* count, const kn_yaml* n) {
  kn_study_joint* list = NULL;
  int capacity = 0;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  for (const kn_yaml* k = n->child; k; k = k->next) {
    if (k->kind == KN_YAML_MAP)
      return kn_xml_fail_at(&k->at, "\"%.40s\" must be a number or a list of numbers", k->at.name);
    const kn_yaml* item = k->kind == KN_YAML_LIST ? k->child : k;
    for (int i = 0; item; i++, item = k->kind == KN_YAML_LIST ? item->next : NULL) {
      KN_STUDY_NEW(kn_study_joint, j, x, list, *count, capacity);
      *j = (kn_study_joint){.joint = k->at.name, .k = i, .line = k->key.line};
      if (item->kind != KN_YAML_SCALAR) return kn_xml_fail_at(&item->at, "expected a number");
      KN_TRY(kn_value_reals(&j->value, NULL, &item->at, 1, 1));
    }
  }
  *out = list;
  return KN_OK;
}

static kn_status read_initial(kn_study_own* x, const kn_yaml* n) {
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "keyframe q v"));
  KN_TRY(kn_study_word(&x->s.keyframe, n, "keyframe"));
  KN_TRY(read_joints(x, &x->s.q, &x->s.q_count, kn_yaml_get(n, "q")));
  return read_joints(x, &x->s.v, &x->s.v_count, kn_yaml_get(n, "v"));
}

static kn_status read_controller(kn_study_own* x, const kn_yaml* n) {
  kn_study_servo* list = NULL;
  int capacity = 0;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  for (const kn_yaml* k = n->child; k; k = k->next) {
    KN_TRY(kn_study_map(k));
    KN_TRY(kn_study_only(k, "kp kd target torque"));
    KN_STUDY_NEW(kn_study_servo, s, x, list, x->s.servos, capacity);
    *s = (kn_study_servo){.joint = k->at.name, .line = k->key.line};
    KN_TRY(kn_study_number(&s->kp, k, "kp", 0.0, 1e12));
    KN_TRY(kn_study_number(&s->kd, k, "kd", 0.0, 1e12));
    KN_TRY(kn_study_number(&s->target, k, "target", -1e9, 1e9));
    KN_TRY(kn_study_number(&s->torque, k, "torque", -1e12, 1e12));
  }
  x->s.servo = list;
  return KN_OK;
}

static kn_status read_outputs(kn_study_own* x, const kn_yaml* n) {
  double every;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  KN_TRY(kn_study_only(n, "recording every csv plot"));
  KN_TRY(kn_study_word(&x->s.recording, n, "recording"));
  KN_TRY(kn_study_word(&x->s.csv, n, "csv"));
  KN_TRY(kn_study_number(&every, n, "every", 1.0, 1e9));
  x->s.every = isnan(every) ? 0 : (int)every;
  const kn_yaml* plot = kn_yaml_get(n, "plot");
  const char** list = NULL;
  int capacity = 0;
  if (plot && plot->kind != KN_YAML_LIST)
    return kn_xml_fail_at(&plot->at, "\"plot\" must be a list, expected [q.elbow, force]");
  for (const kn_yaml* k = plot ? plot->child : NULL; k; k = k->next) {
    if (k->kind != KN_YAML_SCALAR) return kn_xml_fail_at(&k->at, "expected the name of a quantity");
    KN_STUDY_NEW(const char*, p, x, list, x->s.plots, capacity);
    *p = k->at.value;
  }
  x->s.plot = list;
  return KN_OK;
}

static kn_status read_friction(kn_study_own* x, const kn_yaml* root) {
  const kn_yaml* n = kn_yaml_get(root, "friction");
  KN_TRY(kn_study_word(&x->s.friction, root, "friction"));
  if (!n || strcmp(n->at.value, "cone") == 0) return KN_OK;
  int sides = strncmp(n->at.value, "poly", 4) == 0 ? atoi(n->at.value + 4) : 0;
  return sides >= 4 && sides % 2 == 0 && sides <= 64
             ? KN_OK
             : kn_xml_fail_at(&n->at,
                              "friction is \"%.40s\", expected cone or polyN with an even N from 4 to 64",
                              n->at.value);
}

/* links: 12, law: cubic. */
static kn_status read_set(kn_study_own* x, const kn_yaml* n) {
  kn_study_set* list = NULL;
  int capacity = 0;
  if (!n) return KN_OK;
  KN_TRY(kn_study_map(n));
  if (!x->s.scene)
    return kn_xml_fail_at(&n->key, "\"set\" gives parameters of a scene, expected scene: NAME beside it");
  for (const kn_yaml* k = n->child; k; k = k->next) {
    if (k->kind != KN_YAML_SCALAR)
      return kn_xml_fail_at(&k->at, "\"%.40s\" must be a number or a word", k->at.name);
    KN_STUDY_NEW(kn_study_set, s, x, list, x->s.sets, capacity);
    *s = (kn_study_set){
        .name = k->at.name, .value = k->at.value, .line = k->key.line, .column = k->key.column};
  }
  x->s.set = list;
  return KN_OK;
}

static kn_status read_compliant(kn_study* s, const kn_yaml* n) {
  static const kn_yaml none = {.kind = KN_YAML_MAP};
  if (n) KN_TRY(kn_study_map(n));
  if (!n) n = &none;
  KN_TRY(kn_study_only(n, "law exponent eps"));
  KN_TRY(
      kn_study_choice(&s->compliant_law, n, "law", "kelvin-voigt|hunt-crossley|lankarani-nikravesh|flores"));
  KN_TRY(kn_study_number(&s->exponent, n, "exponent", 1.0, 10.0));
  return kn_study_number(&s->eps, n, "eps", 1e-15, 1e15);
}

static kn_status read_subject(kn_study_own* x, const kn_yaml* root) {
  kn_study* s = &x->s;
  KN_TRY(kn_study_word(&s->model, root, "model"));
  KN_TRY(kn_study_word(&s->scene, root, "scene"));
  if (s->model && s->scene)
    return kn_xml_fail_at(&kn_yaml_get(root, "scene")->key, "a model and a scene, expected one of them");
  return read_set(x, kn_yaml_get(root, "set"));
}

static kn_status read_study(kn_study_own* x, const kn_yaml* root) {
  kn_study* s = &x->s;
  if (!root) return kn_fail_at(KN_BAD_FILE, s->path, 1, 1, "the file is empty, expected key: value lines");
  KN_TRY(kn_study_map(root));
  KN_TRY(kn_study_only(
      root, "model scene set base formulation solver law stepper friction dt duration gtol v_rest "
            "tolerance sleep sequential bias_iterations certificate compliant materials initial controller "
            "outputs sweep fit"));
  KN_TRY(read_subject(x, root));
  KN_TRY(kn_study_choice(&s->base, root, "base", "fixed|floating"));
  KN_TRY(kn_study_choice(&s->formulation, root, "formulation", "os|rmc|mc|nmc-os|nmc-sparse|nmc|projection"));
  KN_TRY(kn_study_word(&s->solver, root, "solver"));
  KN_TRY(kn_study_choice(&s->law, root, "law", "poisson|newton|stronge|projection|sequential"));
  KN_TRY(kn_study_choice(&s->stepper, root, "stepper", "time|theta|event|compliant|hybrid"));
  KN_TRY(read_friction(x, root));
  KN_TRY(kn_study_number(&s->dt, root, "dt", 1e-9, 1.0));
  KN_TRY(kn_study_number(&s->duration, root, "duration", 0.0, 1e6));
  KN_TRY(kn_study_number(&s->gtol, root, "gtol", 0.0, 1.0));
  KN_TRY(kn_study_number(&s->v_rest, root, "v_rest", -1.0, 1e3));
  KN_TRY(kn_study_number(&s->tolerance, root, "tolerance", 1e-16, 1.0));
  KN_TRY(kn_study_number(&s->sleep, root, "sleep", 0.0, 1e3));
  KN_TRY(kn_study_number(&s->bias_iterations, root, "bias_iterations", 0.0, 100.0));
  KN_TRY(kn_study_choice(&s->sequential, root, "sequential", "true|false"));
  KN_TRY(kn_study_choice(&s->certificate, root, "certificate", "project|refuse|allow"));
  KN_TRY(read_compliant(s, kn_yaml_get(root, "compliant")));
  KN_TRY(read_materials(x, kn_yaml_get(root, "materials")));
  KN_TRY(read_initial(x, kn_yaml_get(root, "initial")));
  KN_TRY(read_controller(x, kn_yaml_get(root, "controller")));
  KN_TRY(kn_study_read_sweep(x, kn_yaml_get(root, "sweep")));
  KN_TRY(kn_study_read_fit(x, kn_yaml_get(root, "fit")));
  return read_outputs(x, kn_yaml_get(root, "outputs"));
}

/* ---- the public calls ---- */

static kn_status load(kn_study** out, const char* path, const char* text, size_t size,
                      const kn_study_edit* edit, int edits) {
  kn_study_own* x = calloc(1, sizeof *x);
  if (!x) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  x->pool.limit = (size_t)64 << 20;
  kn_status status = KN_OK;
  x->s.path = kn_hoard_text(&x->pool, path, strlen(path));
  char* bytes = NULL;
  if (!x->s.path) status = kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  if (status == KN_OK && !text) status = kn_files_read(&bytes, &size, &x->pool, path, NULL);
  kn_yaml* root = NULL;
  if (status == KN_OK) status = kn_yaml_parse(&root, &x->pool, x->s.path, text ? text : bytes, size);
  for (int i = 0; status == KN_OK && i < edits; i++) status = kn_study_change(x, root, &edit[i]);
  if (status == KN_OK) status = read_study(x, root);
  if (status == KN_OK)
    *out = &x->s;
  else
    kn_study_free(&x->s);
  return status;
}

kn_status kn_study_load(kn_study** out, const char* path) {
  if (out) *out = NULL;
  KN_REQUIRE(out != NULL && path != NULL);
  return load(out, path, NULL, 0, NULL, 0);
}

kn_status kn_study_read(kn_study** out, const char* path, const char* text, size_t size) {
  if (out) *out = NULL;
  KN_REQUIRE(out != NULL && path != NULL && text != NULL);
  return load(out, path, text, size, NULL, 0);
}

kn_status kn_study_read_edited(kn_study** out, const char* path, const char* text, size_t size,
                               const kn_study_edit* edit, int edits) {
  if (out) *out = NULL;
  KN_REQUIRE(out != NULL && path != NULL && edits >= 0 && (edit != NULL || edits == 0));
  for (int i = 0; i < edits; i++) KN_REQUIRE(edit[i].field != NULL && edit[i].value != NULL);
  return load(out, path, text, size, edit, edits);
}

void kn_study_free(kn_study* s) {
  if (!s) return;
  kn_study_own* x = (kn_study_own*)s;
  kn_hoard_free(&x->pool);
  free(x);
}

char* kn_study_beside(const char* model_path) {
  if (!model_path) return NULL;
  const char *slash = strrchr(model_path, '/'), *dot = strrchr(slash ? slash : model_path, '.');
  size_t n = dot ? (size_t)(dot - model_path) : strlen(model_path);
  char* path = malloc(n + 6);
  if (!path) return NULL;
  memcpy(path, model_path, n);
  memcpy(path + n, ".yaml", 6);
  if (access(path, R_OK) == 0) return path;
  free(path);
  return NULL;
}

/* What the file adds acts, whatever condim the model had; condim 1 stays without friction. */
static void set_surface(kn_material* m, int* condim, const kn_study_surface* s) {
  if (s->torsion > 0.0 && *condim == 3) *condim = 4;
  if (s->roll > 0.0 && *condim >= 3) *condim = 6;
  if (!isnan(s->friction)) m->mu = s->friction;
  if (!isnan(s->torsion)) m->torsion = s->torsion;
  if (!isnan(s->roll)) m->roll = s->roll;
  if (!isnan(s->restitution)) m->e = s->restitution;
  if (isnan(s->stiffness)) return;
  m->law = KN_CONTACT_COMPLIANT;
  m->K = s->stiffness;
  m->C = isnan(s->damping) ? 0.0 : s->damping;
}

/* By its name, or by its number when it has none: geom3, body2. */
static bool matches(const char* pattern, const char* name, const char* kind, int index) {
  char own[32];
  if (name && name[0]) return fnmatch(pattern, name, 0) == 0;
  snprintf(own, sizeof own, "%s%d", kind, index);
  return fnmatch(pattern, own, 0) == 0;
}

static bool fits(const char* pattern, const kn_spec* spec, int geom) {
  return matches(pattern, spec->geom.at[geom].name, "geom", geom);
}

static bool fits_body(const char* pattern, const kn_spec* spec, int geom) {
  kn_body b = spec->geom.at[geom].body;
  return b == KN_WORLD ? fnmatch(pattern, "world", 0) == 0
                       : matches(pattern, spec->body.at[b].name, "body", b);
}

static kn_status apply_pair(int* count, kn_spec* spec, const kn_study_surface* s) {
  for (int i = 0; i < spec->geom.count; i++)
    for (int j = 0; j < spec->geom.count; j++) {
      const kn_geom_def *a = &spec->geom.at[i], *b = &spec->geom.at[j];
      if (i == j || !fits(s->geom, spec, i) || !fits(s->other, spec, j) ||
          (j < i && fits(s->geom, spec, j) && fits(s->other, spec, i)))
        continue;
      kn_pair_def p = kn_pair_default();
      p.a = i;
      p.b = j;
      p.material = a->material;
      p.material.mu = fmax(a->material.mu, b->material.mu);
      p.material.e = fmax(a->material.e, b->material.e);
      p.condim = a->condim > b->condim ? a->condim : b->condim;
      p.margin = fmax(a->margin, b->margin);
      set_surface(&p.material, &p.condim, s);
      ++*count;
      KN_TRY(kn_spec_add_pair(spec, &p));
    }
  return KN_OK;
}

/* Nothing fits: where, and the name it may be meant for. */
static kn_status nothing_fits(const kn_spec* spec, const kn_study* st, const kn_study_surface* s) {
  const char *asked = s->body ? s->body : s->geom, *near = NULL, *kind = s->body ? "body with geoms" : "geom";
  int least = -1, count = s->body ? spec->body.count : spec->geom.count;
  for (int i = 0; i < count && !s->other; i++) {
    const char* name = s->body ? spec->body.at[i].name : spec->geom.at[i].name;
    int d = name ? kn_value_near(asked, name) : -1;
    if (d >= 0 && (least < 0 || d < least)) least = d, near = name;
  }
  if (near)
    return kn_fail_at(KN_BAD_FILE, st->path, s->line, 1, "no %s fits \"%.60s\", did you mean \"%.60s\"?",
                      kind, asked, near);
  return kn_fail_at(
      KN_BAD_FILE, st->path, s->line, 1,
      "no %s fits \"%.60s\"%s%.60s%s, expected a name or pattern; `knuckle check` with --geoms lists all",
      kind, asked, s->other ? " and \"" : "", s->other ? s->other : "", s->other ? "\"" : "");
}

kn_status kn_study_apply(kn_spec* spec, const kn_study* st) {
  KN_REQUIRE(spec != NULL && st != NULL);
  for (int k = 0; k < st->surfaces; k++) {
    const kn_study_surface* s = &st->surface[k];
    int count = 0;
    if (s->other) {
      KN_TRY(apply_pair(&count, spec, s));
    } else {
      for (int i = 0; i < spec->geom.count; i++)
        if (s->body ? fits_body(s->body, spec, i) : fits(s->geom, spec, i))
          set_surface(&spec->geom.at[i].material, &spec->geom.at[i].condim, s), count++;
    }
    if (count == 0) return nothing_fits(spec, st, s);
  }
  return KN_OK;
}
