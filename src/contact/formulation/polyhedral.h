/* Coulomb friction with a polyhedron of nf directions as a linear complementarity problem (jain-2014 Eqs.
   10-14, 41).

   Per rough contact z = [F_n, β (nf), σ];  D = [n, d_1 … d_nf];
     [ Dᵀ Λ D   Ê ] z + [ Dᵀ(v_free) + bias ]  ⊥ z,    Ê = (0, 1 … 1)ᵀ,  Ē = (mu, -1 … -1)
     [    Ē     0 ]     [      mu θ_n       ]
   The last entry is mu θ_n in the decompression phase: the papers print 0 there (002 Eq. 57, 000 Eq. 40),
   which leaves the recovered normal impulse without friction and creates energy. Free rows stay free, others
   keep their bounds.

   Refinement (w->poly.friction_tol > 0). The cone's own solution has p_t = Proj(p_t - ρ u_t) on the disc of radius
   mu p_n. A polyhedron with a vertex in the direction of p_t - ρ u_t at every contact holds that solution, so
   each contact's polyhedron is turned there and the problem solved again, until
   max |p_t - Proj(p_t - ρ u_t)| <= tol max mu p_n; where turning alone does not bring it closer the
   directions are doubled. */
#pragma once

#include "contact/formulation/formulation.h"

/* Finest polyhedron a refinement may reach that starts with so many directions. */
static inline int kn_polyhedral_finest(int directions) { return 2 * directions; }
int kn_polyhedral_rows(int rows, int cones, int directions);
kn_status kn_polyhedral_solve(double* r, kn_contact_solution* out, kn_contact_work* w, const double* theta,
                              double tolerance, int directions, const char* solver);
