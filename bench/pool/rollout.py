"""mujoco.rollout for `knuckle bench pool`: reads jobs from standard input, answers on standard output.

    rollout.py MODEL.xml STATES.f64 WORLDS STEPS TIMESTEP

STATES.f64: WORLDS rows of nq, nv and nu numbers. Each line of input is "THREADS VARIANT" (0: the file's integrator, 1:
implicitfast); the answer is "seconds cpu contacts overlap unstable" of one rollout: wall time, time of
all its threads, contacts of the last states (mean) and the deepest
overlap among them, and how often a state was not finite (MuJoCo then begins again from the reference). Controls are held. The first answer is the version and the thread count the package would choose.
"""

import os
import sys
import time

import mujoco
import numpy as np
from mujoco import rollout


def main() -> None:
    path, states, worlds, steps, timestep = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    model = mujoco.MjModel.from_xml_path(path)
    model.opt.timestep = timestep
    model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE  # 4.0.0 has a wrong sparse factor in Newton's method
    asis = model.opt.integrator
    rows = np.fromfile(states).reshape(worlds, model.nq + model.nv + model.nu)
    data = [mujoco.MjData(model) for _ in range(max(2, os.cpu_count() or 2))]
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    size = mujoco.mj_stateSize(model, kind)
    initial = np.zeros((worlds, size))
    for i, row in enumerate(rows):
        data[0].qpos, data[0].qvel = row[: model.nq], row[model.nq : model.nq + model.nv]
        mujoco.mj_getState(model, data[0], initial[i], kind)
    control = np.ascontiguousarray(np.broadcast_to(rows[:, None, model.nq + model.nv :], (worlds, steps, model.nu)))
    out = np.zeros((worlds, steps, size))
    sensors = np.zeros((worlds, steps, model.nsensordata))
    crews = {}
    print(mujoco.__version__, flush=True)
    for line in sys.stdin:
        threads, variant = (int(x) for x in line.split())
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST if variant else asis
        if threads not in crews:
            crews[threads] = rollout.Rollout(nthread=threads if threads > 1 else 0)
        given = data[:threads] if threads > 1 else data[0]
        for d in data:
            d.warning.number[:] = 0
        start, cpu = time.perf_counter(), time.process_time()
        crews[threads].rollout(model, given, initial, control, state=out, sensordata=sensors)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        bad = sum(int(d.warning.number[k]) for d in data for k in (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC))
        contacts, overlap = 0, 0.0
        for i in range(min(worlds, 32)):
            mujoco.mj_setState(model, data[0], out[i, -1], kind)
            mujoco.mj_forward(model, data[0])
            contacts += data[0].ncon
            overlap = max(overlap, -data[0].contact.dist.min()) if data[0].ncon else overlap
        print(seconds, cpu, contacts / min(worlds, 32), overlap, bad, flush=True)


main()
