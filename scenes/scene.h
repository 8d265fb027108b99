/* Scenes by name: a model, its first state, a controller and the settings it is meant to run with. Shared by
   tests, benches, the command line and the viewer. Every scene is a const descriptor in the list of
   registry.c; the builders use the public API only and no libm function that differs between machines. */
#ifndef KN_SCENES_SCENE_H
#define KN_SCENES_SCENE_H

#include "knuckle/step.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KN_SCENE_PARAMS = 12, KN_SCENE_CONTEXT = 64 };

typedef struct kn_scene_param {
  const char* name;
  double value;  /* default */
  double lo, hi; /* allowed, ends included */
  bool whole;    /* an integer */
  const char* doc;
} kn_scene_param;

typedef struct kn_scene_words { /* a parameter whose values 0, 1, … have names */
  const char *name, *words;     /* "cubic|quintic" */
} kn_scene_words;

typedef struct kn_scene kn_scene;
struct kn_scene {
  const char *name, *purpose, *citation; /* citation: source of the numbers, "" when they are our own */
  const char* watch;           /* what to look for when it runs, and what happens when; a sentence or two */
  const char* dimensions;      /* of what is not a parameter; NULL: in the builder */
  const kn_scene_param* param; /* ended by a NULL name; NULL: none */
  const kn_scene_words* words; /* the same */
  /* p holds the parameters in the order of param. */
  kn_status (*build)(kn_spec* spec, const double* p);
  kn_status (*setup)(kn_state* state, const kn_model* model, const double* p); /* NULL: reference, at rest */
  /* NULL: none. The context (KN_SCENE_CONTEXT numbers) lives as long as the opened scene. */
  kn_status (*control)(kn_controller* controller, double* context, const kn_model* model, const double* p);
  /* NULL: none. Settings that follow from the parameters, after the choices below. */
  void (*tune)(kn_sim_settings* settings, const double* p);
  double dt, duration;       /* s */
  const char *law, *stepper; /* NULL: the library's default */
  int friction;              /* as in kn_sim_settings */
  int contacts;              /* capacity with the default parameters; 0: the library's choice */
  bool sequential;           /* impacts one contact after the other */
};

/* All scenes, ended by NULL. */
const kn_scene* const* kn_scenes(void);
/* By name; KN_NOT_FOUND with the nearest name. */
kn_status kn_scene_find(const kn_scene** scene, const char* name);
/* The sentence of the last failure of a function of this header on this thread. */
const char* kn_scene_error(void);
int kn_scene_params(const kn_scene* scene);
/* Names of the values of parameter i, or NULL when it is a number. */
const char* kn_scene_param_words(const kn_scene* scene, int i);

/* A scene with its parameters fixed and its model built. */
typedef struct kn_scene_opened {
  const kn_scene* scene;
  double p[KN_SCENE_PARAMS];
  double context[KN_SCENE_CONTEXT];
  kn_model* model;
  kn_controller controller; /* fn == NULL: none */
} kn_scene_opened;

/* settings: count texts "name=value"; wrong names and values are refused by name. */
kn_status kn_scene_open(kn_scene_opened** out, const char* name, const char* const* settings, int count);
/* The same with a change of the spec before it becomes the model (edit NULL: none). */
typedef kn_status (*kn_scene_edit)(kn_spec* spec, void* context);
kn_status kn_scene_open_edited(kn_scene_opened** out, const char* name, const char* const* settings,
                               int count, kn_scene_edit edit, void* context);
void kn_scene_close(kn_scene_opened* scene);
/* Puts a state of the scene's model at the scene's beginning. */
kn_status kn_scene_start(const kn_scene_opened* scene, kn_state* state);
/* The library's defaults with this scene's choices. */
kn_sim_settings kn_scene_settings(const kn_scene* scene);
/* The same, with what follows from the parameters of an opened scene. */
kn_sim_settings kn_scene_settings_of(const kn_scene_opened* scene);

/* Short cuts for tests and benches. */
kn_status kn_scene_model(kn_model** model, const char* name, const char* const* settings, int count);

/* ---- random models ---- */

typedef struct kn_random_settings {
  int bodies;      /* 1 … */
  double branch;   /* 0: a chain, 1: parents uniformly among all earlier bodies */
  double roots;    /* probability that a body starts a new tree */
  double floating; /* probability that a root has a free joint */
  unsigned joints; /* allowed types, bit 1 << kn_joint_type */
  double several;  /* probability of one more joint on a body */
  double welded;   /* probability of a body without a joint */
  bool geoms;      /* one random shape per body, and a floor */
  bool limits, springs, damping, armature, friction, actuators; /* random ones on some joints */
  bool gravcomp;  /* random gravity compensation of some bodies */
  int loops;      /* loop closures that hold at the reference position */
  double decades; /* masses differ by up to this many powers of ten */
} kn_random_settings;

kn_random_settings kn_random_default(int bodies); /* a forest with every joint type */
kn_status kn_random_spec(kn_spec* spec, uint64_t seed, const kn_random_settings* settings);
/* Random coordinates (quaternions unit) and velocities of a model. */
void kn_random_state(kn_state* state, const kn_model* model, uint64_t seed, double q_size, double v_size);

#ifdef __cplusplus
}
#endif
#endif
