/* kn_load: the format by the root element of the file, then that format's reader. */
#include "knuckle/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "load/mjcf/mjcf.h"
#include "load/urdf/urdf.h"

kn_load_settings kn_load_default(void) { return (kn_load_settings){.base = KN_BASE_FIXED}; }

static kn_status by_root(kn_spec** spec, kn_load_report* report, kn_hoard* pool, kn_xml_node* root,
                         const char* path, const kn_load_settings* settings) {
  char* folder = kn_path_folder(pool, path);
  if (!folder) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  if (strcmp(root->name, "mujoco") == 0) return kn_mjcf_load(spec, report, pool, root, folder, settings);
  if (strcmp(root->name, "robot") == 0) return kn_urdf_load(spec, report, pool, root, folder, settings);
  if (strcmp(root->name, "sdf") == 0)
    return kn_xml_fail(root, "this is an SDF file, expected MJCF (<mujoco>) or URDF (<robot>)");
  if (strcmp(root->name, "mujocoinclude") == 0)
    return kn_xml_fail(
        root, "this file is made to be included, expected a model with <mujoco> as its first element");
  return kn_xml_fail(root, "the first element is <%.40s>, expected <mujoco> (MJCF) or <robot> (URDF)",
                     root->name);
}

/* text == NULL: read the file. */
static kn_status load(kn_spec** spec, kn_load_report** report, const char* path, const char* text,
                      size_t size, const kn_load_settings* settings) {
  kn_load_settings defaults = kn_load_default();
  if (!settings) settings = &defaults;
  kn_load_report* own = calloc(1, sizeof *own);
  if (!own) return kn_fail(KN_OUT_OF_MEMORY, "%s: no memory", path);
  own->strict = settings->strict;
  own->pool.limit = (size_t)256 << 20;
  kn_hoard pool = {.limit = KN_XML_MAX_POOL};
  kn_xml_node* root = NULL;
  kn_status status =
      text ? kn_xml_parse(&root, &pool, path, text, size) : kn_xml_read(&root, &pool, path, &settings->files);
  if (status == KN_OK) status = by_root(spec, own, &pool, root, path, settings);
  kn_hoard_free(&pool);
  if (report)
    *report = own;
  else
    kn_load_report_free(own);
  return status;
}

kn_status kn_load(kn_spec** spec, kn_load_report** report, const char* path,
                  const kn_load_settings* settings) {
  if (spec) *spec = NULL;
  if (report) *report = NULL;
  KN_REQUIRE(spec != NULL && path != NULL);
  return load(spec, report, path, NULL, 0, settings);
}

kn_status kn_load_text(kn_spec** spec, kn_load_report** report, const char* path, const char* text,
                       size_t size, const kn_load_settings* settings) {
  if (spec) *spec = NULL;
  if (report) *report = NULL;
  KN_REQUIRE(spec != NULL && path != NULL && text != NULL);
  return load(spec, report, path, text, size, settings);
}
