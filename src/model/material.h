/* Which geoms may touch, and how the surfaces of a pair behave together. */
#pragma once

#include "model/model.h"

/* kn_model_collides, in this order: explicit pairs always; never within one link or between two that
   are fixed to the world; not between a body and its parent, unless the parent is fixed to the world (as in
   MuJoCo); not between excluded bodies; otherwise by the contact bits. */

/* The pair's surface: that of an explicit pair; otherwise kn_material_combine of the two geoms. */
void kn_material_pair(kn_material* out, const kn_model* model, kn_geom a, kn_geom b);
int kn_condim_pair(const kn_model* model, kn_geom a, kn_geom b);
/* Whether friction has more than one coefficient: torsion (condim 4 and more), rolling (6), a second mu. */
bool kn_friction_rich(const kn_material* material, int condim);
kn_geom kn_model_rich(const kn_model* model); /* the first geom whose surface or pair has; -1: none */
double kn_margin_pair(const kn_model* model, kn_geom a, kn_geom b);

/* mu, torsion, roll of the higher priority, of equal ones the larger; e the larger. Compliance in series, a
   rigid side being infinitely stiff: 1/K = 1/Ka + 1/Kb, the same for C, Kt, Ct. */
void kn_material_combine(kn_material* out, const kn_material* a, const kn_material* b);
