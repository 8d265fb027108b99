/* knuckle export --table contacts|pairs|bodies: a row for every contact, pair of bodies or body that touches, in
   every recorded step. Forces in N and blows in N s stand in columns of their own. */
#include <string.h>

#include "export.h"
#include "output/text.h"

enum { CELLS = 28 };

typedef struct cell {
  const char *name, *text; /* text NULL: the number */
  double x;
} cell;

typedef struct row {
  cell at[CELLS];
  int count;
  char label[4][KN_LABEL];
  int labels;
} row;

static void number(row* r, const char* name, double x) { r->at[r->count++] = (cell){name, NULL, x}; }
static void text(row* r, const char* name, const char* words) { r->at[r->count++] = (cell){name, words, 0}; }

static void body(row* r, const char* name, const kn_model* m, kn_body b) {
  char* label = r->label[r->labels++];
  text(r, name, kn_label(label, kn_body_name(m, b), "body", b));
}

static void geom(row* r, const char* name, const kn_model* m, kn_geom g) {
  char* label = r->label[r->labels++];
  text(r, name, kn_label(label, kn_geom_name(m, g), "geom", g));
}

static void vector(row* r, const char* const names[3], const double x[3]) {
  for (int k = 0; k < 3; k++) number(r, names[k], x[k]);
}

static const char* answer(kn_answer a) {
  return a == KN_ANSWER_YES ? "yes" : a == KN_ANSWER_NO ? "no" : "undecided";
}

#define AXES(name)                                                                                           \
  (const char* const[3]) { name "_x", name "_y", name "_z" }

static void begin(row* r, const kn_recorded* s) {
  r->count = r->labels = 0;
  number(r, "t", s->t);
  number(r, "step", (double)s->step);
}

static void contact_row(row* r, const kn_model* m, const kn_recorded* s, const kn_loads* l, int i) {
  const kn_contact* c = &s->contact[i];
  const kn_contact_load* load = &l->load[i];
  begin(r, s);
  geom(r, "geom_a", m, c->geom_a);
  geom(r, "geom_b", m, c->geom_b);
  body(r, "body_a", m, c->body_a);
  body(r, "body_b", m, c->body_b);
  vector(r, AXES("point"), c->point);
  text(r, "kind", load->impulse ? "impulse" : "force");
  text(r, "unit", load->impulse ? "N s" : "N");
  vector(r, (const char* const[3]){"x", "y", "z"}, load->world);
  vector(r, (const char* const[3]){"normal", "tangent_1", "tangent_2"}, load->local);
  number(r, "tangential", load->tangential);
  vector(r, AXES("normal"), c->frame);
  vector(r, AXES("tangent_1"), c->frame + 3);
  text(r, "mode", kn_contact_mode_name(c));
  text(r, "determinate", answer(load->determinate));
  number(r, "gap", c->gap);
  number(r, "mu", c->mu);
}

static void sum_row(row* r, const kn_model* m, const kn_recorded* s, const kn_load_sum* sum) {
  begin(r, s);
  if (sum->b == KN_ANY_BODY)
    body(r, "body", m, sum->a);
  else {
    body(r, "body_a", m, sum->a);
    body(r, "body_b", m, sum->b);
  }
  number(r, "contacts", sum->contacts);
  vector(r, AXES("force"), sum->force);
  number(r, "force_normal", sum->normal);
  number(r, "force_tangential", sum->tangential);
  vector(r, AXES("impulse"), sum->impulse);
  number(r, "impulse_normal", sum->impulse_normal);
  text(r, "determinate", answer(sum->determinate));
}

/* ---- writing ---- */

typedef struct sink {
  FILE* f; /* CSV */
  kn_json* json;
  long rows;
} sink;

static void put_head(sink* out, const row* r) {
  for (int i = 0; i < r->count; i++) fprintf(out->f, "%s%s", i ? "," : "", r->at[i].name);
  fputc('\n', out->f);
}

static void put_csv(sink* out, const row* r) {
  for (int i = 0; i < r->count; i++) {
    if (i) fputc(',', out->f);
    if (r->at[i].text)
      kn_text_cell(out->f, r->at[i].text);
    else
      fprintf(out->f, "%.17g", r->at[i].x);
  }
  fputc('\n', out->f);
}

static void put_json(sink* out, const row* r) {
  kn_json_begin(out->json, NULL);
  for (int i = 0; i < r->count; i++)
    if (r->at[i].text)
      kn_json_text(out->json, r->at[i].name, r->at[i].text);
    else
      kn_json_number(out->json, r->at[i].name, r->at[i].x);
  kn_json_end(out->json);
}

static void put(sink* out, const row* r) {
  if (out->json)
    put_json(out, r);
  else
    put_csv(out, r);
  out->rows++;
}

static void put_step(sink* out, const kn_model* m, const kn_recorded* s, const kn_loads* l, char table) {
  row r;
  for (int i = 0; i < s->contacts && table == 'c'; i++) {
    contact_row(&r, m, s, l, i);
    put(out, &r);
  }
  for (int i = 0; i < l->sums && table != 'c'; i++)
    if ((l->sum[i].b == KN_ANY_BODY) == (table == 'b')) {
      sum_row(&r, m, s, &l->sum[i]);
      put(out, &r);
    }
}

/* The names of the columns, also where nothing ever touches. */
static void put_names(sink* out, const kn_model* m, char table) {
  kn_contact contact = {.body_a = KN_WORLD, .body_b = KN_WORLD, .geom_a = -1, .geom_b = -1};
  kn_contact_load load = {0};
  kn_loads loads = {.load = &load};
  kn_recorded s = {.contact = &contact};
  kn_load_sum sum = {.a = KN_WORLD, .b = table == 'b' ? KN_ANY_BODY : KN_WORLD};
  row r;
  if (table == 'c')
    contact_row(&r, m, &s, &loads, 0);
  else
    sum_row(&r, m, &s, &sum);
  put_head(out, &r);
}

static kn_status put_all(sink* out, kn_recording* in, char table, kn_force_choice choice) {
  kn_loads* loads = kn_loads_create(in, choice);
  kn_status status = loads ? KN_OK : KN_OUT_OF_MEMORY;
  kn_recorded s;
  for (int i = 0; i < kn_recording_steps(in) && status == KN_OK; i++) {
    status = kn_recording_read(&s, in, i);
    if (status == KN_OK && !kn_loads_of(loads, &s, true)) status = KN_OUT_OF_MEMORY;
    if (status == KN_OK) put_step(out, kn_recording_model(in), &s, loads, table);
  }
  kn_loads_free(loads);
  return status;
}

kn_status kn_export_loads(FILE* f, bool json, kn_recording* in, const kn_args* args, long* rows) {
  const char* table = kn_arg_text(args, "--table");
  kn_json j;
  sink out = {.f = f, .json = json ? &j : NULL};
  if (json && f == stdout)
    kn_json_start(&j);
  else if (json) {
    kn_json_open(&j, f, true);
    kn_json_begin(&j, NULL);
  }
  if (json)
    kn_json_array(&j, table);
  else
    put_names(&out, kn_recording_model(in), table[0]);
  kn_status status = put_all(&out, in, table[0], kn_forces_asked(args));
  *rows = out.rows;
  if (json) kn_json_end(&j);
  if (json && !kn_json_close(&j) && status == KN_OK) status = KN_IO;
  return status;
}
