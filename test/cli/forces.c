/* Export: forces in N where bodies press, impulses in N s where they collide, never one as the other. */
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
