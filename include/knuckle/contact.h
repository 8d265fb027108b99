/* One contact of a step, as detection found it and the solver left it. */
#ifndef KNUCKLE_CONTACT_H
#define KNUCKLE_CONTACT_H

#include "knuckle/comp.h"
#include "knuckle/types.h"

KN_BEGIN_DECLS

/* What a contact does: open, sticking, slipping. */
typedef enum kn_contact_mode { KN_MODE_OPEN, KN_MODE_STICK, KN_MODE_SLIP } kn_contact_mode;

/* One contact of a step: where, how, and with what force. */
typedef struct kn_contact {
  uint64_t key; /* geom pair and features; stable while the same features touch */
  kn_geom geom_a, geom_b;
  kn_body body_a, body_b;
  double point[3]; /* world */
  double frame[9]; /* rows: normal (B towards A), tangent 1, tangent 2; world */
  double gap;      /* m, at the evaluation point */
  double mu, e;
  double mu2, torsion,
      roll; /* friction along tangent 2 (mu unless the pair has two), lengths of spin and rolling, m */
  double impulse[3];  /* on A in the frame: normal, tangent 1, tangent 2; N s over the step */
  double velocity[3]; /* after the step, in the frame, m/s */
  double moment[3];   /* on A about the frame's axes by torsion and roll, N m s over the step */
  double spin[3]; /* of A relative to B after the step about the axes that torsion and roll act on, rad/s */
  kn_contact_mode mode;
  kn_answer determinate;                             /* is this force determined by the motion? */
  bool impact;                                       /* took part in an impact in this step */
  double e_used;                                     /* restitution after the guard and the landing rule */
  double impulse_compression, impulse_decompression; /* normal, N s */
  int island;
  bool rolling;    /* sticks while the bodies roll on each other; judged with settings.verdict */
  bool compliant;  /* the force came from the compliant law */
  double delta[3]; /* its deformation after the step in the frame, m: normal >= 0 when compressed */
} kn_contact;

KN_END_DECLS
#endif
