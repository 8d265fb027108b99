/* Compliant laws with names. Kelvin-Voigt is linear; the others are a spring with a damper that vanishes with the
   deformation, so that the force neither jumps at the first touch nor pulls at the last:

     F = K δⁿ (1 + c δ̇)      n = 3/2: Hertz

     Hunt-Crossley          c a constant of the material: e falls with the speed, e = 1 - 2/3 c v + …
     Lankarani-Nikravesh    c = 3 (1 - e²)/(4 v)       v: speed at which the contact closed
     Flores                 c = 8 (1 - e)/(5 e v)

   The e that they return has a closed form (test/support/rebound.c): Lankarani and Nikravesh's is the one asked for
   only near e = 1 (0.5 returns 0.72), Flores' within 0.05 everywhere. */
#include <math.h>

#include "law/kelvin_voigt.h"

static double hunt_crossley(double ratio, double e, double speed) {
  (void)e, (void)speed;
  return ratio;
}

static double lankarani_nikravesh(double ratio, double e, double speed) {
  (void)ratio;
  return 0.75 * (1.0 - e * e) / speed;
}

static double flores(double ratio, double e, double speed) {
  (void)ratio;
  return 1.6 * (1.0 - e) / (fmax(e, 0.01) * speed); /* e = 0 would be rigid */
}

const kn_soft_name kn_soft_named[] = {
    {.name = "kelvin-voigt",
     .doc = "K d + C v: spring and damper side by side; e depends on C and the mass, not on the speed",
     .citation = "P. Song and V. Kumar, Dynamic simulation of grasps, Eqs. 6 and 7"},
    {.name = "hunt-crossley",
     .doc = "K d^n (1 + c v), c of the material (C/K): e falls with the approach speed",
     .citation = "K. H. Hunt and F. R. E. Crossley 1975",
     .power = true,
     .c = hunt_crossley},
    {.name = "lankarani-nikravesh",
     .doc = "K d^n (1 + 3 (1 - e^2)/4 v/v0): the pair's e at any approach speed v0, for e near 1",
     .citation = "H. M. Lankarani and P. E. Nikravesh 1990",
     .power = true,
     .c = lankarani_nikravesh},
    {.name = "flores",
     .doc = "K d^n (1 + 8 (1 - e)/(5 e) v/v0): the pair's e at any approach speed v0, for every e",
     .citation = "P. Flores, M. Machado, M. T. Silva and J. M. Martins 2011",
     .power = true,
     .c = flores},
};
