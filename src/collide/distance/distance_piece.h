/* Smooth pieces of a core's surface and the local solution for a pair of them (distance_piece.c). */
#pragma once

#include "collide/distance/gjk.h"
#include "collide/pair/manifold.h"

typedef enum kn_piece_kind {
  KN_PIECE_POINT,     /* vertex p */
  KN_PIECE_ELLIPSOID, /* the whole surface */
  KN_PIECE_RIM,  /* circle about p, axis u, radius r; q: unit radial direction to start from near the axis */
  KN_PIECE_LINE, /* segment p … q along u, offset by r perpendicular to u (edge: r = 0; cylinder side) */
  KN_PIECE_DISC, /* flat cap: centre p, outward normal u, radius r */
  KN_PIECE_FACE  /* polygon with outward normal u */
} kn_piece_kind;

typedef struct kn_piece {
  kn_piece_kind kind;
  v3 p, q, u;
  double r;
  const kn_core* core;
  int32_t id[2]; /* vertices of a point or an edge, the face, the cap (1: upper) */
} kn_piece;

#define KN_PIECES 16
/* Pieces of a core that may hold the contact in a direction near d (unit, outward), likeliest first. near:
   the other core's support point, which tells the edges of a flat face apart. */
int kn_pieces_of(kn_piece* out, const kn_core* c, v3 d, v3 near);

/* The piece of a core that code names: its kind and its id; false: there is none such (a code may be anything). */
bool kn_piece_named(kn_piece* out, const kn_core* c, const int32_t code[3]);

/* Radius of a ball inside the core that touches the piece at x from within; 0: none is known. */
double kn_piece_ball(const kn_piece* s, v3 x);

/* Maximises g(n) over the directions in which both pieces can support, starting at n; then finds the
   witnesses. out->gap is the true separation of the whole cores along out->n (a valid bound whatever the
   pieces are); returns |a - b - gap n|: 0 means that n is stationary and the pieces were the right ones.
   INFINITY, and no witnesses: the separation is below floor. */
double kn_piece_solve(kn_core_gap* out, const kn_piece* a, const kn_piece* b, const kn_core* A,
                      const kn_core* B, v3 n, double size, double floor);
/* Evaluations of two pieces along a direction in this thread: by far the most of what a distance of curved shapes costs. */
int64_t kn_piece_work(void);

/* Two cylinders whose caps nearly face each other along n and whose rims cross (distance_caps.c). Returns the
   misfit as kn_piece_solve does, INFINITY: not the case. */
double kn_caps_cross(kn_core_gap* out, const kn_core* A, const kn_core* B, v3 n, double size);

/* Ellipsoid over a face of a box in closed form (distance_face.c); false: not the case, or not proven. */
bool kn_face_ellipsoid(kn_core_gap* out, const kn_core* A, const kn_core* B);
