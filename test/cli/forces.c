/* Export: forces in N where bodies press, impulses in N s where they collide, never one as the other. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "test.h"

enum { COLUMNS = 16, TEXT = 4096 };

typedef struct table {
  int rows;
  double first_impulse, last_force, worst_both; /* worst_both: least of force and impulse in one step */
  double weight, determinate;
  double impulses, most_force; /* N s: of all steps */
} table;

/* The columns force.*, impulse.*, force_on.*.z and determinate.* of a run, in this order. */
static bool export_run(table* t, const char* run, const char* bodies, const char* body) {
  char command[1024], line[TEXT], csv[128];
  snprintf(csv, sizeof csv, "/tmp/knuckle-forces-%d", (int)getpid());
  *t = (table){0};
  snprintf(command, sizeof command, "run %s -o %s.mcap", run, csv);
  bool ok = CHECK(kn_test_knuckle(command)->status <= 1);
  snprintf(command, sizeof command,
           "export %s.mcap --only force.%s,impulse.%s,determinate.%s,force_on.%s.z -o %s.csv", csv, bodies,
           bodies, bodies, body, csv);
  kn_test_result* r = kn_test_knuckle(command);
  if (!CHECK_INT(r->status, 0)) puts(r->err);
  snprintf(line, sizeof line, "%s.csv", csv);
  FILE* f = fopen(line, "r");
  ok = ok && CHECK(f != NULL) && CHECK(fgets(line, sizeof line, f) != NULL);
  for (; ok && fgets(line, sizeof line, f); t->rows++) {
    double x[5] = {0}; /* t, force, impulse, determinate, force on the body */
    char* at = line;
    for (int k = 0; k < 5 && at; k++) {
      x[k] = *at == ',' || *at == '\n' ? NAN : strtod(at, NULL);
      at = strchr(at, ',');
      at = at ? at + 1 : NULL;
    }
    if (t->first_impulse == 0.0 && x[2] > 0.0) t->first_impulse = x[2];
    t->worst_both = fmax(t->worst_both, fmin(fabs(x[1]), fabs(x[2])));
    t->impulses += x[2];
    t->most_force = fmax(t->most_force, x[1]);
    t->last_force = x[1], t->determinate = x[3], t->weight = x[4];
  }
  if (f) fclose(f);
  snprintf(line, sizeof line, "rm -f %s.mcap %s.csv", csv, csv);
  return system(line) == 0 && ok;
}

static bool write_model(const char* path) {
  FILE* f = fopen(path, "w");
  if (!f) return false;
  fputs("<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body name='table' pos='0 0 .1'>"
        "<freejoint/><geom type='box' size='.2 .2 .1' mass='2'/></body></worldbody></mujoco>",
        f);
  return fclose(f) == 0;
}

TEST(a_table_presses_with_its_weight_and_the_sum_is_determinate) {
  char path[128], run[256];
  table t;
  snprintf(path, sizeof path, "/tmp/knuckle-table-%d.xml", (int)getpid());
  if (!CHECK(write_model(path))) return;
  snprintf(run, sizeof run, "%s --time 0.1", path);
  if (export_run(&t, run, "table.world", "table")) {
    CHECK_NEAR(t.weight, 2 * 9.81, 1e-6);
    CHECK_NEAR(t.last_force, 2 * 9.81, 1e-6);
    CHECK_NEAR(t.determinate, 1, 0);
    CHECK(t.rows > 40);
  }
  remove(path);
}

/* The same blow at two step sizes: impulse/dt would differ by a factor of ten. */
TEST(a_blow_is_an_impulse_at_any_step_size) {
  table coarse, fine;
  if (!export_run(&coarse, "bouncing-ball --time 0.6 --dt 1e-3", "ball.world", "ball")) return;
  if (!export_run(&fine, "bouncing-ball --time 0.6 --dt 1e-4", "ball.world", "ball")) return;
  CHECK(fine.first_impulse > 0.0);
  CHECK_NEAR(coarse.first_impulse, fine.first_impulse, 0.01 * fine.first_impulse); /* g dt of 4.4 m/s */
  CHECK_NEAR(coarse.worst_both, 0, 0);
  CHECK_NEAR(fine.worst_both, 0, 0);
}

/* A row per contact, pair and body: the weight is the sum of the rows, and everything has its name. */
TEST(tables_of_contacts_pairs_and_bodies_carry_the_weight) {
  static const char* const tables[] = {"contacts", "pairs", "bodies"};
  char path[128], command[512];
  snprintf(path, sizeof path, "/tmp/knuckle-tables-%d.xml", (int)getpid());
  if (!CHECK(write_model(path))) return;
  snprintf(command, sizeof command, "run %s --time 0.04 -o %s.mcap", path, path);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  for (int i = 0; i < 3; i++) {
    snprintf(command, sizeof command, "export %s.mcap --table %s --json", path, tables[i]);
    kn_test_result* r = kn_test_knuckle(command);
    CHECK_INT(r->status, 0);
    json_t *told = json_loads(r->out, 0, NULL), *rows = json_object_get(told, tables[i]);
    double weight = 0, last = 0;
    size_t n = json_array_size(rows);
    CHECK(n >= 20); /* steps */
    for (size_t k = 0; k < n; k++)
      last = fmax(last, json_number_value(json_object_get(json_array_get(rows, k), "t")));
    for (size_t k = 0; k < n; k++) {
      json_t* row = json_array_get(rows, k);
      if (json_number_value(json_object_get(row, "t")) < last) continue;
      weight += json_number_value(json_object_get(row, i ? "force_z" : "z"));
      CHECK_TEXT(json_string_value(json_object_get(row, i == 2 ? "body" : "body_a")), "table");
      if (i == 0) {
        CHECK_TEXT(json_string_value(json_object_get(row, "geom_b")), "floor");
        CHECK_TEXT(json_string_value(json_object_get(row, "unit")), "N");
        CHECK_TEXT(json_string_value(json_object_get(row, "mode")), "sticking");
      }
      CHECK_TEXT(json_string_value(json_object_get(row, "determinate")), i ? "yes" : "no");
    }
    CHECK_NEAR(weight, 2 * 9.81, 1e-6);
    json_decref(told);
  }
  snprintf(command, sizeof command, "export %s.mcap --table pairs -o %s.h5", path, path);
  CHECK_INT(kn_test_knuckle(command)->status, 2);
  snprintf(command, sizeof command, "rm -f %s %s.mcap", path, path);
  CHECK_INT(system(command), 0);
}

/* --forces least shares the weight of a table equally among its four corners; the solver does not. */
TEST(the_least_forces_of_a_table_are_equal) {
  char path[128], command[512];
  snprintf(path, sizeof path, "/tmp/knuckle-least-%d.xml", (int)getpid());
  if (!CHECK(write_model(path))) return;
  snprintf(command, sizeof command, "run %s --time 0.05 -o %s.mcap", path, path);
  CHECK_INT(kn_test_knuckle(command)->status, 0);
  snprintf(command, sizeof command, "export %s.mcap --forces least --only contact --json", path);
  kn_test_result* r = kn_test_knuckle(command);
  CHECK_INT(r->status, 0);
  json_t *told = json_loads(r->out, 0, NULL), *series;
  const char* name;
  int corners = 0;
  json_object_foreach(told, name, series) {
    size_t n = json_array_size(series);
    if (!strstr(name, ".normal") || n == 0) continue;
    CHECK_NEAR(json_number_value(json_array_get(series, n - 1)), 2 * 9.81 / 4, 1e-6);
    corners++;
  }
  CHECK_INT(corners, 4);
  json_decref(told);
  snprintf(command, sizeof command, "rm -f %s %s.mcap", path, path);
  CHECK_INT(system(command), 0);
}

/* A table falls 0.1 m and stays: without restitution its landing took one step and was reported as a force, momentum/dt. */
TEST(what_lands_without_bouncing_is_a_blow_at_any_step_size) {
  char path[128], run[256];
  double momentum = 2 * sqrt(2 * 9.81 * 0.1);
  snprintf(path, sizeof path, "/tmp/knuckle-landing-%d.xml", (int)getpid());
  if (!CHECK(write_model(path))) return;
  for (int i = 0; i < 2; i++) {
    table t;
    double dt = i ? 1e-3 : 1e-4;
    snprintf(run, sizeof run, "%s --drop 0.1 --time 0.2 --dt %g", path, dt);
    if (!export_run(&t, run, "table.world", "table")) continue;
    CHECK_NEAR(t.impulses, momentum, 2 * 2 * 9.81 * dt); /* the weight of a step or two */
    CHECK_BELOW(t.most_force, 2 * 9.81 * 2); /* its weight, and not ten times more at the shorter step */
    CHECK_NEAR(t.last_force, 2 * 9.81, 1e-6);
    CHECK_NEAR(t.worst_both, 0, 0);
  }
  remove(path);
}
