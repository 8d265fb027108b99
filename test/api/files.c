/* Models whose files come from the caller: includes, meshes, URDF packages; and what is said when one is
 * missing. */
#include <stdlib.h>
#include <string.h>

#include "knuckle/load.h"
#include "knuckle/model.h"
#include "test.h"

typedef struct file {
  const char *path, *text;
} file;
typedef struct store {
  const file* file;
  int asked, open;
} store;

static const char tetrahedron[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";

static kn_status read(const void** bytes, size_t* size, const char* path, void* context) {
  store* s = context;
  s->asked++;
  for (const file* f = s->file; f->path; f++)
    if (strcmp(f->path, path) == 0) {
      *bytes = f->text;
      *size = strlen(f->text);
      s->open++;
      return KN_OK;
    }
  return KN_NOT_FOUND;
}

static void done(const void* bytes, size_t size, void* context) {
  (void)bytes, (void)size;
  ((store*)context)->open--;
}

static kn_status load(kn_model** model, store* s, const char* path) {
  kn_load_settings set = kn_load_default();
  set.files = (kn_files){.read = read, .done = done, .context = s};
  kn_spec* spec;
  *model = NULL;
  kn_status status = kn_load(&spec, NULL, path, &set);
  if (status == KN_OK) status = kn_compile(model, spec);
  kn_spec_destroy(spec);
  CHECK_INT(s->open, 0); /* everything was given back */
  return status;
}

TEST(mjcf_with_includes_and_a_mesh) {
  const file files[] = {
      {"zip/robot.xml", "<mujoco><compiler meshdir='m'/><include file='parts/arm.xml'/></mujoco>"},
      {"zip/parts/arm.xml",
       "<mujoco><asset><mesh name='t' file='t.obj'/></asset><worldbody><body><freejoint/>"
       "<geom type='mesh' mesh='t'/></body></worldbody></mujoco>"},
      {"zip/m/t.obj", tetrahedron},
      {NULL, NULL}};
  store s = {.file = files};
  kn_model* model;
  if (!CHECK_OK(load(&model, &s, "zip/robot.xml"))) return;
  CHECK_INT(kn_model_geoms(model), 1);
  CHECK_REL(kn_model_mass(model), 1000.0 / 6.0, 1e-12); /* a corner of the unit cube, water */
  kn_model_destroy(model);
}

static kn_status allow(const char* path, void* context) {
  (void)context;
  return strstr(path, "secret") ? KN_UNSUPPORTED : KN_OK;
}

TEST(what_is_not_allowed_is_not_read) {
  const file files[] = {{"r.xml", "<mujoco><include file='secret.xml'/></mujoco>"},
                        {"m.xml", "<mujoco><asset><mesh name='t' file='secret.obj'/></asset><worldbody><body>"
                                  "<geom type='mesh' mesh='t'/></body></worldbody></mujoco>"},
                        {"secret.xml", "<mujoco/>"},
                        {"secret.obj", tetrahedron},
                        {NULL, NULL}};
  for (int i = 0; i < 2; i++) {
    store s = {.file = files};
    kn_load_settings set = kn_load_default();
    set.files = (kn_files){.read = read, .done = done, .context = &s, .allow = allow};
    kn_spec* spec;
    CHECK(kn_load(&spec, NULL, files[i].path, &set) != KN_OK);
    CHECK_TEXT(kn_last_error(), "not to be read");
    CHECK_INT(s.asked, 2 - i); /* whether there is such an include is asked of who gives the files */
    kn_spec_destroy(spec);
  }
}

TEST(urdf_with_a_package) {
  const file files[] = {
      {"zip/robot.urdf",
       "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' "
       "ixy='0' ixz='0' iyz='0'/></inertial><collision><geometry><mesh "
       "filename='package://zip/t.obj'/></geometry></collision></link></robot>"},
      {"zip/t.obj", tetrahedron},
      {NULL, NULL}};
  store s = {.file = files};
  kn_model* model;
  if (!CHECK_OK(load(&model, &s, "zip/robot.urdf"))) return;
  CHECK_INT(kn_model_geoms(model), 1);
  kn_model_destroy(model);
}

TEST(missing_files_are_named) {
  const file files[] = {{"r.xml", "<mujoco><include file='nothing.xml'/></mujoco>"},
                        {"m.xml",
                         "<mujoco><asset><mesh name='t' file='nothing.obj'/></asset><worldbody><body>"
                         "<geom type='mesh' mesh='t'/></body></worldbody></mujoco>"},
                        {NULL, NULL}};
  store s = {.file = files};
  kn_model* model;
  CHECK_STATUS(load(&model, &s, "none.xml"), KN_NOT_FOUND);
  CHECK_TEXT(kn_last_error(), "none.xml:1:1");
  CHECK_STATUS(load(&model, &s, "r.xml"), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "\"nothing.xml\" cannot be opened (not given)");
  CHECK_STATUS(load(&model, &s, "m.xml"), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "nothing.obj");
}

TEST(a_cycle_of_includes_is_seen) {
  const file files[] = {{"a.xml", "<mujoco><include file='b.xml'/></mujoco>"},
                        {"b.xml", "<mujoco><include file='a.xml'/></mujoco>"},
                        {NULL, NULL}};
  store s = {.file = files};
  kn_model* model;
  CHECK_STATUS(load(&model, &s, "a.xml"), KN_BAD_FILE);
  CHECK_TEXT(kn_last_error(), "included again");
}
