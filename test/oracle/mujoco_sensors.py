"""Sensor values by MuJoCo, at random states without contact.

    /opt/knuckle-peers/bin/python test/oracle/mujoco_sensors.py test/step/sensors/all.xml [...] [--states 4] > test/step/sensors/reference.txt
    /opt/knuckle-peers/bin/python test/oracle/mujoco_sensors.py --root ../shared/data/models/mjcf --states 2 FILE... > test/step/sensors/robots.txt

A line "model FILE", then for each state "state TIME", "q …", "v …", "u …" and a line "NAME numbers …" for every sensor.
The air has no weight and constraints are off, so that accelerations are those of the smooth forces, except for the sensors of joint limits.
"""
import argparse
import os

import mujoco
import numpy as np

# what the loader of this repository reads; others are left out with a note
KNOWN = {int(getattr(mujoco.mjtSensor, "mjSENS_" + n)) for n in
         """TOUCH ACCELEROMETER VELOCIMETER GYRO FORCE TORQUE MAGNETOMETER RANGEFINDER JOINTPOS JOINTVEL ACTUATORPOS
         ACTUATORVEL ACTUATORFRC JOINTACTFRC BALLQUAT BALLANGVEL JOINTLIMITPOS JOINTLIMITVEL JOINTLIMITFRC FRAMEPOS FRAMEQUAT
         FRAMEXAXIS FRAMEYAXIS FRAMEZAXIS FRAMELINVEL FRAMEANGVEL FRAMELINACC FRAMEANGACC SUBTREECOM SUBTREELINVEL
         SUBTREEANGMOM E_POTENTIAL E_KINETIC CLOCK""".split()}
LIMITS = {int(mujoco.mjtSensor.mjSENS_JOINTLIMITPOS), int(mujoco.mjtSensor.mjSENS_JOINTLIMITVEL)}


def place(m, d, rng):
    """A random state: angles of up to a radian, limits exceeded now and then."""
    mujoco.mj_resetData(m, d)
    d.time = rng.uniform(0, 5)
    v = rng.uniform(-1, 1, m.nv)
    mujoco.mj_integratePos(m, d.qpos, v, 1.0)
    d.qvel[:] = rng.uniform(-2, 2, m.nv)
    d.ctrl[:] = rng.uniform(-1, 1, m.nu)


def values(m, d):
    off = int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    m.opt.disableflags &= ~off
    mujoco.mj_forward(m, d)
    hard = d.sensordata.copy()
    m.opt.disableflags |= off
    mujoco.mj_forward(m, d)
    out = d.sensordata.copy()
    for i in range(m.nsensor):
        if int(m.sensor_type[i]) in LIMITS:
            a, n = m.sensor_adr[i], m.sensor_dim[i]
            out[a:a + n] = hard[a:a + n]
    return out


def line(name, x):
    print(name, *(format(float(v), ".17g") for v in x))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("files", nargs="+")
    p.add_argument("--states", type=int, default=4)
    p.add_argument("--root", default=".")
    a = p.parse_args()
    print(f"# MuJoCo {mujoco.__version__}; test/oracle/mujoco_sensors.py says how")
    for f in a.files:
        m = mujoco.MjModel.from_xml_path(os.path.join(a.root, f))
        m.opt.density = m.opt.viscosity = 0.0  # of the air: not supported here, and listed so
        d, rng = mujoco.MjData(m), np.random.default_rng(1)
        print("model", f)
        for _ in range(a.states):
            place(m, d, rng)
            x = values(m, d)
            line("state", [d.time]), line("q", d.qpos), line("v", d.qvel), line("u", d.ctrl)
            for i in range(m.nsensor):
                name = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_SENSOR, i)
                if name and int(m.sensor_type[i]) in KNOWN:
                    line(name, x[m.sensor_adr[i]:m.sensor_adr[i] + m.sensor_dim[i]])


main()
