#ifndef KN_LOAD_URDF_H
#define KN_LOAD_URDF_H

#include "load/note.h"

kn_status kn_urdf_load(kn_spec** spec, kn_load_report* report, kn_pool* pool, kn_xml_node* root,
                       const char* folder, const kn_load_settings* settings);

#endif
