/* Λ of nodes with the factors in data; see compliance.c. */
#pragma once

#include "dynamics/tree/dynamics.h"

void kn_dyn_compliance_recursive(double* L, kn_data* d, const kn_model* m, const kn_node* node, int count);
kn_status kn_dyn_compliance(double* L, kn_data* d, const kn_model* m, const kn_node* node, int count);
