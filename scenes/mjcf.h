/* A model as MJCF text for peers and oracles: kinematics, inertia, joints, shapes, motors, loops. Numbers are
   written so that they read back exactly. Coordinates and dofs keep their order. */
#ifndef KN_SCENES_MJCF_H
#define KN_SCENES_MJCF_H

#include <stdio.h>

#include "knuckle/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_mjcf_settings {
  bool contact;     /* geoms keep their contact bits; otherwise nothing touches */
  bool constraints; /* limits, dry friction and loops are written */
  double timestep;  /* s */
  double
      least_inertia; /* kg m²: MuJoCo refuses links with less, and moments that no mass distribution has; above 0 it
                           gets at least these and balances the others itself. 0: all as the model has it */
} kn_mjcf_settings;

kn_mjcf_settings kn_mjcf_default(void); /* everything, 1 ms */

/* KN_UNSUPPORTED, with kn_mjcf_error() naming the element, when MuJoCo cannot express something: screw
   joints, prescribed motion, distance loops, static meshes. Planar, universal and cylindrical joints are
   written as several hinges and slides. */
kn_status kn_mjcf_write(FILE* file, const kn_model* model, const kn_mjcf_settings* settings);
kn_status kn_mjcf_save(const char* path, const kn_model* model, const kn_mjcf_settings* settings);
const char* kn_mjcf_error(void);

#ifdef __cplusplus
}
#endif
#endif
