/* The JSON channels of a recording (series.h). */
#include "record/write/series.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/model.h"

static void say(kn_bytes* b, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void say(kn_bytes* b, const char* format, ...) {
  va_list args;
  if (!kn_bytes_room(b, 512)) return;
  va_start(args, format);
  int n = vsnprintf((char*)b->at + b->n, 512, format, args);
  va_end(args);
  if (n > 0) b->n += (size_t)(n < 512 ? n : 511);
}

/* Numbers JSON cannot say become 0. */
static double plain(double x) { return isfinite(x) ? x : 0.0; }

static void begin(kn_bytes* b, double t) {
  double at = fmax(t, 0.0), sec = floor(at);
  say(b, "{\"timestamp\":{\"sec\":%.0f,\"nsec\":%d}", sec, (int)((at - sec) * 1e9));
}

/* "key":"name", or the kind and number of what has no name; quotes and controls made harmless. */
static void name(kn_bytes* b, const char* key, const char* text, const char* kind, int index) {
  say(b, "\"%s\":\"", key);
  if (!text || !text[0]) say(b, "%s%d", kind, index);
  for (const char* p = text; p && *p; p++) {
    if (*p == '"' || *p == '\\') kn_put_u8(b, '\\');
    kn_put_u8(b, (unsigned char)*p < 32 ? ' ' : (uint8_t)*p);
  }
  say(b, "\"");
}

static void vector(kn_bytes* b, const char* key, const double x[3]) {
  say(b, ",\"%s\":{\"x\":%.9g,\"y\":%.9g,\"z\":%.9g}", key, plain(x[0]), plain(x[1]), plain(x[2]));
}

/* Joints with one coordinate, as robots report them; where free bodies are is in /tf. */
void kn_series_joints(kn_bytes* b, const kn_model* m, const kn_snapshot* s) {
  const char* comma = "";
  begin(b, s->time);
  say(b, ",\"joints\":[");
  for (int j = 0; j < m->njoint; j++) {
    int q, nq, v, nv;
    if (kn_model_joint_address(&q, &nq, &v, &nv, m, j) != KN_OK || nq != 1) continue;
    say(b, "%s{", comma);
    name(b, "name", kn_joint_name(m, j), "joint", j);
    say(b, ",\"position\":%.9g,\"velocity\":%.9g,\"effort\":%.9g}", plain(s->q[q]), plain(s->v[v]),
        plain(s->tau[v]));
    comma = ",";
  }
  say(b, "]}");
}

static void contact(kn_bytes* b, const kn_model* m, const kn_contact* c, double dt) {
  static const char* const answers[] = {
      [KN_ANSWER_NO] = "no", [KN_ANSWER_YES] = "yes", [KN_ANSWER_UNDECIDED] = "undecided"};
  double f[3] = {0, 0, 0}, p[3] = {0, 0, 0}, share = c->impact || !(dt > 0.0) ? 0.0 : 1.0 / dt;
  for (int k = 0; k < 3; k++)
    for (int j = 0; j < 3; j++) p[k] += c->frame[3 * j + k] * c->impulse[j];
  for (int k = 0; k < 3; k++) f[k] = p[k] * share, p[k] = c->impact ? p[k] : 0.0;
  name(b, "a", kn_geom_name(m, c->geom_a), "geom", c->geom_a);
  say(b, ",");
  name(b, "b", kn_geom_name(m, c->geom_b), "geom", c->geom_b);
  say(b, ",");
  name(b, "body_a", c->body_a == KN_WORLD ? "world" : kn_body_name(m, c->body_a), "body", c->body_a);
  say(b, ",");
  name(b, "body_b", c->body_b == KN_WORLD ? "world" : kn_body_name(m, c->body_b), "body", c->body_b);
  vector(b, "point", c->point);
  vector(b, "force", f);
  vector(b, "impulse", p);
  say(b,
      ",\"normal\":%.9g,\"tangential\":%.9g,\"gap\":%.9g,\"slipping\":%s,\"impact\":%s,\"determinate\":\"%"
      "s\"",
      plain(c->impulse[0] * share),
      plain(sqrt(c->impulse[1] * c->impulse[1] + c->impulse[2] * c->impulse[2]) * share), plain(c->gap),
      c->mode == KN_MODE_SLIP ? "true" : "false", c->impact ? "true" : "false", answers[c->determinate]);
}

/* Forces (N) of contacts that last, impulses (N s) of impacts; on A, in world axes. */
void kn_series_contacts(kn_bytes* b, const kn_model* m, const kn_snapshot* s) {
  begin(b, s->time);
  say(b, ",\"contacts\":[");
  for (int i = 0; i < s->report.contacts; i++) {
    say(b, "%s{", i ? "," : "");
    contact(b, m, &s->report.contact[i], s->report.dt);
    say(b, "}");
  }
  say(b, "]}");
}

void kn_series_energy(kn_bytes* b, const kn_snapshot* s) {
  const kn_energy* e = &s->report.energy;
  begin(b, s->time);
  say(b, ",\"kinetic\":%.9g,\"potential\":%.9g,\"spring\":%.9g,\"total\":%.9g}", plain(e->kinetic),
      plain(e->potential), plain(e->spring), plain(e->kinetic + e->potential + e->spring));
}

void kn_series_report(kn_bytes* b, const kn_snapshot* s) {
  const kn_report* r = &s->report;
  begin(b, s->time);
  say(b,
      ",\"contacts\":%d,\"residual\":%.9g,\"penetration\":%.9g,\"closure\":%.9g,\"iterations\":%d,\"events\":"
      "%d,"
      "\"verdict\":\"%s\"}",
      r->contacts, plain(r->residual), plain(r->penetration), plain(r->closure), r->iterations, r->events,
      kn_verdict_name(r->verdict.kind));
}
