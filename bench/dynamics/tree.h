/* What a peer of this bench gets and gives: a tree of hinge and free links in our depth-first order, and
   forward dynamics of one state. Conversions of conventions happen outside the timed call. */
#ifndef KN_BENCH_DYNAMICS_TREE_H
#define KN_BENCH_DYNAMICS_TREE_H

typedef struct tree_link {
  int parent;                /* -1: world */
  int free;                  /* free joint, otherwise a hinge about z of the link frame */
  int q, v;                  /* first coordinate and dof */
  double R0[9], p0[3], ref;  /* link frame in the parent's at q = ref, row-major */
  double mass, com[3], I[9]; /* centre of mass and inertia about it, link frame */
} tree_link;

typedef struct tree {
  int nlink, nq, nv;
  double gravity[3];
  const tree_link* link;
  const char* mjcf; /* the same model as a file for MuJoCo */
} tree;

typedef struct dynamics_peer {
  void* (*create)(const tree* t);
  void (*set)(void* peer, const double* q, const double* v, const double* tau);
  void (*run)(void* peer);        /* timed: kinematics and accelerations, by its forward dynamics call */
  void (*run_stages)(void* peer); /* the same by single stages, where it offers that; or NULL */
  void (*get)(double* qdd,
              void* peer); /* in our conventions; dofs it does not convert are left as they are */
  void (*destroy)(void* peer);
} dynamics_peer;

#endif
