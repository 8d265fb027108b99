#!/usr/bin/env python3
"""Writes test/model/massprops_table.h: mass properties and frames as MuJoCo computes them.

Run with a Python that has mujoco, e.g. /opt/knuckle-peers/bin/python test/oracle/massprops.py
"""
import os
import mujoco
import numpy as np

rng = np.random.default_rng(7)
rows = []


def numbers(a):
    return ", ".join(f"{float(x):.17g}" for x in np.asarray(a).flatten())


def body(xml_asset, xml_geom):
    m = mujoco.MjModel.from_xml_string(
        f"<mujoco><compiler inertiafromgeom='true' boundmass='0'/><asset>{xml_asset}</asset>"
        f"<worldbody><body><freejoint/>{xml_geom}</body></worldbody></mujoco>")
    return m.body_mass[1], m.body_ipos[1], m.body_iquat[1], m.body_inertia[1]


def shapes(out):
    names = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
    for shell in (0, 1):
        for name, n in names.items():
            for _ in range(4):
                size = rng.uniform(0.05, 0.9, 3)
                size[n:] = 0
                text = " ".join(f"{x:.17g}" for x in size[:n])
                mass, pos, quat, inertia = body("", f"<geom type='{name}' size='{text}' density='730' "
                                                f"shellinertia='{'true' if shell else 'false'}'/>")
                out.append(f"    {{KN_SHAPE_{name.upper()}, {shell}, {{{numbers(size)}}}, {mass:.17g}, "
                           f"{{{numbers(quat)}}}, {{{numbers(inertia)}}}}},")


def prism(outline, height):
    n = len(outline)
    v = np.vstack([np.c_[outline, np.zeros(n)], np.c_[outline, np.full(n, height)]])
    faces = []
    for i in range(1, n - 1):
        faces += [(0, i + 1, i), (n, n + i, n + i + 1)]
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, j + n), (i, j + n, i + n)]
    return v, np.array(faces)


def meshes(out):
    el = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)], float)
    wedge = np.array([(0, 0), (1.3, 0.1), (0.9, 0.7), (0.2, 0.8)])
    for outline, height in ((el, 0.5), (wedge, 0.6)):
        v, f = prism(outline, height)
        v = v.astype(np.float32).astype(float)  # MuJoCo keeps mesh vertices in single precision
        for mode in ("exact", "convex", "legacy", "shell"):
            asset = (f"<mesh name='m' inertia='{mode}' vertex='{' '.join(f'{x:.17g}' for x in v.flatten())}' "
                     f"face='{' '.join(map(str, f.flatten()))}'/>")
            mass, pos, quat, inertia = body(asset, "<geom type='mesh' mesh='m' density='730'/>")
            out.append(f"    {{KN_MESH_INERTIA_{mode.upper()}, {len(v)}, {len(f)}, {{{numbers(v)}}}, "
                       f"{{{', '.join(map(str, f.flatten()))}}}, {mass:.17g}, {{{numbers(pos)}}}, {{{numbers(quat)}}}, "
                       f"{{{numbers(inertia)}}}}},")


def tensors(out):
    for t in range(24):
        a = rng.normal(size=(3, 3))
        a = a @ a.T
        if t % 4 == 1:
            a = np.diag(rng.permutation([1.0, 2.0, 3.0])) + 1e-7 * a
        if t % 4 == 2:
            a = np.diag(rng.integers(1, 3, 3).astype(float))
        if t % 4 == 3:
            a *= 1e-6
        values, vectors, quat = np.zeros(3), np.zeros(9), np.zeros(4)
        mujoco.mju_eig3(values, vectors, quat, a.flatten())
        six = [a[0, 0], a[1, 1], a[2, 2], a[0, 1], a[0, 2], a[1, 2]]
        out.append(f"    {{{{{numbers(six)}}}, {{{numbers(values)}}}, {{{numbers(quat)}}}}},")


out = [f"/* Written by test/oracle/massprops.py with MuJoCo {mujoco.__version__}; do not edit. */",
       "/* clang-format off */", "static const shape_row shape_table[] = {"]
shapes(out)
out += ["};", "static const mesh_row mesh_table[] = {"]
meshes(out)
out += ["};", "static const tensor_row tensor_table[] = {"]
tensors(out)
out += ["};", "/* clang-format on */"]
path = os.path.join(os.path.dirname(__file__), "..", "model", "massprops_table.h")
with open(path, "w") as f:
    f.write("\n".join(out) + "\n")
