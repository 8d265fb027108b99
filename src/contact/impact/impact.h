/* Impact laws: from the velocity before to the velocity after, by impulses at the rows of an island.

     poisson  compression (all normal velocities to zero), then decompression: normal impulse at least e times
              the compression's, friction bounded by mu times the whole recovered impulse (corrected
              jain-2014 Eq. 57)
     newton   u_n⁺ >= -e u_n⁻ for approaching contacts, complementary to the impulse (Moreau)
     stronge  every normal impulse returns e² of the work done against it: one contact by itself in closed
              phases (law/stronge.h), several as springs of equal stiffness (impact_stronge.c). Contacts with
              friction against spin and formulations without Λ are UNSUPPORTED; kn_impact_solve then takes
              poisson and says so, and the step's report has that status.
     projection  u_n⁺ = -E u_n⁻ on all approaching contacts in closed form, E certified (impact_projection.c)
     sequential  one impact after the other, the fastest first, until nothing approaches (impact_sequence.c)
 */
#pragma once

#include "base/arena.h"
#include "contact/formulation/formulation.h"
#include "knuckle/certify.h"

typedef struct kn_impact_problem kn_impact_problem;
struct kn_impact_problem {
  kn_contact_work* work;     /* begun for the island's rows */
  const kn_constraints* set; /* the rows … */
  int first, count;          /* … of this island */
  const double* v_before;
  const double* u_before;         /* rows of the island: J v_before */
  const double* bias;             /* rows: -U of prescribed loops, 0 elsewhere */
  const double* e;                /* rows: restitution on each contact's normal row, 0 elsewhere */
  double tolerance, energy_scale; /* of the solver; J: gains below 1e-9 of it are rounding */
  int friction;
  const char* solver;
  bool guard;
  /* laws in which contacts hit others: e of the contact of this row group (of set) when it is closed with this
     speed; NULL: p->e of its row */
  double (*hit)(int group, double speed, const void* context);
  const void* hit_context;
  int events; /* law sequential: impacts per contact, then the rest all at once; 0: 50 */
  const struct kn_impact_law* each; /* law sequential: the law of every impact; NULL: poisson */
  /* law projection */
  const bool* resting; /* rows: this contact rests, whatever rounding says; NULL: |u_n| <= 1e-9, or e = 0
                          and slow beside the fastest */
  kn_certify_mode certificate; /* restitution that can create energy: project, refuse or allow */
  const double* external;      /* nv: generalised external impulse at the same instant, or NULL */
};

/* Why law projection handed an impact to the complementarity law. */
typedef enum kn_handed {
  KN_HANDED_NOT,
  KN_HANDED_TENSILE,  /* a contact would have to pull */
  KN_HANDED_CLOSING,  /* a contact that moved apart would close */
  KN_HANDED_FRICTION, /* contacts or joints with friction */
  KN_HANDED_SIZE      /* more than KN_CERTIFY_CONTACTS contacts at once */
} kn_handed;

typedef struct kn_impact_result {
  double* v_after;              /* nv */
  double* impulse;              /* rows, total */
  double* compression;          /* rows */
  double* e_used;               /* rows */
  double energy;                /* ΔK, J */
  double guard;                 /* s used by the guard; 1 when it was not needed */
  kn_contact_solution solution; /* worst of the phases */
  int solves;
  bool fallback; /* the law does not cover this island: poisson was used */
  int events;    /* laws sequential, stronge: impacts or steps taken … */
  int limit; /* … and the most of them: reached, the rest was taken all at once; 0: it came to its end */
  /* law projection */
  bool closed, repaired; /* by the closed form; with E moved to the nearest consistent one */
  kn_handed handed;
  double rho;            /* of the requested E */
  double energy_formula; /* ΔK by the paper's formula, when closed */
  double gamma;          /* K⁺ / K⁻ of the whole system, every law */
} kn_impact_result;

typedef struct kn_impact_law {
  const char *name, *doc, *citation;
  bool contact_space; /* needs Λ of the contacts: no formulation with further unknowns */
  bool full;          /* needs all entries of Λ: islands too large for it are poisson's */
  kn_status (*solve)(kn_impact_result* result, const kn_impact_problem* problem, double* scratch);
  bool blends;  /* what gains is blended with the plastic impact, e is not lowered */
  bool guarded; /* guards itself */
  int memory;   /* its place in kn_contact_work.law_memory */
  size_t size;  /* of the struct at the head of that memory; 0: it has none */
  void (*carve)(void* memory, kn_arena* arena, int max_rows, int nv); /* and of its arrays */
} kn_impact_law;

enum { KN_MEMORY_PROJECTION, KN_MEMORY_SEQUENCE, KN_MEMORY_STRONGE };

const kn_impact_law* const* kn_impact_law_list(int* count);
const kn_impact_law* kn_impact_law_find(const char* name);
/* Makes room for the law in the work; once, before the first impact. */
kn_status kn_impact_reserve(kn_contact_work* work, const kn_impact_law* law);
/* Scratch doubles a law needs for max_rows rows and nv dofs. */
size_t kn_impact_scratch(int max_rows, int nv);
/* Solves with the guard: lowers unequal restitution until no energy is created. */
kn_status kn_impact_solve(kn_impact_result* result, const kn_impact_law* law,
                          const kn_impact_problem* problem, double* scratch);

/* One impact with the guard, without r->gamma; law NULL: poisson. For laws that are made of others. */
kn_status kn_impact_guarded(kn_impact_result* result, const kn_impact_law* law,
                            const kn_impact_problem* problem, double* scratch);
/* Takes the worst of the solutions of an impact's parts. */
void kn_impact_note(kn_impact_result* result, const kn_contact_solution* solution);
/* Rows of the problem's island. */
int kn_impact_rows(const kn_impact_problem* problem);
/* Several contacts by Stronge's law. */
kn_status kn_impact_stronge_several(kn_impact_result* result, const kn_impact_problem* problem);
/* Where nothing approaches: loops, limits and dry friction of the island hold what they hold, by one solve. Laws that go from impact to
   impact have none there. */
kn_status kn_impact_hold(kn_impact_result* result, const kn_impact_problem* problem);
/* Newton's law with r->e_used, without guard. */
kn_status kn_impact_newton(kn_impact_result* result, const kn_impact_problem* problem, double* scratch);
/* The certificate's problem: compliance W (k x k) and e of the approaching contacts after elimination of
   bilateral and resting rows, and their rows; arrays for KN_CERTIFY_CONTACTS. Needs law projection reserved.
 */
kn_status kn_impact_certificate(double* W, double* e, int* rows, int* k, const kn_impact_problem* problem);
/* The velocity (nv) that gives those contacts the velocities phi and leaves the eliminated rows at rest;
   after kn_impact_certificate. */
void kn_impact_velocity(double* v, const double* phi, const kn_impact_problem* problem);
