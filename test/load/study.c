/* The YAML file beside a model: what it says, and what is said about mistakes in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/model.h"
#include "test.h"

static const char good[] = "# a study\n"
                           "formulation: os\n"
                           "stepper: time\n"
                           "law: newton\n"
                           "friction: poly8\n"
                           "dt: 5e-4\n"
                           "duration: 2.5\n"
                           "materials:\n"
                           "  - geom: \"foot*\"\n"
                           "    restitution: 0.25\n"
                           "    friction: 0.7\n"
                           "  - pair: [floor, ball]\n"
                           "    restitution: 0.9\n"
                           "  - geom: pad\n"
                           "    compliance: {stiffness: 1e5, damping: 50}\n"
                           "initial:\n"
                           "  keyframe: home\n"
                           "  q: {elbow: 0.5, base: [0, 0, 1]}\n"
                           "  v: {elbow: -1}\n"
                           "controller:\n"
                           "  elbow: {kp: 100, kd: 5, target: 0.2}\n"
                           "outputs:\n"
                           "  recording: run.mcap\n"
                           "  every: 2\n"
                           "  plot: [q.elbow, force]\n";

TEST(a_study_reads_as_written) {
  kn_study* s;
  if (!CHECK_OK(kn_study_read(&s, "robot.yaml", good, sizeof good - 1))) return;
  CHECK_TEXT(s->formulation, "os");
  CHECK_TEXT(s->law, "newton");
  CHECK_TEXT(s->friction, "poly8");
  CHECK_NEAR(s->dt, 5e-4, 0.0);
  CHECK_NEAR(s->duration, 2.5, 0.0);
  CHECK(s->solver == NULL && isnan(s->gtol));
  CHECK_INT(s->surfaces, 3);
  CHECK_NEAR(s->surface[0].restitution, 0.25, 0.0);
  CHECK_TEXT(s->surface[1].other, "ball");
  CHECK_NEAR(s->surface[2].stiffness, 1e5, 0.0);
  CHECK_INT(s->q_count, 4);
  CHECK_INT(s->q[3].k, 2);
  CHECK_NEAR(s->v[0].value, -1.0, 0.0);
  CHECK_INT(s->servos, 1);
  CHECK_NEAR(s->servo[0].kd, 5.0, 0.0);
  CHECK_INT(s->every, 2);
  CHECK_INT(s->plots, 2);
  kn_study_free(s);
}

static const char model_text[] = "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 "
                                 "1'/><body><freejoint/><geom name='foot_l' size='.1'/>"
                                 "<geom name='foot_r' size='.1'/><geom name='ball' size='.1'/><geom "
                                 "name='pad' size='.1'/></body></worldbody></mujoco>";

TEST(surfaces_reach_the_model) {
  kn_study* s;
  kn_spec* spec;
  kn_model* m = NULL;
  kn_geom_def g;
  kn_geom id;
  if (!CHECK_OK(kn_study_read(&s, "robot.yaml", good, sizeof good - 1))) return;
  CHECK_OK(kn_load_text(&spec, NULL, "robot.xml", model_text, sizeof model_text - 1, NULL));
  CHECK_OK(kn_study_apply(spec, s));
  if (CHECK_OK(kn_compile(&m, spec))) {
    CHECK_OK(kn_model_find_geom(&id, m, "foot_r"));
    CHECK_OK(kn_model_geom(&g, m, id));
    CHECK_NEAR(g.material.e, 0.25, 0.0);
    CHECK_NEAR(g.material.mu, 0.7, 0.0);
    CHECK_OK(kn_model_find_geom(&id, m, "pad"));
    CHECK_OK(kn_model_geom(&g, m, id));
    CHECK_INT(g.material.law, KN_CONTACT_COMPLIANT);
  }
  kn_model_destroy(m);
  kn_spec_destroy(spec);
  kn_study_free(s);
}

static const struct {
  const char *text, *says; /* '^' marks the place */
} wrong[] = {
    {"^formulatin: os\n", "did you mean \"formulation\"?"},
    {"formulation: ^oss\n", "expected one of: os, rmc"},
    {"stepper: ^fast\n", "expected one of: time"},
    {"law: ^galileo\n", "expected one of: poisson"},
    {"friction: ^poly5\n", "expected cone or polyN"},
    {"friction: ^pyramid\n", "expected cone or polyN"},
    {"dt: ^0\n", "expected a number from"},
    {"dt: ^soon\n", "not a finite number"},
    {"dt: ^nan\n", "not a finite number"},
    {"duration: ^-1\n", "expected a number from"},
    {"dt: 1e-3\n^dt: 1e-3\n", "given twice"},
    {"model: \"^a.xml\\0.txt\"\n", "zero byte"},
    {"materials: ^5\n", "must be a list"},
    {"materials:\n  - ^friction: 1\n", "without geom, body or pair"},
    {"materials:\n  - geom: a\n    friction: ^-1\n", "expected a number from 0"},
    {"materials:\n  - geom: a\n    restitution: ^1.5\n", "from 0 to 1"},
    {"materials:\n  - geom: a\n    ^restituton: 1\n", "did you mean \"restitution\"?"},
    {"materials:\n  - pair: ^[a]\n", "two geoms"},
    {"materials:\n  - geom: a\n    compliance: ^{damping: 1}\n", "without stiffness"},
    {"initial: ^now\n", "must be a map"},
    {"initial:\n  ^speed: 1\n", "unknown key \"speed\""},
    {"initial:\n  q: {a: ^b}\n", "not a finite number"},
    {"initial:\n  q: ^[1, 2]\n", "must be a map"},
    {"controller:\n  elbow: ^5\n", "must be a map"},
    {"controller:\n  elbow: {^kpp: 5}\n", "did you mean \"kp\"?"},
    {"controller:\n  elbow: {kp: ^-5}\n", "expected a number from 0"},
    {"outputs:\n  plot: ^q\n", "must be a list"},
    {"outputs:\n  every: ^0\n", "expected a number from 1"},
    {"dt: &a ^1e-3\n", "anchors and tags are not read"},
    {"^- 1\n", "must be a map"},
    {"dt: 1\n^%TAG x\n", "directives (%…) are not read"},
    {"dt:^\t1\n", "a tab, expected spaces"},
    {"scene: '^a''b''c''d'''\n", "more than three quotes and ends of lines"},
    {"scene: '^a''b\n\n\n c'\n", "more than three quotes and ends of lines"},
    {"^?\n r: : {", "keys after a question mark are not read"},
    {"dt: 1\n  ^\001\n", "not UTF-8 text"},
};

TEST(mistakes_are_told_with_line_and_column) {
  int checked = 0;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char* mark = strchr(wrong[i].text, '^');
    if (!mark || !wrong[i].says[0]) continue;
    char text[400], place[64];
    size_t at = (size_t)(mark - wrong[i].text);
    snprintf(text, sizeof text, "%.*s%s", (int)at, wrong[i].text, mark + 1);
    int line = 1, column = 1;
    for (size_t k = 0; k < at; k++) column = text[k] == '\n' ? (line++, 1) : column + 1;
    snprintf(place, sizeof place, "s.yaml:%d:%d: ", line, column);
    kn_study* s = NULL;
    kn_status status = kn_study_read(&s, "s.yaml", text, strlen(text));
    if (!CHECK(status == KN_BAD_FILE && strncmp(kn_last_error(), place, strlen(place)) == 0 &&
               strstr(kn_last_error(), wrong[i].says)))
      printf("  expected \"%s…%s\", got %s \"%s\"\n", place, wrong[i].says, kn_status_name(status),
             kn_last_error());
    kn_study_free(s);
    checked++;
  }
  CHECK(checked >= 25);
  kn_study* s = NULL;
  CHECK_STATUS(kn_study_read(&s, "s.yaml", "a: [1, 2\n", 9), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "not YAML");
  CHECK_STATUS(kn_study_read(&s, "s.yaml", "", 0), KN_BAD_FILE);
  CHECK_STATUS(kn_study_load(&s, "/no/such/file.yaml"), KN_NOT_FOUND);
}
