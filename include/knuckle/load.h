/* Models from files: MJCF (MuJoCo's XML) and URDF become a kn_spec, unchanged users' files included. Errors
   are "file:line:column: what is wrong, what was expected" in kn_last_error(), status KN_BAD_FILE. What a
   file asks for and Knuckle does not do is never dropped silently: it is listed in the report. */
#ifndef KNUCKLE_LOAD_H
#define KNUCKLE_LOAD_H

#include "knuckle/spec.h"

KN_BEGIN_DECLS

/* How the root link of a URDF is attached. */
typedef enum kn_base_kind {
  KN_BASE_FIXED,   /* URDF root link welded to the world */
  KN_BASE_FLOATING /* URDF root link on a free joint */
} kn_base_kind;

/* Files that are not on the disk (an archive, a browser, a test): every file a model names is asked for here.
   Paths are as they would be opened: joined with the folder of the file that names them, "/" between. */
typedef struct kn_files {
  /* The whole file. KN_OK: bytes and size, valid until `done`; KN_NOT_FOUND: no such file. NULL: the disk. */
  kn_status (*read)(const void** bytes, size_t* size, const char* path, void* context);
  void (*done)(const void* bytes, size_t size, void* context); /* NULL: nothing to give back */
  void* context;
  /* Asked before a file is read, from the disk too: what is not KN_OK is what the load returns. NULL: any may be. */
  kn_status (*allow)(const char* path, void* context);
} kn_files;

/* Choices of the loader. */
typedef struct kn_load_settings {
  bool strict;          /* unsupported features and bad inertias are errors */
  kn_base_kind base;    /* URDF only */
  const char* packages; /* URDF: folders that hold ROS packages, ':' between them, searched before
                           ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and the folders above the file; NULL: none */
  bool skip_meshes;     /* do not open mesh files of geoms: such geoms are left out (inertia that comes from
                           meshes is then missing and said so) */
  kn_files files;       /* where the model, its includes and meshes are read from; default: the disk */
} kn_load_settings;

/* The default choices. */
KN_API kn_load_settings kn_load_default(void);

/* What the loader has to say beside the spec. */
typedef enum kn_note_kind {
  KN_NOTE_UNSUPPORTED, /* asked for by the file, has no effect here */
  KN_NOTE_WARNING,     /* suspicious data, used as described */
  KN_NOTE_INFO         /* read and set aside by design */
} kn_note_kind;

/* One remark of the loader. */
typedef struct kn_note {
  kn_note_kind kind;
  const char* where; /* file:line:column */
  const char* what;  /* a sentence */
} kn_note;

/* How things look: kept for viewers, no influence on motion. */
typedef struct kn_visual {
  kn_body body;           /* KN_WORLD allowed */
  kn_geom geom;           /* the geom of the spec it belongs to, -1: only visual */
  const char* name;       /* of the geom in the file, "" if nameless */
  double pos[3], quat[4]; /* in the body frame */
  const char* mesh_file;  /* path as opened; vertices are scaled, then placed by pos, quat */
  double scale[3];
  const char* material; /* name in the file, "" */
  const char* texture;  /* path of an image, "" */
  float rgba[4];
  int group;
} kn_visual;

/* What the loader has to say beside the spec. */
typedef struct kn_load_report kn_load_report;

/* Number of remarks. */
KN_API int kn_load_notes(const kn_load_report* report);
KN_API const kn_note* kn_load_note(const kn_load_report* report, int i); /* NULL: out of range */
/* Number of visuals. */
KN_API int kn_load_visuals(const kn_load_report* report);
/* One visual; NULL: out of range. */
KN_API const kn_visual* kn_load_visual(const kn_load_report* report, int i);
KN_API double kn_load_timestep(
    const kn_load_report* report); /* s, as the file asks, else its format's default (MJCF: 0.002); 0: URDF */
KN_API const char* kn_load_format(const kn_load_report* report); /* "mjcf" or "urdf" */
/* Frees the report; NULL is fine. */
KN_API void kn_load_report_free(kn_load_report* report);

/* Reads a model. settings may be NULL (defaults), report may be NULL (not wanted). On success the caller owns
   *spec (kn_spec_destroy) and *report (kn_load_report_free). On failure *spec is NULL; *report may still hold
   the notes made so far. */
KN_API kn_status kn_load(kn_spec** spec, kn_load_report** report, const char* path,
                         const kn_load_settings* settings);
/* The same from memory; `path` is used in messages and its folder for meshes and includes (settings.files
   says where those are read from). */
KN_API kn_status kn_load_text(kn_spec** spec, kn_load_report** report, const char* path, const char* text,
                              size_t size, const kn_load_settings* settings);

/* ---- the file beside the model ---- */

/* What MJCF and URDF cannot say, from a small YAML file: surfaces, choices, the start, a controller, outputs.
   Texts are NULL and numbers NAN where the file says nothing. docs/loading.md describes it. */
typedef struct kn_study_surface {
  const char *geom,
      *other;       /* names or patterns (* and ?); other NULL: a single geom's surface, else the pair */
  const char* body; /* names or patterns of bodies instead of geom: the surfaces of all their geoms */
  double friction, torsion, roll, restitution; /* NAN: as the model says */
  double stiffness, damping;                   /* compliant contact: N/m, N s/m */
  int line;
} kn_study_surface;

/* A number for a joint. */
typedef struct kn_study_joint { /* a number for a joint (coordinate k of it) */
  const char* joint;
  int k;
  double value;
  int line;
} kn_study_joint;

/* A servo on a joint. */
typedef struct kn_study_servo { /* tau = kp (target - q) - kd v + torque */
  const char* joint;
  double kp, kd, target, torque;
  int line;
} kn_study_servo;

/* A word for a name: parameters of a scene. */
typedef struct kn_study_set {
  const char *name, *value;
  int line, column;
} kn_study_set;

/* What a sweep changes from case to case: a list of values, or a range. */
typedef struct kn_study_vary {
  const char* name;         /* of the column in the results */
  const char* field;        /* what is changed: "dt", "materials.0.friction", "model.geom.foot.size.0", … */
  const char* const* value; /* texts, `count` of them; NULL: the range */
  int64_t count;            /* values of a list, points of a range in a grid */
  double from, to;
  bool log; /* points of the range are evenly spaced in their logarithm */
  int line, column;
} kn_study_vary;

/* What a sweep keeps of a case. */
typedef struct kn_study_output {
  const char *name, *expression;
  int line, column;
} kn_study_output;

/* How the cases of a sweep follow from its values. */
typedef enum kn_sweep_method {
  KN_SWEEP_GRID,   /* every combination; the last variable changes fastest */
  KN_SWEEP_RANDOM, /* each value drawn for itself */
  KN_SWEEP_LATIN,  /* Latin hypercube: each range in as many parts as there are cases, each part once */
  KN_SWEEP_LIST    /* case i has value i of every list */
} kn_sweep_method;

/* The section `sweep` of a study. */
typedef struct kn_study_sweep {
  kn_sweep_method method;
  int64_t cases;
  uint64_t seed;
  double limit; /* s of wall time a case may take; NAN: any */
  int varies, outputs;
  const kn_study_vary* vary;
  const kn_study_output* output;
  int line;
} kn_study_sweep;

/* A parameter that a fit looks for: the fields it stands for, and where it may be. */
typedef struct kn_study_parameter {
  const char* name;
  const char* const* field; /* as in a sweep; all get the same value */
  int fields;
  double from, to, start;
  bool log; /* searched by its logarithm */
  int line, column;
} kn_study_parameter;

/* A column of a table of measurements: its numbers times factor plus offset. */
typedef struct kn_study_column {
  const char* name;
  double factor, offset;
  int line, column; /* in the study */
} kn_study_column;

/* The columns that hold a joint's coordinates or velocities. */
typedef struct kn_study_measured {
  const char* joint;
  const kn_study_column* column;
  int columns;
  int line, place; /* in the study */
} kn_study_measured;

/* A file of recorded trajectories: a table (CSV) or a recording (MCAP). */
typedef struct kn_study_data {
  const char* file;       /* relative to the study */
  const char* trajectory; /* column whose value changes from trajectory to trajectory; NULL: one */
  const char* time;       /* column with the time, s; NULL: frames at `rate` */
  double rate;            /* frames a second; NAN: not said */
  int every;              /* every n-th frame only */
  const kn_study_measured *q, *v;
  int q_count, v_count;
  int line, column;
} kn_study_data;

/* The section `fit` of a study. */
typedef struct kn_study_fit {
  int parameters, files;
  const kn_study_parameter* parameter;
  const kn_study_data* data;
  double length, angle; /* m, rad: errors that count alike */
  bool squares;         /* loss: mean of squares instead of absolute values */
  double tolerance;     /* of the search, as part of the ranges; NAN: its default */
  int evaluations;      /* at most; 0: its default */
  int resamples;        /* of the bootstrap; -1: its default */
  uint64_t seed;
  int line;
} kn_study_fit;

/* What a study file says. */
typedef struct kn_study {
  const char* path;
  const char* model; /* path of the model, relative to the file; NULL: the file beside */
  const char* scene; /* or the name of a scene, with its parameters */
  int sets;
  const kn_study_set* set;
  const kn_study_sweep* sweep; /* NULL: none */
  const kn_study_fit* fit;     /* NULL: none */
  const char* base;            /* "fixed" or "floating" root link of a URDF */
  const char *formulation, *solver, *law, *stepper, *friction;
  double dt, duration, gtol, v_rest, tolerance, sleep;
  double bias_iterations;               /* a whole number, NAN: not said */
  const char *sequential, *certificate; /* "true", "false"; "project", "refuse", "allow"; NULL: not said */
  const char* compliant_law;            /* its name; NULL: not said */
  double exponent, eps;                 /* of the compliant law; NAN: not said */
  const char* keyframe;
  int surfaces, q_count, v_count, servos, plots;
  const kn_study_surface* surface;
  const kn_study_joint *q, *v; /* initial coordinates and velocities */
  const kn_study_servo* servo;
  const char *recording, *csv;
  int every;               /* record every n-th step; 0: not said */
  const char* const* plot; /* quantities */
} kn_study;

/* Reads a study file. */
KN_API kn_status kn_study_load(kn_study** study, const char* path);
/* The same from memory; `path` is used in messages. */
KN_API kn_status kn_study_read(kn_study** study, const char* path, const char* text, size_t size);

/* A value put in the place of another: "controller.elbow.kp" is 50. Names with dots stand in quotes:
   initial.q."left.knee". Line and column: where the change was asked for, for messages. */
typedef struct kn_study_edit {
  const char *field, *value;
  int line, column;
} kn_study_edit;
/* The same with changes made before it is read. text NULL: the file at path. */
KN_API kn_status kn_study_read_edited(kn_study** study, const char* path, const char* text, size_t size,
                                      const kn_study_edit* edit, int edits);
/* The value of variable k in case i of a sweep, as text (numbers to the last bit) in room of at least 32
   bytes; longer words of a list are cut. Case i does not depend on other cases. KN_BAD_ARGUMENT: no such. */
KN_API kn_status kn_sweep_value(char* text, size_t room, const kn_study_sweep* sweep, int64_t i, int k);
/* Frees a study; NULL is fine. */
KN_API void kn_study_free(kn_study* study);
/* The file beside a model: robot.xml has robot.yaml. NULL when there is none; free() the text. */
KN_API char* kn_study_beside(const char* model_path);
/* Puts the surfaces into a spec. A pattern that fits no geom is an error at its line. Geoms and bodies
   without a name are "geom3" and "body2", by their number, as `knuckle check` lists them. */
KN_API kn_status kn_study_apply(kn_spec* spec, const kn_study* study);

KN_END_DECLS
#endif
