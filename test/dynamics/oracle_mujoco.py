"""Mass matrix, bias force and acceleration of the models a test left in a folder, by MuJoCo.

usage: oracle_mujoco.py FOLDER COUNT. Reads FOLDER/N.xml and FOLDER/N.in (doubles: q, v, tau), writes FOLDER/N.out
(doubles: M row-major, bias, qacc)."""
import sys

import mujoco
import numpy as np

folder, count = sys.argv[1], int(sys.argv[2])
for i in range(count):
    m = mujoco.MjModel.from_xml_path(f"{folder}/{i}.xml")
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    d = mujoco.MjData(m)
    x = np.fromfile(f"{folder}/{i}.in")
    if x.size != m.nq + 2 * m.nv:
        sys.exit(f"model {i}: nq {m.nq}, nv {m.nv}, but {x.size} numbers")
    d.qpos[:], d.qvel[:], d.qfrc_applied[:] = x[: m.nq], x[m.nq : m.nq + m.nv], x[m.nq + m.nv :]
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    np.concatenate([M.ravel(), d.qfrc_bias, d.qacc]).tofile(f"{folder}/{i}.out")
