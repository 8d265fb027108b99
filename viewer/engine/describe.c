/* What the page must know as JSON: what can be opened, and what is open. Triangles are handed over as arrays.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/mesh.h"
#include "knuckle/version.h"
#include "world.h"

typedef struct text {
  char* at;
  size_t size;
  kn_json json;
} text;

static kn_json* begin(text* t) {
  FILE* f = open_memstream(&t->at, &t->size);
  if (!f) return NULL;
  kn_json_open(&t->json, f, false);
  kn_json_begin(&t->json, NULL);
  return &t->json;
}

static const char* finish(text* t) {
  FILE* f = t->json.file;
  kn_json_close(&t->json);
  fclose(f);
  return kw_text_keep(t->at);
}

static void choices(kn_json* j, const char* key, const kn_choice* c) {
  kn_json_array(j, key);
  for (; c->name; c++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", c->name);
    kn_json_text(j, "doc", c->doc);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void scene(kn_json* j, const kn_scene* s) {
  kn_json_begin(j, NULL);
  kn_json_text(j, "name", s->name);
  kn_json_text(j, "purpose", s->purpose);
  kn_json_text(j, "citation", s->citation);
  kn_json_number(j, "dt", s->dt);
  kn_json_number(j, "duration", s->duration);
  kn_json_array(j, "params");
  for (int i = 0; i < kn_scene_params(s); i++) {
    const kn_scene_param* p = &s->param[i];
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", p->name);
    kn_json_number(j, "value", p->value);
    kn_json_number(j, "lo", p->lo);
    kn_json_number(j, "hi", p->hi);
    kn_json_bool(j, "whole", p->whole);
    kn_json_text(j, "doc", p->doc);
    kn_json_text(j, "words", kn_scene_param_words(s, i));
    kn_json_end(j);
  }
  kn_json_end(j);
  kn_json_end(j);
}

KW(const char*, kw_catalogue)(void) {
  text t = {0};
  kn_json* j = begin(&t);
  if (!j) return "{}";
  kn_json_text(j, "version", KN_VERSION);
  kn_json_array(j, "scenes");
  for (const kn_scene* const* s = kn_scenes(); *s; s++) scene(j, *s);
  kn_json_end(j);
  choices(j, "formulations", kn_formulations());
  choices(j, "laws", kn_impact_laws());
  choices(j, "steppers", kn_steppers());
  kn_json_array(j, "events");
  for (int k = 0; k < KN_EVENT_COUNT; k++) kn_json_text(j, NULL, kn_event_name((kn_event_kind)k));
  kn_json_end(j);
  kn_json_array(j, "verdicts");
  for (int k = 0; k < KN_VERDICT_COUNT; k++) kn_json_text(j, NULL, kn_verdict_name((kn_verdict_kind)k));
  kn_json_end(j);
  kn_json_array(j, "statuses");
  for (int k = 0; k < KN_STATUS_COUNT; k++) kn_json_text(j, NULL, kn_status_name((kn_status)k));
  kn_json_end(j);
  return finish(&t);
}

/* ---- the model ---- */

static void placed(kn_json* j, const double pos[3], const double quat[4]) {
  kn_json_numbers(j, "pos", pos, 3);
  kn_json_numbers(j, "quat", quat, 4);
}

static void colour(kn_json* j, const float rgba[4]) {
  double c[4] = {rgba[0], rgba[1], rgba[2], rgba[3]};
  kn_json_numbers(j, "rgba", c, 4);
}

static void bodies(kn_json* j, const kn_model* m) {
  kn_body_def d;
  kn_json_array(j, "bodies");
  for (int i = 0; i < kn_model_bodies(m); i++) {
    if (kn_model_body(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_body_name(m, i));
    kn_json_int(j, "parent", d.parent);
    kn_json_number(j, "mass", d.mass);
    kn_json_numbers(j, "com", d.com, 3);
    kn_json_numbers(j, "inertia_quat", d.inertia_quat, 4);
    kn_json_numbers(j, "inertia", d.inertia, 6);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void joints(kn_json* j, const kn_model* m) {
  static const char* const kinds[] = {"fixed",  "hinge",     "slide",       "ball", "free",
                                      "planar", "universal", "cylindrical", "screw"};
  kn_joint_def d;
  int q, nq, v, nv;
  kn_json_array(j, "joints");
  for (int i = 0; i < kn_model_joints(m); i++) {
    if (kn_model_joint(&d, m, i) != KN_OK || kn_model_joint_address(&q, &nq, &v, &nv, m, i) != KN_OK)
      continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_joint_name(m, i));
    kn_json_int(j, "body", d.body);
    kn_json_text(j, "type", kinds[d.type]);
    kn_json_numbers(j, "pos", d.pos, 3);
    kn_json_numbers(j, "axis", d.axis, 3);
    kn_json_int(j, "q", q), kn_json_int(j, "nq", nq), kn_json_int(j, "v", v), kn_json_int(j, "nv", nv);
    kn_json_bool(j, "limited", d.limited);
    kn_json_numbers(j, "range", d.range[0], 2);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void geoms(kn_json* j, const kn_model* m) {
  static const char* const shapes[] = {"plane",     "sphere", "capsule", "cylinder",
                                       "ellipsoid", "box",    "hull",    "mesh"};
  kn_geom_def d;
  kn_json_array(j, "geoms");
  for (int i = 0; i < kn_model_geoms(m); i++) {
    if (kn_model_geom(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_geom_name(m, i));
    kn_json_int(j, "body", d.body);
    kn_json_text(j, "shape", shapes[d.shape.type]);
    kn_json_numbers(j, "size", d.shape.size, 3);
    placed(j, d.pos, d.quat);
    kn_json_number(j, "mu", d.material.mu);
    kn_json_number(j, "e", d.material.e);
    kn_json_bool(j, "collides", d.contype || d.conaffinity);
    kn_json_int(j, "group", d.group);
    colour(j, d.rgba);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void actuators(kn_json* j, const kn_model* m) {
  kn_actuator_def d;
  kn_json_array(j, "actuators");
  for (int i = 0; i < kn_model_nu(m); i++) {
    if (kn_model_actuator(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_actuator_name(m, i));
    kn_json_bool(j, "limited", d.ctrl_limited);
    kn_json_numbers(j, "range", d.ctrl_range, 2);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void loops(kn_json* j, const kn_model* m) {
  static const char* const kinds[] = {"connect", "weld", "distance", "coupling"};
  kn_loop_def d;
  kn_json_array(j, "loops");
  for (int i = 0; i < kn_model_loops(m); i++) {
    if (kn_model_loop(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_loop_name(m, i));
    kn_json_text(j, "type", kinds[d.type]);
    kn_json_int(j, "a", d.a), kn_json_int(j, "b", d.b);
    kn_json_numbers(j, "pos_a", d.pos_a, 3);
    kn_json_numbers(j, "pos_b", d.pos_b, 3);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void frames(kn_json* j, const kn_model* m) {
  kn_frame_def d;
  kn_json_array(j, "frames");
  for (int i = 0; i < kn_model_frames(m); i++) {
    if (kn_model_frame(&d, m, i) != KN_OK) continue;
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", kn_frame_name(m, i));
    kn_json_int(j, "body", d.body);
    placed(j, d.pos, d.quat);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void visuals(kn_json* j, const kn_load_report* r) {
  kn_json_array(j, "visuals");
  for (int i = 0; r && i < kn_load_visuals(r); i++) {
    const kn_visual* v = kn_load_visual(r, i);
    kn_json_begin(j, NULL);
    kn_json_text(j, "name", v->name);
    kn_json_int(j, "body", v->body);
    kn_json_int(j, "geom", v->geom);
    placed(j, v->pos, v->quat);
    kn_json_text(j, "mesh", v->mesh_file);
    kn_json_numbers(j, "scale", v->scale, 3);
    colour(j, v->rgba);
    kn_json_int(j, "group", v->group);
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void notes(kn_json* j, const kn_load_report* r) {
  static const char* const kinds[] = {"unsupported", "warning", "info"};
  kn_json_array(j, "notes");
  for (int i = 0; r && i < kn_load_notes(r); i++) {
    const kn_note* n = kn_load_note(r, i);
    kn_json_begin(j, NULL);
    kn_json_text(j, "kind", kinds[n->kind]);
    kn_json_text(j, "where", n->where);
    kn_json_text(j, "what", n->what);
    kn_json_end(j);
  }
  for (int i = 0; kw.recording && i < kn_recording_problems(kw.recording); i++) {
    kn_json_begin(j, NULL);
    kn_json_text(j, "kind", "warning");
    kn_json_text(j, "where", "recording");
    kn_json_text(j, "what", kn_recording_problem(kw.recording, i));
    kn_json_end(j);
  }
  kn_json_end(j);
}

static void settings(kn_json* j) {
  static const char* const names[] = {"formulation", "solver", "law", "stepper", "friction", "dt"};
  kn_json_begin(j, "settings");
  if (kw.sim) {
    const kn_sim_settings* s = kn_sim_settings_of(kw.sim);
    kn_json_text(j, "formulation", s->formulation);
    kn_json_text(j, "solver", s->solver);
    kn_json_text(j, "law", s->law);
    kn_json_text(j, "stepper", s->stepper);
    kn_json_int(j, "friction", s->friction);
    kn_json_number(j, "dt", s->dt);
  } else {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      kn_json_text(j, names[i], kn_recording_setting(kw.recording, names[i]));
    kn_json_int(j, "every", kn_recording_every(kw.recording));
  }
  kn_json_end(j);
}

KW(const char*, kw_model)(void) {
  text t = {0};
  kn_json* j = kw.model ? begin(&t) : NULL;
  char hash[24];
  double gravity[3];
  const kn_model* m = kw.model;
  if (!j) return "{}";
  kn_model_gravity(gravity, m);
  snprintf(hash, sizeof hash, "%016llx",
           (unsigned long long)(kw.recording ? kn_recording_model_hash(kw.recording) : kn_model_hash(m)));
  kn_json_text(j, "name", kn_model_name(m));
  kn_json_text(j, "hash", hash);
  kn_json_bool(j, "recorded", kw.recording != NULL);
  kn_json_number(j, "duration", kw.sim ? kw.subject.duration : 0.0);
  kn_json_bool(j, "controlled", kw.sim && kw.subject.controller.fn);
  kn_json_int(j, "nq", kn_model_nq(m)), kn_json_int(j, "nv", kn_model_nv(m)),
      kn_json_int(j, "nu", kn_model_nu(m));
  kn_json_number(j, "mass", kn_model_mass(m));
  kn_json_numbers(j, "gravity", gravity, 3);
  bodies(j, m);
  joints(j, m);
  geoms(j, m);
  actuators(j, m);
  loops(j, m);
  frames(j, m);
  visuals(j, kw.sim ? kw.subject.report : NULL);
  notes(j, kw.sim ? kw.subject.report : NULL);
  settings(j);
  if (kw.sim) kn_overlaps_json(j, &kw.subject);
  return finish(&t);
}

/* ---- triangles ---- */

static kn_mesh_data mesh;

KW(const double*, kw_mesh_vertices)(void) { return mesh.vertices; }
KW(const int32_t*, kw_mesh_triangles)(void) { return mesh.triangles; }
KW(int, kw_mesh_vertex_count)(void) { return mesh.nvertex; }
KW(int, kw_mesh_triangle_count)(void) { return mesh.ntriangle; }
KW(void, kw_mesh_free)(void) { kn_mesh_data_free(&mesh), memset(&mesh, 0, sizeof mesh); }

KW(int, kw_geom_mesh)(int geom) {
  kn_geom_def d;
  kw_mesh_free();
  kn_status status = kn_model_geom(&d, kw.model, geom);
  if (status != KN_OK) return status;
  if (d.shape.hull) return kn_hull_triangles(&mesh, d.shape.hull);
  return d.shape.mesh ? kn_mesh_triangles(&mesh, d.shape.mesh) : KN_NOT_FOUND;
}

KW(int, kw_visual_mesh)(int i) {
  kw_mesh_free();
  const kn_visual* v = kw.sim && kw.subject.report ? kn_load_visual(kw.subject.report, i) : NULL;
  if (!v || !v->mesh_file || !v->mesh_file[0]) return KN_NOT_FOUND;
  kn_status status = kn_mesh_data_load(&mesh, v->mesh_file);
  return status == KN_OK ? kn_mesh_data_scale(&mesh, v->scale) : status;
}

/* ---- verifying a recording ---- */

KW(const char*, kw_verify)(void) {
  static kn_verification v; /* 24 kB */
  text t = {0};
  kn_status status = kw.recording ? kn_verify(&v, kw.recording) : KN_BAD_ARGUMENT;
  kn_json* j = begin(&t);
  if (!j) return "{}";
  kn_json_bool(j, "ok", status == KN_OK && v.violations == 0);
  if (status != KN_OK) kn_json_text(j, "error", kn_last_error());
  if (status != KN_OK) return finish(&t);
  kn_json_int(j, "steps", v.steps);
  kn_json_int(j, "violations", v.violations);
  kn_json_array(j, "listed");
  for (int i = 0; i < v.listed && i < 50; i++) {
    kn_json_begin(j, NULL);
    kn_json_int(j, "step", v.violation[i].step);
    kn_json_text(j, "check", v.violation[i].check);
    kn_json_number(j, "value", v.violation[i].value);
    kn_json_number(j, "limit", v.violation[i].limit);
    kn_json_end(j);
  }
  kn_json_end(j);
  kn_json_array(j, "skipped");
  for (int i = 0; i < v.skips; i++) kn_json_text(j, NULL, v.skipped[i].check);
  kn_json_end(j);
  return finish(&t);
}
