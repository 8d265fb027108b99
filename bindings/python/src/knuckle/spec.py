"""Describing a mechanism in Python: `Spec`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import given, nearest, pointer
from .errors import BadArgumentError, check
from .model import JointType, LoopType, Material, Model, SensorType, ShapeType, kind_of

Vector = npt.ArrayLike


def _name(keep: list[Any], name: str) -> Any:
    if "\0" in name:
        raise BadArgumentError("a name holds a zero byte")
    keep.append(ffi.new("char[]", name.encode()))
    return keep[-1]


def _set(target: Any, name: str, value: Vector | None, n: int) -> None:
    if value is not None:
        array = given(value, (n,), name)
        getattr(target, name)[0:n] = [float(x) for x in array]


def _number(target: Any, **values: float | bool | None) -> None:
    for name, value in values.items():
        if value is not None:
            try:
                setattr(target, name, value)
            except (TypeError, OverflowError) as e:
                raise BadArgumentError(f"{name}: {value!r}, {e}") from None


def _material(target: Any, m: Material | None) -> None:
    if m is None:
        return
    target.mu, target.torsion, target.roll, target.e = m.mu, m.torsion, m.roll, m.e
    target.law = lib.KN_CONTACT_COMPLIANT if m.compliant else lib.KN_CONTACT_RIGID
    target.K, target.C, target.Kt, target.Ct, target.priority, target.mu2 = m.K, m.C, m.Kt, m.Ct, m.priority, m.mu2


class Spec:
    """An editable description, compiled into a `Model`.

        spec = knuckle.Spec("arm")
        spec.body("link", pos=[0, 0, 1])
        spec.joint("elbow", body="link", type="hinge", axis=[0, 1, 0])
        spec.geom("rod", body="link", type="capsule", size=[0.03, 0.2])
        model = spec.compile()

    Parents come first; bodies and joints are named by their names or by the numbers the methods return. Whatever is not
    given has the C API's default (knuckle/spec.h). SI units. gravity: m/s²; magnetic: the field that magnetometers see, world axes.
    """

    def __init__(self, name: str = "", gravity: Vector = (0.0, 0.0, -9.81), magnetic: Vector | None = None) -> None:
        out = ffi.new("kn_spec**")
        check(lib.kn_spec_create(out))
        self._c = ffi.gc(out[0], lib.kn_spec_destroy)
        self._bodies: dict[str, int] = {"world": -1}
        self._joints: dict[str, int] = {}
        self._geoms: dict[str, int] = {}
        self._frames: dict[str, int] = {}
        self._actuators: dict[str, int] = {}
        keep: list[Any] = []
        check(lib.kn_spec_set_name(self._c, _name(keep, name)))
        g = given(gravity, (3,), "gravity")
        check(lib.kn_spec_set_gravity(self._c, pointer(g)))
        if magnetic is not None:
            check(lib.kn_spec_set_magnetic(self._c, pointer(given(magnetic, (3,), "magnetic"))))

    @staticmethod
    def _find(known: dict[str, int], kind: str, key: int | str) -> int:
        if isinstance(key, str):
            if key not in known:
                raise nearest(kind, key, list(known))
            return known[key]
        return int(key)

    def body(self, name: str = "", parent: int | str = "world", *, pos: Vector | None = None, quat: Vector | None = None,
             mass: float | None = None, com: Vector | None = None, inertia: Vector | None = None,
             gravcomp: float | None = None) -> int:
        """Adds a body; returns its number. Without `mass` its inertia comes from its geoms.

        inertia: xx yy zz [xy xz yz] about the centre of mass, kg m²; pos, quat: in the parent's frame.
        """
        keep: list[Any] = []
        d = ffi.new("kn_body_def*", lib.kn_body_default())
        d.name, d.parent = _name(keep, name), self._find(self._bodies, "body", parent)
        _set(d, "pos", pos, 3)
        _set(d, "quat", quat, 4)
        _set(d, "com", com, 3)
        d.inertia_from_geoms = mass is None
        if inertia is not None:
            values = np.atleast_1d(np.asarray(inertia, dtype=np.float64))
            _set(d, "inertia", np.concatenate([values, np.zeros(3)]) if values.shape == (3,) else values, 6)
        _number(d, mass=mass, gravcomp=gravcomp)
        out = ffi.new("kn_body*")
        check(lib.kn_spec_add_body(out, self._c, d))
        if name:
            self._bodies[name] = out[0]
        return out[0]

    def joint(self, name: str = "", *, body: int | str, type: JointType | str = "hinge", axis: Vector | None = None,
              axis2: Vector | None = None, pos: Vector | None = None, range: Vector | None = None, damping: float | None = None,
              armature: float | None = None, stiffness: float | None = None, spring_ref: float | None = None,
              ref: float | None = None, friction: float | None = None, pitch: float | None = None) -> int:
        """Adds a joint that moves `body`; returns its number. range: (low, high), rad or m."""
        keep: list[Any] = []
        kind = kind_of(JointType, type, "joint type")
        d = ffi.new("kn_joint_def*", lib.kn_joint_default(kind))
        d.name, d.body = _name(keep, name), self._find(self._bodies, "body", body)
        _set(d, "axis", axis, 3)
        _set(d, "axis2", axis2, 3)
        _set(d, "pos", pos, 3)
        if range is not None:
            low, high = given(range, (2,), "range")
            d.limited, d.range[0][0], d.range[0][1] = True, low, high
        if spring_ref is not None:
            d.spring_ref[0] = spring_ref
        if ref is not None:
            d.ref[0] = ref
        _number(d, damping=damping, armature=armature, stiffness=stiffness, friction=friction, pitch=pitch)
        out = ffi.new("kn_joint*")
        check(lib.kn_spec_add_joint(out, self._c, d))
        if name:
            self._joints[name] = out[0]
        return out[0]

    def geom(self, name: str = "", *, body: int | str = "world", type: ShapeType | str = "sphere", size: Vector | None = None,
             pos: Vector | None = None, quat: Vector | None = None, points: Vector | None = None, triangles: npt.ArrayLike | None = None,
             material: Material | None = None, density: float | None = None, mass: float | None = None, contype: int | None = None,
             conaffinity: int | None = None, condim: int | None = None, margin: float | None = None, rgba: Vector | None = None,
             group: int | None = None) -> int:
        """Adds a shape to a body; returns its number.

        size: radius; radius and half length; half extents. points (n x 3): the convex hull of them, or with triangles
        (m x 3) a static mesh.
        """
        keep: list[Any] = []
        kind = kind_of(ShapeType, type, "shape")
        d = ffi.new("kn_geom_def*", lib.kn_geom_default(kind))
        d.name, d.body = _name(keep, name), self._find(self._bodies, "body", body)
        if size is not None:
            values = np.atleast_1d(np.asarray(given(np.atleast_1d(np.asarray(size, dtype=np.float64)), (None,), "size")))
            if not 1 <= len(values) <= 3:
                raise BadArgumentError(f"size: {len(values)} numbers, expected 1 to 3")
            d.shape.size[0:3] = [float(x) for x in values] + [d.shape.size[k] for k in (0, 1, 2)][len(values):]
        _set(d, "pos", pos, 3)
        _set(d, "quat", quat, 4)
        _material(d.material, material)
        _number(d, density=density, mass=mass, contype=contype, conaffinity=conaffinity, condim=condim, margin=margin, group=group)
        if rgba is not None:
            d.rgba[0:4] = [float(x) for x in given(rgba, (4,), "rgba")]
        hull = self._surface(d, kind, points, triangles)
        out = ffi.new("kn_geom*")
        status = lib.kn_spec_add_geom(out, self._c, d)
        if status and hull is not None:
            from .errors import failure

            error = failure(status)
            hull()
            raise error
        check(status)
        if name:
            self._geoms[name] = out[0]
        return out[0]

    @staticmethod
    def _surface(d: Any, kind: ShapeType, points: Vector | None, triangles: npt.ArrayLike | None) -> Any:
        """Hull or mesh of the points, owned by the spec once it is added; what undoes it."""
        if kind not in (ShapeType.HULL, ShapeType.MESH):
            if points is not None or triangles is not None:
                raise BadArgumentError(f"points belong to hulls and meshes, not to a {kind.name.lower()}")
            return None
        if points is None:
            raise BadArgumentError(f"a {kind.name.lower()} needs points (n x 3)")
        x = given(points, (None, 3), "points")
        d.own_shape = True
        if kind == ShapeType.HULL:
            hull = ffi.new("kn_hull**")
            check(lib.kn_hull_create(hull, pointer(x), len(x), ffi.NULL))
            d.shape.hull = hull[0]
            return lambda: lib.kn_hull_destroy(hull[0])
        if triangles is None:
            raise BadArgumentError("a mesh needs triangles (m x 3)")
        t = np.ascontiguousarray(triangles, dtype=np.int32)
        if t.ndim != 2 or t.shape[1] != 3:
            raise BadArgumentError(f"triangles: shape {t.shape}, expected m x 3")
        data, mesh = ffi.new("kn_mesh_data*"), ffi.new("kn_mesh**")
        check(lib.kn_mesh_data_create(data, pointer(x), len(x), ffi.cast("int32_t*", ffi.from_buffer(t)) if t.size else ffi.NULL, len(t)))
        try:
            check(lib.kn_mesh_create(mesh, data, ffi.NULL))
        finally:
            lib.kn_mesh_data_free(data)
        d.shape.mesh = mesh[0]
        return lambda: lib.kn_mesh_destroy(mesh[0])

    def frame(self, name: str, *, body: int | str, pos: Vector | None = None, quat: Vector | None = None,
              zone: ShapeType | str | None = None, zone_size: Vector | None = None) -> int:
        """Adds a named point and axes (a site); returns its number. zone, zone_size: where a touch sensor there feels contacts."""
        keep: list[Any] = []
        d = ffi.new("kn_frame_def*", lib.kn_frame_default())
        d.name, d.body = _name(keep, name), self._find(self._bodies, "body", body)
        _set(d, "pos", pos, 3)
        _set(d, "quat", quat, 4)
        if zone is not None:
            d.zone = kind_of(ShapeType, zone, "shape")
        if zone_size is not None:
            values = [float(x) for x in given(np.atleast_1d(np.asarray(zone_size, dtype=np.float64)), (None,), "zone_size")][:3]
            d.zone_size[0:3] = values + [values[-1]] * (3 - len(values))
        out = ffi.new("kn_frame*")
        check(lib.kn_spec_add_frame(out, self._c, d))
        self._frames[name] = out[0]
        return out[0]

    def actuator(self, name: str = "", *, joint: int | str | None = None, site: int | str | None = None, refsite: int | str | None = None,
                 kind: str = "motor", gear: float | Vector = 1.0, kp: float | None = None, kv: float | None = None,
                 ctrl_range: Vector | None = None, force_range: Vector | None = None) -> int:
        """Adds a motor, or a "position" (kp, kv) or "velocity" (kv) servo; returns its number.

        It drives a joint, or pushes the frame `site` with gear (force and torque, 6 numbers) along the axes of that frame, or
        of `refsite`, which is pushed back: a propeller, a thruster.
        """
        keep: list[Any] = []
        if (joint is None) == (site is None):
            raise BadArgumentError("an actuator drives a joint or a site, expected one of them")
        j = -1 if joint is None else self._find(self._joints, "joint", joint)
        if kind == "motor":
            d = ffi.new("kn_actuator_def*", lib.kn_actuator_default())
            d.joint[0] = j
        elif kind == "position":
            d = ffi.new("kn_actuator_def*", lib.kn_actuator_position(j, 1.0 if kp is None else kp, kv or 0.0))
        elif kind == "velocity":
            d = ffi.new("kn_actuator_def*", lib.kn_actuator_velocity(j, 1.0 if kv is None else kv))
        else:
            raise BadArgumentError(f"kind is {kind!r}, expected motor, position or velocity")
        d.name = _name(keep, name)
        if site is None:
            d.gear[0] = float(given(gear, (), "gear"))
        else:
            values = [float(x) for x in given(np.atleast_1d(np.asarray(gear, dtype=np.float64)), (None,), "gear")]
            if len(values) > 6:
                raise BadArgumentError(f"gear: {len(values)} numbers, expected at most 6")
            d.joints, d.site = 0, self._find(self._frames, "frame", site)
            d.refsite = -1 if refsite is None else self._find(self._frames, "frame", refsite)
            d.site_gear[0:6] = values + [0.0] * (6 - len(values))
        for field, flag, value in (("ctrl_range", "ctrl_limited", ctrl_range), ("force_range", "force_limited", force_range)):
            if value is not None:
                _set(d, field, value, 2)
                setattr(d, flag, True)
        out = ffi.new("kn_actuator*")
        check(lib.kn_spec_add_actuator(out, self._c, d))
        if name:
            self._actuators[name] = out[0]
        return out[0]

    def sensor(self, name: str = "", *, type: SensorType | str, frame: int | str | None = None, body: int | str | None = None,
               ref_frame: int | str | None = None, ref_body: int | str | None = None, joint: int | str | None = None,
               actuator: int | str | None = None, cutoff: float = 0.0) -> int:
        """Adds a sensor (`SensorType`: "gyro", "joint_pos", "frame_quat", …) that looks at what its type can measure; returns its number."""
        keep: list[Any] = []
        d = ffi.new("kn_sensor_def*", lib.kn_sensor_default(kind_of(SensorType, type, "sensor type")))
        d.name = _name(keep, name)
        for field, known, kind, key in (("frame", self._frames, "frame", frame), ("body", self._bodies, "body", body),
                                        ("ref_frame", self._frames, "frame", ref_frame), ("ref_body", self._bodies, "body", ref_body),
                                        ("joint", self._joints, "joint", joint), ("actuator", self._actuators, "actuator", actuator)):
            if key is not None:
                setattr(d, field, self._find(known, kind, key))
        _number(d, cutoff=cutoff)
        out = ffi.new("kn_sensor*")
        check(lib.kn_spec_add_sensor(out, self._c, d))
        return out[0]

    def loop(self, name: str = "", *, type: LoopType | str = "connect", a: int | str = "world", b: int | str = "world",
             pos_a: Vector | None = None, quat_a: Vector | None = None, pos_b: Vector | None = None, quat_b: Vector | None = None,
             length: float | None = None, joint1: int | str | None = None, joint2: int | str | None = None,
             coef: Sequence[float] | None = None) -> int:
        """Closes a loop between bodies a and b, or couples joints (joint1 = Σ coef joint2^i); returns its number.

        Without pos_b (or length) the loop is closed as the reference position has it.
        """
        keep: list[Any] = []
        kind = kind_of(LoopType, type, "loop type")
        d = ffi.new("kn_loop_def*", lib.kn_loop_default(kind))
        d.name = _name(keep, name)
        d.a, d.b = self._find(self._bodies, "body", a), self._find(self._bodies, "body", b)
        for field, value, n in (("pos_a", pos_a, 3), ("quat_a", quat_a, 4), ("pos_b", pos_b, 3), ("quat_b", quat_b, 4)):
            _set(d, field, value, n)
        d.from_reference = kind != LoopType.COUPLING and pos_b is None and length is None
        _number(d, length=length)
        if joint1 is not None:
            d.joint1 = self._find(self._joints, "joint", joint1)
        if joint2 is not None:
            d.joint2 = self._find(self._joints, "joint", joint2)
        if coef is not None:
            if len(coef) > 5:
                raise BadArgumentError(f"coef: {len(coef)} numbers, expected at most 5")
            _set(d, "coef", list(coef) + [0.0] * (5 - len(coef)), 5)
        out = ffi.new("kn_loop*")
        check(lib.kn_spec_add_loop(out, self._c, d))
        return out[0]

    def pair(self, a: int | str, b: int | str, *, material: Material | None = None, condim: int | None = None,
             margin: float | None = None) -> None:
        """Two geoms that collide whatever their bits say, with a surface of their own."""
        d = ffi.new("kn_pair_def*", lib.kn_pair_default())
        d.a, d.b = self._find(self._geoms, "geom", a), self._find(self._geoms, "geom", b)
        _material(d.material, material)
        _number(d, condim=condim, margin=margin)
        check(lib.kn_spec_add_pair(self._c, d))

    def exclude(self, a: int | str, b: int | str) -> None:
        """Two bodies that do not collide."""
        check(lib.kn_spec_add_exclusion(self._c, self._find(self._bodies, "body", a), self._find(self._bodies, "body", b)))

    def keyframe(self, name: str, *, time: float = 0.0, q: Vector | None = None, v: Vector | None = None, ctrl: Vector | None = None) -> None:
        """A named state."""
        keep: list[Any] = []
        d = ffi.new("kn_keyframe_def*")
        d.name, d.time = _name(keep, name), float(given(time, (), "time"))
        for field, size, value in (("q", "nq", q), ("v", "nv", v), ("ctrl", "nu", ctrl)):
            if value is not None:
                array = given(value, (None,), field)
                keep.append(array)
                setattr(d, field, pointer(array))
                setattr(d, size, len(array))
        check(lib.kn_spec_add_keyframe(self._c, d))

    def compile(self) -> Model:
        """Checks everything and builds the model; the spec stays usable."""
        out = ffi.new("kn_model**")
        check(lib.kn_compile(out, self._c))
        return Model(ffi.gc(out[0], lib.kn_model_destroy))

    def __repr__(self) -> str:
        return f"<Spec: {len(self._bodies) - 1} named bodies, {len(self._joints)} named joints, {len(self._geoms)} named geoms>"
