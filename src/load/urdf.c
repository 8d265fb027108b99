#include "load/urdf.h"

kn_status kn_urdf_load(kn_spec** spec, kn_load_report* report, kn_pool* pool, kn_xml_node* root,
                       const char* folder, const kn_load_settings* settings) {
  (void)spec, (void)report, (void)pool, (void)folder, (void)settings;
  return kn_xml_fail(root, "URDF is not supported, expected MJCF");
}
