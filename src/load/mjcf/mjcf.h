/* Inside the MJCF loader. A document is one file with its includes; <attach> brings in further documents,
   each with its own compiler settings and default classes, all feeding one description that is written to the
   spec at the end (only then are total mass, mean inertia and references known). */
#pragma once

#include "knuckle/massprops.h"
#include "load/text/schema.h"
#include "load/text/value.h"
#include "model/spec.h"

extern const kn_schema kn_mjcf_schema;

/* A default class: its elements stay in the tree, attributes are looked up from class to parent class. */
typedef struct kn_mj_class {
  const char* name;
  struct kn_mj_class* parent;
  const kn_xml_node** element; /* <geom …/>, <joint …/>, … in order */
  int count, capacity;
} kn_mj_class;

typedef enum kn_mj_from_geom {
  KN_MJ_FROM_GEOM_FALSE,
  KN_MJ_FROM_GEOM_TRUE,
  KN_MJ_FROM_GEOM_AUTO
} kn_mj_from_geom;

typedef struct kn_mj_compiler {
  bool autolimits, balanceinertia, strippath, degree, fitaabb, discardvisual, alignfree;
  double boundmass, boundinertia, settotalmass;
  char eulerseq[4];
  const char *meshdir, *texturedir;
  kn_mj_from_geom inertiafromgeom;
  int inertiagrouprange[2];
} kn_mj_compiler;

typedef struct kn_mj_document {
  const char* folder; /* of its main file */
  const char* prefix; /* of names brought in by <attach>, "" for the main document */
  const kn_xml_node* root;
  kn_mj_compiler compiler;
  kn_mj_class** class;
  int nclass, class_capacity;
  kn_mj_class* main;
  int depth; /* of attachment */
} kn_mj_document;

typedef struct kn_mj_mesh {
  const char* name;
  const kn_xml_node* node;
  const kn_mj_document* document;
  const char* path;   /* as opened, NULL: vertices in the file */
  bool loaded;        /* done when first used */
  kn_mesh_data data;  /* scaled, moved by refpos and refquat */
  kn_massprops props; /* per unit density */
  bool has_props;
} kn_mj_mesh;

typedef struct kn_mj_material {
  const char* name;
  const char* texture; /* path or "" */
  float rgba[4];
} kn_mj_material;

typedef struct kn_mj_texture {
  const char *name, *path;
} kn_mj_texture;

typedef struct kn_mj_submodel { /* <asset><model/> */
  const char* name;
  const kn_xml_node* node;
  const kn_mj_document* document;
} kn_mj_submodel;

typedef struct kn_mj_body {
  kn_body_def def;
  const kn_xml_node* node;
  const kn_mj_document* document;
  bool moving;   /* has a joint of its own */
  bool by_geoms; /* mass and inertia are those of its geoms */
  kn_pose world; /* at the reference position */
} kn_mj_body;

typedef struct kn_mj_joint {
  kn_joint_def def;
  const kn_xml_node* node;
  double frc_range[2]; /* actuatorfrcrange */
  bool frc_limited;
  double springdamper[2];
  int v, nv; /* first dof, number of dofs */
} kn_mj_joint;

typedef struct kn_mj_geom {
  kn_geom_def def;
  const kn_xml_node* node;
  const kn_mj_mesh* mesh; /* its hull is the shape */
  bool referenced;        /* by a contact pair */
  bool infinite;          /* plane, height field: no mass */
  bool shell, emit;       /* emit: goes to the spec (visual-only meshes do not) */
  kn_massprops props;     /* in the geom frame, kg */
  const char* material;
  int kn_id; /* in the spec */
} kn_mj_geom;

typedef struct kn_mj_site {
  kn_frame_def def;
  const kn_xml_node* node;
} kn_mj_site;

typedef struct kn_mj_tendon {
  const char* name;
  const kn_xml_node* node;
  bool fixed, limited;
  int count;
  int joint[8];
  double coef[8];
  double range[2];
} kn_mj_tendon;

typedef struct kn_mj_actuator {
  kn_actuator_def def;
  const kn_xml_node* node;
  const char* name;
  double dampratio; /* > 0: rate gain from the inertia at the reference position */
  bool emit;
  int kn_id; /* in the spec */
} kn_mj_actuator;

typedef struct kn_mj_sensor {
  kn_sensor_def def; /* actuator: of the loader */
  const kn_xml_node* node;
} kn_mj_sensor;

#define KN_MJ_WITH_NODE(name, type)                                                                          \
  typedef struct name {                                                                                      \
    type def;                                                                                                \
    const kn_xml_node* node;                                                                                 \
  } name;
KN_MJ_WITH_NODE(kn_mj_loop, kn_loop_def)
KN_MJ_WITH_NODE(kn_mj_pair, kn_pair_def)
KN_MJ_WITH_NODE(kn_mj_key, kn_keyframe_def)

/* Parts of the model that <option><flag …="disable"/></option> switches off (mjcf_flags.c). */
typedef struct kn_mj_off {
  bool contact, limit, equality, frictionloss, spring, damper, gravcomp, actuation, clampctrl;
} kn_mj_off;

#define KN_MJ_ARRAY(type)                                                                                    \
  struct {                                                                                                   \
    type* at;                                                                                                \
    int count, capacity;                                                                                     \
  }

typedef struct kn_mj_loader {
  kn_hoard* pool;
  kn_load_report* report;
  const kn_load_settings* settings;
  double gravity[3], magnetic[3];
  kn_mj_off off;
  int soft; /* soft-contact attributes met */
  int replicas;
  kn_names names;
  KN_MJ_ARRAY(kn_mj_mesh) mesh;
  KN_MJ_ARRAY(kn_mj_material) material;
  KN_MJ_ARRAY(kn_mj_texture) texture;
  KN_MJ_ARRAY(kn_mj_submodel) submodel;
  KN_MJ_ARRAY(kn_mj_body) body;
  KN_MJ_ARRAY(kn_mj_joint) joint;
  KN_MJ_ARRAY(kn_mj_geom) geom;
  KN_MJ_ARRAY(kn_mj_site) site;
  KN_MJ_ARRAY(kn_mj_tendon) tendon;
  KN_MJ_ARRAY(kn_mj_actuator) actuator;
  KN_MJ_ARRAY(kn_mj_sensor) sensor;
  KN_MJ_ARRAY(kn_mj_loop) loop;
  KN_MJ_ARRAY(kn_mj_pair) pair;
  KN_MJ_ARRAY(kn_mj_key) key;
  KN_MJ_ARRAY(kn_body_pair) exclusion;
  KN_MJ_ARRAY(kn_mj_document*)
  document; /* brought by <attach>; their references are resolved after the bodies */
} kn_mj_loader;

/* `type* name` is a new element at the end of a list of the loader, zero; returns where memory is out. */
#define KN_MJ_NEW(type, name, loader, list, node)                                                            \
  if (!KN_GROW((loader)->pool, (loader)->list.at, (loader)->list.count, (loader)->list.capacity))            \
    return KN_XML_NO_MEMORY(node);                                                                           \
  type* name = &(loader)->list.at[(loader)->list.count++]

/* ---- defaults: attributes of an element or, if absent, of its class and the class's parents ---- */
typedef struct kn_mj_scope { /* what an element inherits from where it stands */
  const kn_mj_document* document;
  const kn_mj_class* childclass; /* NULL: main */
  const char* suffix;            /* of names inside <replicate>, "" */
} kn_mj_scope;

typedef struct kn_mj_element { /* an element with its class resolved */
  const kn_xml_node* node;
  const kn_mj_class* class;
  const kn_mj_document* document;
  const char* tag; /* of the default elements to consult */
} kn_mj_element;

kn_status kn_mj_defaults_read(kn_mj_loader* l, kn_mj_document* d);
kn_status kn_mj_element_open(kn_mj_element* e, const kn_mj_scope* scope, const kn_xml_node* node,
                             const char* tag);
kn_status kn_mj_class_find(const kn_mj_class** out, const kn_mj_document* d, const kn_xml_attr* attr);
bool kn_mj_is_actuator(const char* tag);
const kn_xml_attr* kn_mj_attr(const kn_mj_element* e, const char* name); /* own, then class chain */
kn_status kn_mj_real(double* out, const kn_mj_element* e, const char* name);
kn_status kn_mj_reals(double* out, int* count, const kn_mj_element* e, const char* name, int least, int most);
kn_status kn_mj_int(int* out, const kn_mj_element* e, const char* name);
kn_status kn_mj_bool(bool* out, const kn_mj_element* e, const char* name);
kn_status kn_mj_keyword(int* out, const kn_mj_element* e, const char* name, const char* list);
/* "limited" beside "range": as the compiler's autolimits says. */
kn_status kn_mj_limited(bool* out, const kn_mj_element* e, const char* limited, const char* range);
/* name with the document's prefix and the scope's suffix; NULL when there is none. */
kn_status kn_mj_name(const char** out, kn_mj_loader* l, const kn_mj_scope* scope, const kn_xml_node* node);
/* A reference with the document's prefix. */
const char* kn_mj_prefixed(kn_mj_loader* l, const kn_mj_document* d, const char* name);

/* ---- frames ---- */
kn_status kn_mj_place(double pos[3], double quat[4], const kn_mj_element* e);
kn_status kn_mj_orientation(double quat[4], bool* given, const kn_mj_element* e);
void kn_mj_quat_from_z(double quat[4], const double z[3]); /* shortest rotation of e_z onto z */
void kn_mj_euler(double quat[4], const kn_mj_compiler* c, const double angle[3]);

/* ---- sections ---- */
typedef kn_status kn_mj_reader(kn_mj_loader*, const kn_mj_scope*, const kn_xml_node*);
/* Reads every child of every section so named. */
kn_status kn_mj_each(kn_mj_loader* l, const kn_mj_document* d, const char* section, kn_mj_reader* read);
kn_status kn_mj_compiler_read(kn_mj_loader* l, kn_mj_document* d);
kn_status kn_mj_option_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_flags_read(kn_mj_loader* l, const kn_xml_node* flag);
void kn_mj_flags_apply(kn_mj_loader* l); /* once everything is read, before the spec is written */
kn_status kn_mj_assets_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_mesh_load(kn_mj_loader* l, kn_mj_mesh* m);
kn_status kn_mj_world_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_geom_read(kn_mj_geom* g, kn_mj_loader* l, const kn_mj_element* e, const char* name);
/* Mass, centre and inertia of a body from <inertial> (may be NULL) or its geoms. */
kn_status kn_mj_body_inertia(kn_mj_loader* l, int body, const kn_xml_node* inertial, const kn_pose* frame,
                             int first_geom, int ngeom);
kn_status kn_mj_inertia_finish(kn_mj_loader* l); /* total mass, massless moving bodies */
kn_status kn_mj_mesh_props(kn_mj_mesh* m);       /* mass properties per unit density, computed once */
kn_status kn_mj_contacts_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_tendons_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_equalities_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_actuators_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_actuators_finish(kn_mj_loader* l);
kn_status kn_mj_keyframes_read(kn_mj_loader* l, const kn_mj_document* d);
kn_status kn_mj_sensors_read(kn_mj_loader* l, const kn_mj_document* d);

/* Mass matrix at the reference position, by composite bodies in world axes: used for damping ratios only. */
typedef struct kn_mj_inertia {
  int n;
  double *M, *L; /* n x n; L its Cholesky factor once asked for */
  bool factored, singular;
} kn_mj_inertia;
kn_status kn_mj_reference_inertia(kn_mj_inertia* out, const kn_mj_loader* l);
bool kn_mj_reflected(double* mass, kn_mj_inertia* in, double* J); /* 1 / (J M⁻¹ Jᵀ); J is overwritten */
void kn_mj_inertia_free(kn_mj_inertia* in);
kn_status kn_mj_attach(kn_mj_loader* l, const kn_mj_scope* scope, kn_body parent, const kn_pose* frame,
                       const kn_xml_node* node);
/* Children of a body-like element (world, frame, replicate) into `parent`. */
kn_status kn_mj_body_read(kn_mj_loader* l, const kn_mj_scope* scope, kn_body parent, const kn_pose* frame,
                          const kn_xml_node* node);

/* ---- names: kind is 'b'ody, 'j'oint, 'g'eom, 's'ite, 't'endon, 'a'ctuator, 'm'esh, 'M'aterial ---- */
/* Registers; an error when the name is taken. name may be NULL. */
kn_status kn_mj_register(kn_mj_loader* l, char kind, const char* name, int index, const kn_xml_node* node);
/* What an attribute refers to. In an attached document an unknown name gives KN_NOT_FOUND (the element is not
   brought in); elsewhere it is an error with the nearest name. */
kn_status kn_mj_find(int* out, kn_mj_loader* l, const kn_mj_document* d, char kind, const kn_xml_attr* attr);

/* The whole: text of a document to a spec. */
kn_status kn_mjcf_load(kn_spec** spec, kn_load_report* report, kn_hoard* pool, kn_xml_node* root,
                       const char* folder, const kn_load_settings* settings);
