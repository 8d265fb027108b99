"""What other engines call things that are here by another name: for the message of an attribute that is not there."""

from __future__ import annotations

import difflib

_SIM = {
    "qpos": "q", "qvel": "v", "qacc": "forces.acceleration", "qfrc_applied": "force", "qfrc_actuator": "forces.actuator",
    "qfrc_bias": "forces.bias", "qfrc_passive": "forces.passive", "qfrc_constraint": "forces.constraint", "qM": "mass_matrix", "M": "mass_matrix",
    "xpos": "body_poses.p", "xmat": "body_poses.R", "geom_xpos": "geom_poses.p", "geom_xmat": "geom_poses.R", "site_xpos": "frame_poses.p",
    "site_xmat": "frame_poses.R", "xipos": "body_poses and model.bodies[i].com", "cvel": "body_velocities", "contact": "contacts", "ncon": "len(sim.contacts)",
    "sensordata": "sensors", "opt": "settings", "t": "time", "data": "the simulator itself: sim.q, sim.v, sim.contacts", "nefc": "report.lcp_size",
}
_MODEL = {
    "opt": "Sim(model, dt=…, law=…).settings", "nbody": "len(model.bodies)", "njnt": "len(model.joints)", "ngeom": "len(model.geoms)",
    "nsite": "len(model.frames)", "nsensor": "len(model.sensors)", "nkey": "len(model.keyframes)", "na": "0: actuators have no state",
    "body_mass": "[b.mass for b in model.bodies]", "jnt_range": "model.joints[i]", "geom_size": "model.geoms[i].size", "createData": "State(model)",
    "qpos0": "State(model).q", "q0": "State(model).q",
}


def missing(thing: object, name: str) -> str:
    """The sentence of an AttributeError."""
    kind = type(thing).__name__
    there = {"Sim": _SIM, "Model": _MODEL}[kind].get(name)
    said = f"{kind!r} object has no attribute {name!r}"
    if there:
        return f"{said}; here it is {there}"
    near = difflib.get_close_matches(name, [n for n in dir(thing) if not n.startswith("_")], 1)
    return f"{said}; did you mean {near[0]!r}?" if near else said
