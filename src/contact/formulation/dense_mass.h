/* Dense pieces shared by the formulations that use the mass matrix: M̂ = M + diagonal, J row by row. */
#pragma once

#include "contact/formulation/formulation.h"

/* w->M = M at the present poses plus w->diagonal, nv x nv row-major, both triangles. */
void kn_dense_mass(kn_contact_work* w);
/* w->J = rows x nv row-major. */
void kn_dense_jacobian(kn_contact_work* w);
