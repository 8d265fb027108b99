/* Generated friction problems W = J M^-1 J^T, q = J v of four families, for tests and benches. */
#ifndef KN_TEST_CONE_PROBLEMS_H
#define KN_TEST_CONE_PROBLEMS_H

#include "base/rng.h"
#include "knuckle/comp.h"

typedef enum kn_family {
  KN_FAMILY_FREE,  /* free 6-dof bodies, random pair and ground contacts */
  KN_FAMILY_STACK, /* boxes, four contacts per face, light at the bottom, heavy on top */
  KN_FAMILY_ARTIC, /* dense random J, rank 45 … 85 % of the rows */
  KN_FAMILY_DUP,   /* the same with half the contacts exact copies */
  KN_FAMILY_COUNT
} kn_family;

extern const char* const kn_family_name[KN_FAMILY_COUNT];

typedef struct kn_generated {
  kn_problem problem;
  int dofs;
  double *J, *inverse_mass, *v; /* rows x dofs; dofs x dofs block diagonal kept full; dofs */
} kn_generated;

/* mu is 0 for one contact in ten, else U(0, 1.5). Free with kn_generated_free. */
kn_generated kn_generate(kn_rng* rng, kn_family family, int contacts, double mass_ratio);
/* Blocks of every set, mu 0 and infinity among them; dependent: share of blocks that copy an earlier one. */
kn_generated kn_generate_mixed(kn_rng* rng, int blocks, double mass_ratio, double dependent);
/* q = J v for the current v. */
void kn_generated_offset(kn_generated* g);
void kn_generated_free(kn_generated* g);

/* Heaps with block-sparse W. */
typedef enum kn_heap {
  KN_HEAP_SPHERES, /* jittered packing with holes at rest under gravity; gaps keep part of the contacts open
                    */
  KN_HEAP_BRICKS,  /* wall of bricks, four contacts per touching pair: strongly redundant */
  KN_HEAP_PACKED /* the spheres with every gap closed: twice as many contacts as equilibrium needs, very hard
                  */
} kn_heap;

typedef struct kn_pile {
  kn_problem problem;
  kn_sparse matrix; /* problem.sparse points here: do not copy the pile */
  kn_pairs pairs;   /* problem.pairs too */
  int bodies, contacts;
  double* v; /* 6 per body: velocity before the contact impulse */
  struct kn_pile_contact* contact;
  double mass, inertia[3];
  double* bias; /* per contact: gap/dt added to the normal velocity */
} kn_pile;

/* At least `contacts` contacts (a few more: whole layers). noise: random velocities relative to g dt. */
void kn_pile_make(kn_pile* pile, kn_rng* rng, kn_heap heap, int contacts, double mu, double noise);
/* q = J v for the present v. */
void kn_pile_offset(kn_pile* pile);
void kn_pile_free(kn_pile* pile);

#endif
