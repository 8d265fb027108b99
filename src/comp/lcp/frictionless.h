/* Frictionless contact three ways, inside: the problem in coordinates x = Lᵀ a, M = L Lᵀ, in which the M-norm is the
   Euclidean one (frictionless.c). The ways themselves share nothing beyond this. */
#pragma once

#include "knuckle/comp.h"

/* |a|_M = |x|, rows G = J L⁻ᵀ, c = L⁻¹ Q. */
typedef struct kn_white {
  int n, m;
  double* U; /* Uᵀ U = M */
  double* G; /* m x n */
  double* c; /* n */
  double* H; /* n x n scratch */
  double* t; /* 8 n + 6 m scratch */
} kn_white;

/* frictionless_convex.c: x (n) and multipliers (m), the steps it took. */
int kn_gauss_interior(double* x, double* lambda, kn_white* w);
/* 0: the contacts leave no open set of directions, or no direction leads down. */
int kn_descent_barrier(double* x, double* lambda, kn_white* w);
