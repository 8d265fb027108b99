"""Compares loaded MJCF models with MuJoCo: bodies, dof, mass, per-body inertia, and M and the bias force at random states.

    /opt/knuckle-peers/bin/python test/oracle/mujoco_models.py build/knuckle ../shared/data/models/mjcf [--states 10] [--table FILE]

Tolerances, relative to the largest entry: 1e-8, and 1e-6 where inertia comes from meshes (MuJoCo keeps single-precision
vertices). --table writes the reference table that the C test checks without MuJoCo.
"""
import argparse, glob, json, os, subprocess, sys
import numpy as np
import mujoco


def check(program, path, q, v):
    cmd = [program, "check", path, "--json", "--dump", "M,bias,bodies,joints,actuators"]
    if q is not None and len(q):
        cmd += ["--q=" + ",".join("%.17g" % x for x in q), "--v=" + ",".join("%.17g" % x for x in v)]
    run = subprocess.run(cmd, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return json.loads(run.stdout)


def rotation(quat):
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, np.array(quat, float))
    return R.reshape(3, 3)


def tensor(body):
    xx, yy, zz, xy, xz, yz = body["inertia"]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    R = rotation(body["inertia_quat"])
    return R @ I @ R.T


def rel(a, b, floor=0.0):
    a, b = np.asarray(a, float), np.asarray(b, float)
    scale = max(np.abs(b).max(initial=0.0), floor)
    return np.abs(a - b).max(initial=0.0) / scale if scale > 0 else np.abs(a).max(initial=0.0)


def random_state(m, rng):
    q, v = m.qpos0.copy(), 0.5 * rng.standard_normal(m.nv)
    for j in range(m.njnt):
        a = m.jnt_qposadr[j]
        if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            q[a:a + 3] += rng.uniform(-1, 1, 3)
            x = rng.standard_normal(4)
            q[a + 3:a + 7] = x / np.linalg.norm(x)
        elif m.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL:
            x = rng.standard_normal(4)
            q[a:a + 4] = x / np.linalg.norm(x)
        elif m.jnt_limited[j]:
            q[a] = rng.uniform(*m.jnt_range[j])
        else:
            q[a] += rng.uniform(-1, 1) * (0.1 if m.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE else 1)
    return q, v


def reference(m, d, q, v):
    d.qpos[:], d.qvel[:] = q, v
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    return M, d.qfrc_bias.copy()



def actuator_errors(m, ours):
    """Gains, biases and limits of the actuators both know, by name."""
    worst = 0.0
    for a in ours:
        i = mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_ACTUATOR, a["name"])
        if i < 0:
            continue
        worst = max(worst, rel([a["gain"]], [m.actuator_gainprm[i, 0]], 1e-12))
        bias = m.actuator_biasprm[i, :3] if m.actuator_biastype[i] == 1 else np.zeros(3)
        worst = max(worst, rel(a["bias"], bias, 1e-12))
        if m.actuator_ctrllimited[i]:
            worst = max(worst, rel(a.get("ctrl_range", [0, 0]), m.actuator_ctrlrange[i]))
        elif "ctrl_range" in a:
            worst = max(worst, 1.0)
    return worst


def joint_errors(m, ours):
    worst = 0.0
    for j, o in enumerate(ours):
        adr = m.jnt_dofadr[j]
        worst = max(worst, float(o["limited"] != bool(m.jnt_limited[j])))
        if m.jnt_limited[j]:
            worst = max(worst, rel(o["range"], m.jnt_range[j]))
        worst = max(worst, rel([o["armature"], o["friction"]], [m.dof_armature[adr], m.dof_frictionloss[adr]], 1e-12))
        worst = max(worst, rel([o["damping"]], [np.atleast_1d(m.dof_damping[adr])[0]], 1e-12))
        worst = max(worst, rel([o["stiffness"]], [np.atleast_1d(m.jnt_stiffness[j])[0]], 1e-12))
    return worst


def compare(program, path, states, rng):
    try:
        m = mujoco.MjModel.from_xml_path(path)
    except Exception as e:  # a file made to be included
        return {"skip": "MuJoCo: " + str(e).split("\n")[0][:80]}
    d = mujoco.MjData(m)
    first = check(program, path, None, None)
    out = {"bodies": first["bodies"] - (m.nbody - 1), "nq": first["nq"] - m.nq, "nv": first["nv"] - m.nv,
           "mass": rel([first["mass"]], [m.body_mass.sum()])}
    inertia = com = 0.0
    for i, b in enumerate(first["body"]):
        R = rotation(m.body_iquat[i + 1])
        theirs = R @ np.diag(m.body_inertia[i + 1]) @ R.T
        inertia = max(inertia, rel(tensor(b), theirs))
        if m.body_mass[i + 1] > 0:
            com = max(com, np.abs(np.array(b["com"]) - m.body_ipos[i + 1]).max())
    out["inertia"], out["com"] = inertia, com
    out["joints"] = joint_errors(m, first["joint"])
    out["actuators"] = actuator_errors(m, first["actuator"])
    out["nu"] = first["actuators"] - m.nu
    worst_M = worst_bias = 0.0
    for k in range(states + 1):
        q, v = (m.qpos0.copy(), np.zeros(m.nv)) if k == 0 else random_state(m, rng)
        M, bias = reference(m, d, q, v)
        ours = check(program, path, q, v)
        worst_M = max(worst_M, rel(np.array(ours["M"]).reshape(m.nv, m.nv), M))
        worst_bias = max(worst_bias, rel(ours["bias"], bias, 1e-9))
        if k == 0:
            sign, logdet = np.linalg.slogdet(M)
            out["row"] = (m.nbody - 1, m.nq, m.nv, m.body_mass.sum(), np.trace(M), logdet, np.linalg.norm(bias))
    out["M"], out["bias"] = worst_M, worst_bias
    mesh_inertia = any(m.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH for g in range(m.ngeom))
    out["limit"] = 1e-6 if mesh_inertia else 1e-8
    out["unsupported"] = len(first["unsupported"])
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--states", type=int, default=10)
    p.add_argument("--table")
    p.add_argument("--only", default="")
    a = p.parse_args()
    bad, rows = 0, []
    for path in sorted(glob.glob(os.path.join(a.folder, "*", "*.xml"))):
        name = os.path.relpath(path, a.folder)
        if a.only and a.only not in name:
            continue
        rng = np.random.default_rng(1)
        try:
            r = compare(a.program, path, a.states, rng)
        except RuntimeError as e:
            print("%-46s FAILED %s" % (name, e))
            bad += 1
            continue
        if "skip" in r:
            print("%-46s skipped, %s" % (name, r["skip"]))
            continue
        ok = (r["bodies"], r["nq"], r["nv"]) == (0, 0, 0) and max(r["mass"], r["inertia"], r["M"], r["bias"]) <= r["limit"] \
            and r["com"] <= r["limit"] and r["joints"] <= 1e-9 and r["actuators"] <= r["limit"]
        bad += not ok
        rows.append((name,) + tuple(r["row"]))
        print("%-46s %s dbody %d dnq %d dnv %d dnu %d mass %.1e com %.1e I %.1e joints %.1e act %.1e M %.1e bias %.1e unsupported %d" % (
            name, "ok  " if ok else "BAD ", r["bodies"], r["nq"], r["nv"], r["nu"], r["mass"], r["com"], r["inertia"], r["joints"], r["actuators"],
            r["M"], r["bias"], r["unsupported"]))
    if a.table:
        with open(a.table, "w") as f:
            f.write("# MuJoCo %s: bodies nq nv mass trace_M logdet_M bias_norm at the reference position, at rest\n" % mujoco.__version__)
            for row in rows:
                f.write("%s %d %d %d %.17g %.17g %.17g %.17g\n" % row)
    print("%d models, %d bad" % (len(rows), bad))
    return 1 if bad else 0


sys.exit(main())
