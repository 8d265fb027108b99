"""Compares loaded URDF models with Pinocchio, with fixed and floating base: dof, mass, M and the bias force at random states.

    /opt/knuckle-peers/bin/python test/oracle/pinocchio_models.py build/knuckle ../shared/data/models [--states 10] [--table FILE]

Joints are matched by name (Pinocchio merges fixed links, orders joints by name and gives continuous joints two coordinates).
A free base has v = (world linear, body angular) here and (body linear, body angular) there: v' = T v, M = Tᵀ M' T,
bias = Tᵀ (bias' + M' Ṫ v). Tolerance 1e-8 relative to the largest entry.
"""
import argparse, glob, json, os, subprocess, sys
import numpy as np
import pinocchio as pin


def check(program, path, base, q, v):
    cmd = [program, "check", path, "--json", "--no-meshes", "--base", base, "--dump", "M,bias,joints"]
    if q is not None and len(q):
        cmd += ["--q=" + ",".join("%.17g" % x for x in q), "--v=" + ",".join("%.17g" % x for x in v)]
    run = subprocess.run(cmd, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    return json.loads(run.stdout)


def rel(a, b, floor=0.0):
    a, b = np.asarray(a, float), np.asarray(b, float)
    scale = max(np.abs(b).max(initial=0.0), floor)
    return np.abs(a - b).max(initial=0.0) / scale if scale > 0 else np.abs(a).max(initial=0.0)


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def to_pinocchio(m, joints, q, v):
    """Their q, and T, Ṫ with v' = T v."""
    qp = pin.neutral(m)
    T, Td = np.zeros((m.nv, len(v))), np.zeros((m.nv, len(v)))
    for j in joints:
        k = m.getJointId(j["name"])
        if k >= m.njoints:
            raise RuntimeError("Pinocchio has no joint " + j["name"])
        iq, iv, a, b = m.joints[k].idx_q, m.joints[k].idx_v, j["q"], j["v"]
        if j["type"] == "free":
            qp[iq:iq + 3] = q[a:a + 3]
            w, x, y, z = q[a + 3:a + 7]
            qp[iq + 3:iq + 7] = [x, y, z, w]
            R = pin.Quaternion(w, x, y, z).toRotationMatrix()
            T[iv:iv + 3, b:b + 3] = R.T
            T[iv + 3:iv + 6, b + 3:b + 6] = np.eye(3)
            Td[iv:iv + 3, b:b + 3] = -skew(v[b + 3:b + 6]) @ R.T
        else:
            if m.joints[k].nq == 2:
                qp[iq:iq + 2] = [np.cos(q[a]), np.sin(q[a])]
            else:
                qp[iq] = q[a]
            T[iv, b] = 1.0
    return qp, T, Td


def reference(m, d, joints, q, v):
    qp, T, Td = to_pinocchio(m, joints, q, v)
    M = pin.crba(m, d, qp)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.nonLinearEffects(m, d, qp, T @ v)
    return T.T @ M @ T, T.T @ (bias + M @ (Td @ v))


def compare(program, path, base, states, rng):
    first = check(program, path, base, None, None)
    m = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if base == "floating" else pin.buildModelFromUrdf(path)
    d = m.createData()
    joints = first["joint"]
    # Pinocchio puts what is fixed to the world into the universe's inertia
    mass = sum(i.mass for i in m.inertias)
    out = {"nv": first["nv"] - m.nv, "mass": rel([first["mass"]], [mass])}
    if out["nv"]:
        return out | {"M": 1.0, "bias": 1.0}
    worst_M = worst_bias = 0.0
    for k in range(states + 1):
        q, v = np.zeros(first["nq"]), np.zeros(first["nv"])
        for j in joints:
            if j["type"] == "free":
                q[j["q"] + 3] = 1.0
        if k:
            v = 0.5 * rng.standard_normal(first["nv"])
            for j in joints:
                if j["type"] == "free":
                    q[j["q"]:j["q"] + 3] = rng.uniform(-1, 1, 3)
                    x = rng.standard_normal(4)
                    q[j["q"] + 3:j["q"] + 7] = x / np.linalg.norm(x)
                elif j["limited"]:
                    q[j["q"]] = rng.uniform(max(j["range"][0], -3), min(j["range"][1], 3))  # some limits are 1e16
                else:
                    q[j["q"]] = rng.uniform(-1, 1)
        M, bias = reference(m, d, joints, q, v)
        ours = check(program, path, base, q, v)
        n = first["nv"]
        worst_M = max(worst_M, rel(np.array(ours["M"]).reshape(n, n), M))
        worst_bias = max(worst_bias, rel(ours["bias"], bias, 1e-9))
        if k == 0:
            sign, logdet = np.linalg.slogdet(M) if n else (1, 0.0)
            out["row"] = (-1, -1, n, mass, np.trace(M) if n else 0.0, logdet, np.linalg.norm(bias))
    out["M"], out["bias"] = worst_M, worst_bias
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("folder")
    p.add_argument("--states", type=int, default=10)
    p.add_argument("--table")
    p.add_argument("--only", default="")
    a = p.parse_args()
    bad, refused, rows = 0, 0, {"fixed": [], "floating": []}
    for path in sorted(glob.glob(os.path.join(a.folder, "**", "*.urdf"), recursive=True)):
        name = os.path.relpath(path, a.folder)
        if a.only and a.only not in name:
            continue
        for base in ("fixed", "floating"):
            rng = np.random.default_rng(1)
            try:
                r = compare(a.program, path, base, a.states, rng)
            except RuntimeError as e:
                print("%-40s %-8s refused: %s" % (os.path.basename(name), base, str(e)[-150:]))
                refused += 1
                continue
            ok = r["nv"] == 0 and max(r["mass"], r["M"], r["bias"]) <= 1e-8
            bad += not ok
            if "row" in r:
                rows[base].append((name,) + tuple(r["row"]))
            print("%-40s %-8s %s dnv %d mass %.1e M %.1e bias %.1e" % (os.path.basename(name), base, "ok  " if ok else "BAD ", r["nv"], r["mass"], r["M"], r["bias"]))
    if a.table:
        for base in rows:
            with open(a.table.replace("BASE", base), "w") as f:
                f.write("# Pinocchio %s, %s base: - - nv mass trace_M logdet_M bias_norm at the zero position, at rest\n" % (pin.__version__, base))
                for row in rows[base]:
                    f.write("%s %d %d %d %.17g %.17g %.17g %.17g\n" % row)
    print("%d compared, %d bad, %d refused" % (len(rows["fixed"]) + len(rows["floating"]), bad, refused))
    return 1 if bad else 0


sys.exit(main())
