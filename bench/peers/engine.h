/* One scene as every engine gets it, and what an engine has to do with it. Modules see only this header, so
   that numbers can come from one place only: our model, compiled by the scene's builder. */
#ifndef KN_BENCH_ENGINE_H
#define KN_BENCH_ENGINE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum world_joint { WORLD_FIXED, WORLD_HINGE, WORLD_FREE } world_joint;

typedef struct world_body {
  int parent;                /* -1: the world */
  double R0[9], p0[3];       /* in the parent's frame, hinge at zero; row-major */
  double R_ref[9], p_ref[3]; /* in the world, all hinges at zero */
  double R[9], p[3];         /* in the world at the start */
  double w[3], vc[3];        /* angular velocity, velocity of the centre of mass at the start, world axes */
  double mass, com[3], I[9]; /* about com, body axes */
  world_joint joint;
  double axis[3], anchor[3]; /* of the hinge, body frame */
  int q, v;                  /* first coordinate and dof */
  bool limited;
  double range[2];
  double damping, armature;
  double kp, kv, target; /* position servo; kp = 0: none */
} world_body;

typedef enum world_shape { WORLD_PLANE, WORLD_SPHERE, WORLD_CAPSULE, WORLD_BOX } world_shape;

typedef struct world_geom {
  int body; /* -1: the world */
  world_shape shape;
  double size[3];    /* radius; radius, half length; half extents */
  double R[9], p[3]; /* in the body's frame */
  unsigned contype, conaffinity;
} world_geom;

typedef struct world {
  int bodies, geoms, nq, nv, nu;
  const world_body* body;
  const world_geom* geom;
  const double *q, *v, *ctrl; /* the start */
  double gravity[3];
  double mu, e; /* of all pairs */
  double dt;
  bool loose; /* free bodies only: a pile */
  const char* mjcf;
} world;

/* Spheres may touch planes and each other; bodies joined by a hinge never touch. */

typedef struct engine {
  const char* const* variants; /* names, ended by NULL */
  /* A sentence when this variant cannot run this world, otherwise NULL. */
  const char* (*refuses)(const world* w, int variant);
  void* (*create)(const world* w, int variant); /* at the start; NULL: failed */
  void (*step)(void* self, int steps);
  /* Coordinates and velocities in our convention. */
  void (*get)(double* q, double* v, void* self);
  int (*contacts)(void* self);  /* touching points that carry rows in the last step */
  double (*energy)(void* self); /* kinetic + potential by the engine's own numbers */
  double (*drift)(void* self);  /* largest separation of a hinge, m; NULL: none by construction */
  void (*destroy)(void* self);
} engine;

#ifdef __cplusplus
}
#endif
#endif
