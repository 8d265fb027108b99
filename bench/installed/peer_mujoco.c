#include <mujoco/mujoco.h>
#include <string.h>

#include "bench.h"
#include "peer.h"

static const char xml[] =
    "<mujoco><worldbody><body><joint type='hinge' axis='0 1 0'/><inertial pos='0 0 -1' mass='2' "
    "diaginertia='0.5 0.5 0.5'/></body></worldbody></mujoco>";

/* Mass matrix of a pendulum: I + m l². */
static double answer(void) {
  static mjModel* m;
  static mjData* d;
  mjtNum full[1];
  if (!m) {
    mjVFS vfs;
    char error[200];
    mj_defaultVFS(&vfs);
    mj_addBufferVFS(&vfs, "pendulum.xml", xml, (int)strlen(xml));
    m = mj_loadXML("pendulum.xml", &vfs, error, sizeof error);
    mj_deleteVFS(&vfs);
    if (!m) return 0;
    d = mj_makeData(m);
  }
  mj_forward(m, d);
  mj_fullM(m, d, full);
  return full[0];
}

KN_PEER_EXPORT const installed_peer kn_peer = {"inertia of a pendulum", 2.5, answer};
