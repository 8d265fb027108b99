/* Inside the URDF loader. A link becomes a body; its frame is that of the joint above it. */
#pragma once

#include "load/text/schema.h"
#include "load/text/value.h"

extern const kn_schema kn_urdf_schema;

typedef struct kn_ud_link {
  const char* name;
  const kn_xml_node* node;
  int parent_joint;      /* -1: a root */
  int first_child, next; /* joints below, in the order of the file: lists through kn_ud_joint.next */
  kn_body body;          /* in the spec; KN_WORLD when the link is the world */
  kn_pose world;         /* at the reference position */
  kn_body_def def;
} kn_ud_link;

typedef struct kn_ud_joint {
  const char* name;
  const kn_xml_node* node;
  int type; /* KN_UD_… */
  int parent, child, next;
  double pos[3], quat[4], axis[3];
  kn_joint id; /* in the spec, -1: fixed */
} kn_ud_joint;

enum {
  KN_UD_REVOLUTE,
  KN_UD_CONTINUOUS,
  KN_UD_PRISMATIC,
  KN_UD_FIXED,
  KN_UD_FLOATING,
  KN_UD_PLANAR,
  KN_UD_SPHERICAL
};

typedef struct kn_ud_material {
  const char *name, *texture;
  float rgba[4];
} kn_ud_material;

typedef struct kn_ud_loader {
  kn_hoard* pool;
  kn_load_report* report;
  const kn_load_settings* settings;
  const char* folder;
  kn_spec* spec;
  kn_names names; /* 'l'ink, 'j'oint, 'M'aterial */
  kn_ud_link* link;
  int nlink;
  kn_ud_joint* joint;
  int njoint;
  kn_ud_material* material;
  int nmaterial, material_capacity;
} kn_ud_loader;

/* <origin>: position and roll, pitch, yaw about fixed axes. node may lack it. */
kn_status kn_ud_origin(double pos[3], double quat[4], const kn_xml_node* node);
kn_status kn_ud_materials(kn_ud_loader* l, const kn_xml_node* root);
/* <visual> and <collision> of a link onto its body. */
kn_status kn_ud_geometry(kn_ud_loader* l, const kn_ud_link* link);
/* mass, com and inertia of a link; says what is wrong with them. */
kn_status kn_ud_inertial(kn_ud_loader* l, kn_ud_link* link);

kn_status kn_urdf_load(kn_spec** spec, kn_load_report* report, kn_hoard* pool, kn_xml_node* root,
                       const char* folder, const kn_load_settings* settings);
