"""The compiled mechanism: `load`, `Model` and what is inside."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, Names, frozen, given, nearest, owned, path_text, pointer, snapshot
from .errors import BadArgumentError, FileError, KnuckleError, NotFoundError, Status, check, failure, text_of

if TYPE_CHECKING:
    from .shapes import Shape


class JointType(enum.IntEnum):
    """Kinds of joints (knuckle/spec.h)."""

    FIXED = 0
    HINGE = 1
    SLIDE = 2
    BALL = 3
    FREE = 4
    PLANAR = 5
    UNIVERSAL = 6
    CYLINDRICAL = 7
    SCREW = 8


class ShapeType(enum.IntEnum):
    """Kinds of shapes (knuckle/types.h)."""

    PLANE = 0
    SPHERE = 1
    CAPSULE = 2
    CYLINDER = 3
    ELLIPSOID = 4
    BOX = 5
    HULL = 6
    MESH = 7


class LoopType(enum.IntEnum):
    """Kinds of loop closures (knuckle/spec.h)."""

    CONNECT = 0
    WELD = 1
    DISTANCE = 2
    COUPLING = 3


class SensorType(enum.IntEnum):
    """What a sensor measures (KN_SENSOR_LIST in knuckle/spec.h, docs/sensors.md)."""

    TOUCH = 0
    ACCELEROMETER = 1
    VELOCIMETER = 2
    GYRO = 3
    FORCE = 4
    TORQUE = 5
    MAGNETOMETER = 6
    RANGEFINDER = 7
    JOINT_POS = 8
    JOINT_VEL = 9
    BALL_QUAT = 10
    BALL_ANGVEL = 11
    LIMIT_POS = 12
    LIMIT_VEL = 13
    LIMIT_FORCE = 14
    JOINT_FORCE = 15
    ACTUATOR_POS = 16
    ACTUATOR_VEL = 17
    ACTUATOR_FORCE = 18
    FRAME_POS = 19
    FRAME_QUAT = 20
    FRAME_X = 21
    FRAME_Y = 22
    FRAME_Z = 23
    FRAME_LINVEL = 24
    FRAME_ANGVEL = 25
    FRAME_LINACC = 26
    FRAME_ANGACC = 27
    SUBTREE_COM = 28
    SUBTREE_LINVEL = 29
    SUBTREE_ANGMOM = 30
    POTENTIAL = 31
    KINETIC = 32
    CLOCK = 33


@dataclass(frozen=True)
class Material:
    """A surface: friction `mu`, `torsion` and `roll` (m), restitution `e`, compliance `K` (N/m), `C` (N s/m).

    mu2: friction along the second tangent, of explicit pairs; 0: as mu.
    """

    mu: float = 1.0
    torsion: float = 0.0
    roll: float = 0.0
    e: float = 0.0
    compliant: bool = False
    K: float = 0.0
    C: float = 0.0
    Kt: float = 0.0
    Ct: float = 0.0
    priority: int = 0
    mu2: float = 0.0


@dataclass(frozen=True)
class Body:
    """A rigid body. `pos`, `quat` (w, x, y, z) in the parent's frame; `com` and `inertia` (xx yy zz xy xz yz, kg m², about
    the centre of mass) in its own; `parent` is -1 for the world."""

    id: int
    name: str
    parent: int
    mass: float
    pos: Floats = field(repr=False)
    quat: Floats = field(repr=False)
    com: Floats = field(repr=False)
    inertia: Floats = field(repr=False)


@dataclass(frozen=True)
class Joint:
    """A joint: the slices of its coordinates in q and of its velocities in v, its axis, limits and passive elements."""

    id: int
    name: str
    body: int
    type: JointType
    q: slice
    v: slice
    axis: Floats = field(repr=False)
    limited: bool
    range: Floats = field(repr=False)
    damping: float
    stiffness: float
    armature: float
    friction: float


@dataclass(frozen=True)
class Geom:
    """A shape on a body (-1: the world), with its surface. `size` as MuJoCo has it (half extents, radius, half length)."""

    id: int
    name: str
    body: int
    type: ShapeType
    size: Floats
    pos: Floats = field(repr=False)
    quat: Floats = field(repr=False)
    material: Material = field(repr=False)
    rgba: npt.NDArray[np.float32] = field(repr=False)
    contype: int = field(repr=False)
    conaffinity: int = field(repr=False)


@dataclass(frozen=True)
class Frame:
    """A named point and axes on a body."""

    id: int
    name: str
    body: int
    pos: Floats
    quat: Floats


@dataclass(frozen=True)
class Actuator:
    """Force = gain u + bias · (1, length, rate), clamped to its ranges. Through a site: no joints, `site` and `refsite` are
    frames (-1: none), `site_gear` force and torque along their axes."""

    id: int
    name: str
    joints: tuple[int, ...]
    gear: tuple[float, ...]
    gain: float
    bias: tuple[float, float, float]
    ctrl_range: tuple[float, float] | None
    force_range: tuple[float, float] | None
    site: int = -1
    refsite: int = -1
    site_gear: tuple[float, ...] = ()


@dataclass(frozen=True)
class Sensor:
    """A sensor: its numbers are `values` of `sim.sensors`, in `unit`. What it looks at: frame, body, joint, actuator (-1:
    none), seen from ref_frame or ref_body."""

    id: int
    name: str
    type: SensorType
    unit: str
    values: slice
    frame: int
    body: int
    ref_frame: int
    ref_body: int
    joint: int
    actuator: int
    cutoff: float


@dataclass(frozen=True)
class Loop:
    """A loop closure between bodies a and b, or a coupling of two joints."""

    id: int
    name: str
    type: LoopType
    a: int
    b: int
    joint1: int
    joint2: int


@dataclass(frozen=True)
class Keyframe:
    """A named state of the model; None: as the reference has it."""

    id: int
    name: str
    time: float
    q: Floats | None
    v: Floats | None
    ctrl: Floats | None


@dataclass(frozen=True)
class Note:
    """What the loader has to say: `kind` is unsupported, warning or info."""

    kind: str
    where: str
    what: str


@dataclass(frozen=True)
class Pair:
    """Two geoms that touch whatever their bits say, with a surface of their own."""

    id: int
    name: str
    a: int
    b: int
    material: Material


@dataclass(frozen=True)
class Visual:
    """How something looks: a mesh file ("": the geom's own shape), scaled, then placed on a body (-1: the world). `geom`: the geom it
    belongs to, or -1."""

    body: int
    geom: int
    name: str
    pos: Floats = field(repr=False)
    quat: Floats = field(repr=False)
    mesh_file: str
    scale: Floats = field(repr=False)
    material: str
    texture: str
    rgba: npt.NDArray[np.float32] = field(repr=False)
    group: int


T = TypeVar("T")


class Items(Sequence[T], Generic[T]):
    """Things of a model by index, name or slice; iterating gives them in order."""

    def __init__(self, kind: str, count: int, make: Callable[[int], T], names: Sequence[str]) -> None:
        self._kind = kind
        self._count = count
        self._make = make
        self._names = list(names)
        self._by_name = {n: i for i, n in reversed(list(enumerate(names))) if n}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[T]: ...
    def __getitem__(self, key: int | str | slice) -> T | Sequence[T]:
        if isinstance(key, slice):
            return [self._make(i) for i in range(*key.indices(self._count))]
        return self._make(self.index_of(key))

    def __iter__(self) -> Iterator[T]:
        return (self._make(i) for i in range(self._count))

    def index_of(self, key: int | str) -> int:
        """The index of a name, or of an index that may be negative."""
        if isinstance(key, str):
            found = self._by_name.get(key)
            if found is None:
                raise nearest(self._kind, key, [n for n in self._names if n])
            return found
        i = int(key)
        if not -self._count <= i < self._count:
            raise IndexError(f"{self._kind} {i} of {self._count}")
        return i % self._count

    @property
    def names(self) -> list[str]:
        """All names in order; "" where there is none."""
        return list(self._names)

    def __repr__(self) -> str:
        several = "bodies" if self._kind == "body" else f"{self._kind}s"
        return f"<{self._count} {self._kind if self._count == 1 else several}: {', '.join(n or '(nameless)' for n in self._names[:12])}{', …' if self._count > 12 else ''}>"


def kind_of(enum: Any, value: Any, what: str) -> Any:
    """A member of an enumeration by name or number."""
    if isinstance(value, str):
        try:
            return enum[value.upper()]
        except KeyError:
            raise BadArgumentError(nearest(what, value, [e.name.lower() for e in enum]).text) from None
    try:
        return enum(value)
    except ValueError:
        raise BadArgumentError(f"{what} is {value!r}, expected one of {', '.join(e.name.lower() for e in enum)}") from None


def _floats(values: Any, n: int) -> Floats:
    return frozen(np.array([values[i] for i in range(n)], dtype=np.float64))


def _material(m: Any) -> Material:
    return Material(m.mu, m.torsion, m.roll, m.e, m.law == lib.KN_CONTACT_COMPLIANT, m.K, m.C, m.Kt, m.Ct, m.priority, m.mu2)


class Model:
    """A compiled mechanism: immutable, shared by states, simulators and threads.

    Made by `knuckle.load` or `Spec.compile`. `nq`, `nv`, `nu` are the numbers of coordinates, velocities and controls.
    """

    def __init__(self, handle: Any, *, scene: Any = None, defaults: Mapping[str, Any] | None = None,
                 notes: Sequence[Note] = (), start: bytes | None = None, servos: Sequence[tuple[float, ...]] = (),
                 source: tuple[str, tuple[str, ...]] | None = None, duration: float = 5.0, visuals: Sequence[Visual] = ()) -> None:
        self._c = handle
        self._scene = scene  # keeps a scene's model and controller alive
        self._defaults = dict(defaults or {})
        self._start = start
        self._servos = [tuple(s) for s in servos]
        self._source = source
        self.notes: tuple[Note, ...] = tuple(notes)
        #: what moving a start that broke a limit, overlapped or left a loop open took, and where; "": the start is the file's
        self.start_moved = ""
        #: how things of the file look; no influence on motion
        self.visuals: tuple[Visual, ...] = tuple(visuals)
        #: how long the scene or study is meant to run, s
        self.duration = duration
        self.nq: int = lib.kn_model_nq(handle)
        self.nv: int = lib.kn_model_nv(handle)
        self.nu: int = lib.kn_model_nu(handle)
        self.name: str = text_of(lib.kn_model_name(handle))
        #: mass of all bodies, kg
        self.mass: float = lib.kn_model_mass(handle)
        self.bodies: Items[Body] = self._items("body", lib.kn_model_bodies, lib.kn_body_name, self._body)
        self.joints: Items[Joint] = self._items("joint", lib.kn_model_joints, lib.kn_joint_name, self._joint)
        self.geoms: Items[Geom] = self._items("geom", lib.kn_model_geoms, lib.kn_geom_name, self._geom)
        self.frames: Items[Frame] = self._items("frame", lib.kn_model_frames, lib.kn_frame_name, self._frame)
        self.actuators: Items[Actuator] = self._items("actuator", lib.kn_model_nu, lib.kn_actuator_name, self._actuator)
        self.loops: Items[Loop] = self._items("loop", lib.kn_model_loops, lib.kn_loop_name, self._loop)
        self.sensors: Items[Sensor] = self._items("sensor", lib.kn_model_sensors, lib.kn_sensor_name, self._sensor)
        keys = [text_of(self._key(i).name) for i in range(lib.kn_model_keyframes(handle))]
        self.keyframes: Items[Keyframe] = Items("keyframe", len(keys), self._keyframe, keys)
        self._q_names, self._v_names = self._joint_names()
        self._ctrl_names: Names = {n: i for i, n in enumerate(self.actuators.names) if n}
        self._sensor_count: int = lib.kn_model_sensor_numbers(handle)
        self._sensor_names: Names = {n: self._sensor_at(i) for i, n in enumerate(self.sensors.names) if n}

    def _items(self, kind: str, count: Any, name: Any, make: Callable[[int], T]) -> Items[T]:
        n = count(self._c)
        return Items(kind, n, make, [text_of(name(self._c, i)) for i in range(n)])

    def _joint_names(self) -> tuple[Names, Names]:
        q: dict[str, int | slice] = {}
        v: dict[str, int | slice] = {}
        for i, name in enumerate(self.joints.names):
            if name:
                a = self._address(i)
                q[name] = a[0] if a[1] == 1 else slice(a[0], a[0] + a[1])
                v[name] = a[2] if a[3] == 1 else slice(a[2], a[2] + a[3])
        return q, v

    def _address(self, joint: int) -> tuple[int, int, int, int]:
        a = ffi.new("int[4]")
        check(lib.kn_model_joint_address(a, a + 1, a + 2, a + 3, self._c, joint))
        return a[0], a[1], a[2], a[3]

    def _body(self, i: int) -> Body:
        d = ffi.new("kn_body_def*")
        check(lib.kn_model_body(d, self._c, i))
        return Body(i, text_of(d.name), d.parent, d.mass, _floats(d.pos, 3), _floats(d.quat, 4), _floats(d.com, 3), _floats(d.inertia, 6))

    def _joint(self, i: int) -> Joint:
        d = ffi.new("kn_joint_def*")
        check(lib.kn_model_joint(d, self._c, i))
        a = self._address(i)
        n = max(a[3], 1)
        return Joint(i, text_of(d.name), d.body, JointType(d.type), slice(a[0], a[0] + a[1]), slice(a[2], a[2] + a[3]), _floats(d.axis, 3),
                     bool(d.limited), frozen(np.array([[d.range[k][0], d.range[k][1]] for k in range(min(n, 3))])),
                     d.damping, d.stiffness, d.armature, d.friction)

    def _geom(self, i: int) -> Geom:
        d = ffi.new("kn_geom_def*")
        check(lib.kn_model_geom(d, self._c, i))
        return Geom(i, text_of(d.name), d.body, ShapeType(d.shape.type), _floats(d.shape.size, 3), _floats(d.pos, 3), _floats(d.quat, 4),
                    _material(d.material), np.array([d.rgba[k] for k in range(4)], dtype=np.float32), d.contype, d.conaffinity)

    def _frame(self, i: int) -> Frame:
        d = ffi.new("kn_frame_def*")
        check(lib.kn_model_frame(d, self._c, i))
        return Frame(i, text_of(d.name), d.body, _floats(d.pos, 3), _floats(d.quat, 4))

    def _actuator(self, i: int) -> Actuator:
        d = ffi.new("kn_actuator_def*")
        check(lib.kn_model_actuator(d, self._c, i))
        return Actuator(i, text_of(d.name), tuple(d.joint[k] for k in range(d.joints)), tuple(d.gear[k] for k in range(d.joints)),
                        d.gain, (d.bias[0], d.bias[1], d.bias[2]), (d.ctrl_range[0], d.ctrl_range[1]) if d.ctrl_limited else None,
                        (d.force_range[0], d.force_range[1]) if d.force_limited else None,
                        -1 if d.joints else d.site, -1 if d.joints else d.refsite, () if d.joints else tuple(d.site_gear[k] for k in range(6)))

    def _sensor_at(self, i: int) -> int | slice:
        first, n = lib.kn_sensor_first(self._c, i), lib.kn_sensor_dim(self._c, i)
        return first if n == 1 else slice(first, first + n)

    def _sensor(self, i: int) -> Sensor:
        d = ffi.new("kn_sensor_def*")
        check(lib.kn_model_sensor(d, self._c, i))
        first = lib.kn_sensor_first(self._c, i)
        return Sensor(i, text_of(d.name), SensorType(d.type), text_of(lib.kn_sensor_unit(self._c, i)),
                      slice(first, first + lib.kn_sensor_dim(self._c, i)), d.frame, d.body, d.ref_frame, d.ref_body, d.joint, d.actuator, d.cutoff)

    def _loop(self, i: int) -> Loop:
        d = ffi.new("kn_loop_def*")
        check(lib.kn_model_loop(d, self._c, i))
        return Loop(i, text_of(d.name), LoopType(d.type), d.a, d.b, d.joint1, d.joint2)

    def _key(self, i: int) -> Any:
        d = ffi.new("kn_keyframe_def*")
        check(lib.kn_model_keyframe(d, self._c, i))
        return d

    def _keyframe(self, i: int) -> Keyframe:
        d = self._key(i)

        def some(p: Any, n: int) -> Floats | None:
            return snapshot(p, n) if p != ffi.NULL else None

        return Keyframe(i, text_of(d.name), d.time, some(d.q, self.nq), some(d.v, self.nv), some(d.ctrl, self.nu))

    def body(self, name: int | str) -> Body:
        """A body by name or index."""
        return self.bodies[name]

    def joint(self, name: int | str) -> Joint:
        """A joint by name or index."""
        return self.joints[name]

    def geom(self, name: int | str) -> Geom:
        """A geom by name or index."""
        return self.geoms[name]

    def frame(self, name: int | str) -> Frame:
        """A named frame by name or index."""
        return self.frames[name]

    def actuator(self, name: int | str) -> Actuator:
        """An actuator by name or index."""
        return self.actuators[name]

    def sensor(self, name: int | str) -> Sensor:
        """A sensor by name or index."""
        return self.sensors[name]

    def loop(self, name: int | str) -> Loop:
        """A loop closure by name or index."""
        return self.loops[name]

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike, dt: float = 1.0) -> Floats:
        """q moved by v dt along the joints; quaternions stay unit."""
        a, b, out = given(q, (self.nq,), "q"), given(v, (self.nv,), "v"), np.empty(self.nq)
        check(lib.kn_integrate(pointer(out), self._c, pointer(a), pointer(b), float(given(dt, (), "dt"))))
        return frozen(out)

    def difference(self, q0: npt.ArrayLike, q1: npt.ArrayLike) -> Floats:
        """The v with integrate(q0, v) = q1."""
        a, b, out = given(q0, (self.nq,), "q0"), given(q1, (self.nq,), "q1"), np.empty(self.nv)
        check(lib.kn_difference(pointer(out), self._c, pointer(a), pointer(b)))
        return frozen(out)

    @property
    def gravity(self) -> Floats:
        """m/s², world axes."""
        g = ffi.new("double[3]")
        lib.kn_model_gravity(g, self._c)
        return snapshot(g, 3)

    def material(self, a: int | str, b: int | str) -> Material:
        """How the surfaces of two geoms combine."""
        m = ffi.new("kn_material*")
        check(lib.kn_model_material(m, self._c, self.geoms.index_of(a), self.geoms.index_of(b)))
        return _material(m)

    def collides(self, a: int | str, b: int | str) -> bool:
        """May two geoms touch (pairs, exclusions, contact bits, parent and child)?"""
        return bool(lib.kn_model_collides(self._c, self.geoms.index_of(a), self.geoms.index_of(b)))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Explicit contact pairs."""
        d, out = ffi.new("kn_pair_def*"), list[Pair]()
        for i in range(lib.kn_model_pairs(self._c)):
            check(lib.kn_model_pair(d, self._c, i))
            out.append(Pair(i, text_of(d.name), d.a, d.b, _material(d.material)))
        return tuple(out)

    @property
    def exclusions(self) -> tuple[tuple[int, int], ...]:
        """Pairs of bodies that do not collide, by index (-1: the world)."""
        b, out = ffi.new("kn_body[2]"), list[tuple[int, int]]()
        for i in range(lib.kn_model_exclusions(self._c)):
            check(lib.kn_model_exclusion(b, self._c, i))
            out.append((b[0], b[1]))
        return tuple(out)

    def shape(self, geom: int | str) -> Shape:
        """The shape of a geom, for `distance`, `ray_cast` and the like; `sim.geom_poses[i]` is where it is."""
        from .shapes import shape_of

        return shape_of(self, self.geoms.index_of(geom))

    def formulation_size(self, formulation: str, contacts: int, directions: int = 4) -> int:
        """Rows of the complementarity problem that a formulation sets up for so many contacts and friction directions."""
        out = ffi.new("int*")
        try:
            check(lib.kn_formulation_size(out, str(formulation).encode(), self._c, contacts, directions))
        except (TypeError, OverflowError) as e:
            raise BadArgumentError(f"contacts {contacts!r}, directions {directions!r}: {e}") from None
        return out[0]

    def vary(self, *, mass: float = 1.0, friction: float = 1.0, restitution: float = 0.0, size: float = 1.0, gravity: npt.ArrayLike = (0.0, 0.0, 0.0),
             body_mass: npt.ArrayLike | None = None, geom_friction: npt.ArrayLike | None = None) -> Model:
        """A model that differs from this one; without differences the same to the bit.

        mass, friction: factors; restitution: added to every e, which stays in 0 … 1; size: factor of the shapes of moving bodies; gravity:
        added, m/s²; body_mass, geom_friction: a factor for each body, each geom. It begins where this one begins, with its settings and
        servos; a built-in scene's controller stays with the scene.
        """
        c = ffi.new("kn_variation*", lib.kn_variation_none())
        for name, value in (("mass", mass), ("friction", friction), ("restitution", restitution), ("size", size)):
            setattr(c, name, float(given(value, (), name)))
        c.gravity = [float(x) for x in given(gravity, (3,), "gravity")]
        keep = [None if x is None else given(x, (n,), name) for x, n, name in
                ((body_mass, len(self.bodies), "body_mass"), (geom_friction, len(self.geoms), "geom_friction"))]
        if keep[0] is not None:
            c.body_mass = pointer(keep[0])
        if keep[1] is not None:
            c.geom_friction = pointer(keep[1])
        out = ffi.new("kn_model**")
        check(lib.kn_model_vary(out, self._c, c))
        varied = Model(owned(out[0], lib.kn_model_destroy, self), defaults=self._defaults, notes=self.notes, servos=self._servos,
                       duration=self.duration, visuals=self.visuals)
        varied._begin_like(self)
        return varied

    def _begin_like(self, other: Model) -> None:
        from .sim import Sim

        with Sim(other) as theirs, Sim(self) as ours:
            ours.q, ours.v, ours.ctrl, ours.force, ours.state.time = theirs.q, theirs.v, theirs.ctrl, theirs.force, theirs.time
            self._start = ours.save()

    @property
    def magnetic(self) -> Floats:
        """The field that magnetometers see, world axes, in the unit it was given."""
        g = ffi.new("double[3]")
        lib.kn_model_magnetic(g, self._c)
        return snapshot(g, 3)

    def triangles(self, geom: int | str) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Vertices (n x 3, in the geom's frame) and triangles (m x 3) of a hull or mesh, to draw."""
        d = ffi.new("kn_geom_def*")
        check(lib.kn_model_geom(d, self._c, self.geoms.index_of(geom)))
        out = ffi.new("kn_mesh_data*")
        if d.shape.type == lib.KN_SHAPE_HULL:
            check(lib.kn_hull_triangles(out, d.shape.hull))
        elif d.shape.type == lib.KN_SHAPE_MESH:
            check(lib.kn_mesh_triangles(out, d.shape.mesh))
        else:
            raise BadArgumentError(f"geom {geom!r} is a {ShapeType(d.shape.type).name.lower()}, expected a hull or a mesh")
        try:
            return (snapshot(out.vertices, 3 * out.nvertex).reshape(-1, 3),
                    snapshot(out.triangles, 3 * out.ntriangle, np.int32).reshape(-1, 3))
        finally:
            lib.kn_mesh_data_free(out)

    @property
    def hash(self) -> str:
        """16 hexadecimal digits: everything that influences motion."""
        return f"{lib.kn_model_hash(self._c):016x}"

    def __hash__(self) -> int:
        return hash((lib.kn_model_hash(self._c), self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_bytes() == other.to_bytes()

    def to_bytes(self) -> bytes:
        """The model as bytes: `Model.from_bytes` gives it back, to the bit."""
        out = ffi.new("void**")
        size = ffi.new("size_t*")
        check(lib.kn_model_save(out, size, self._c))
        try:
            return bytes(ffi.buffer(out[0], size[0]))
        finally:
            lib.kn_archive_free(out[0])

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """The model that `to_bytes` has written."""
        return Model(_loaded(data))

    def __copy__(self) -> Model:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, object]) -> Model:
        return self

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[object, ...]]:
        if self._source is not None:  # a scene: its controller is code, so it is opened again by name
            return _reopen, (*self._source, lib.kn_model_hash(self._c))
        return _rebuild, (self.to_bytes(), self._defaults, self.notes, self._start, self._servos, self.duration, self.visuals)

    def __repr__(self) -> str:
        return (f"<Model {self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, {len(self.geoms)} geoms, nq {self.nq}, "
                f"nv {self.nv}, nu {self.nu}, {self.mass:.6g} kg, hash {self.hash}>")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            from .elsewhere import missing

            raise AttributeError(missing(self, name))

    def _repr_html_(self) -> str:
        from .html import model_html

        return model_html(self)


def _loaded(data: bytes) -> Any:
    out = ffi.new("kn_model**")
    check(lib.kn_model_load(out, ffi.from_buffer(data), len(data)))
    return ffi.gc(out[0], lib.kn_model_destroy)


def _rebuild(data: bytes, defaults: Mapping[str, Any], notes: Sequence[Note], start: bytes | None,
             servos: Sequence[tuple[float, ...]], duration: float, visuals: Sequence[Visual]) -> Model:
    return Model(_loaded(data), defaults=defaults, notes=notes, start=start, servos=servos, duration=duration, visuals=visuals)


def _reopen(name: str, parameters: tuple[str, ...], expected: int) -> Model:
    model = open_scene(name, parameters)
    if lib.kn_model_hash(model._c) != expected:
        raise FileError(f"scene {name!r} is another model in this version of knuckle", Status.BAD_FILE)
    return model


# ---- scenes ----

_CHOICES = ("formulation", "solver", "law", "stepper", "fast")
_NUMBERS = ("friction", "friction_tol", "sequential", "dt", "theta", "gtol", "v_rest", "tolerance", "margin", "rtol", "projection",
            "anchors", "guard", "verdict", "determinate", "hinge_bias", "ledger", "keep_energy", "split_impacts", "threads", "sleep", "sleep_time", "stage_times",
            "bias_iterations", "event_limit", "max_contacts", "contact_room", "certificate")


def settings_dict(c: Any) -> dict[str, Any]:
    """A `kn_sim_settings` as plain values."""
    out: dict[str, Any] = {n: text_of(getattr(c, n)) for n in _CHOICES}
    out.update((n, getattr(c, n)) for n in _NUMBERS)
    for part in ("compliant", "hybrid"):
        inner = getattr(c, part)
        out[part] = {n: getattr(inner, n) for n, _ in ffi.typeof(inner).fields if n not in ("f", "g", "context")}
    return out


def scenes() -> list[str]:
    """Names of the built-in scenes, which `load` takes as well as files."""
    out: list[str] = []
    at = lib.kn_scenes()
    while at[len(out)] != ffi.NULL:
        out.append(text_of(at[len(out)].name))
    return out


def open_scene(name: str, parameters: Sequence[str]) -> Model:
    """A built-in scene with texts "name=value"."""
    texts = [ffi.new("char[]", p.encode()) for p in parameters]
    array = ffi.new("const char*[]", texts or [ffi.NULL])
    out = ffi.new("kn_scene_opened**")
    status = lib.kn_scene_open(out, name.encode(), array, len(texts))
    if status:
        e = failure(status)
        raise type(e)(text_of(lib.kn_scene_error()) or e.text, e.status)
    scene = ffi.gc(out[0], lib.kn_scene_close)
    settings = lib.kn_scene_settings_of(scene)
    return Model(scene.model, scene=scene, defaults=settings_dict(settings), source=(name, tuple(parameters)),
                 duration=scene.scene.duration)


# ---- files ----


@ffi.def_extern(name="knp_read")
def _read_given(bytes_out: Any, size: Any, path: Any, context: Any) -> int:  # pyright: ignore[reportUnusedFunction]
    files: _Files = ffi.from_handle(context)
    return files.read(bytes_out, size, text_of(path))


class _Files:
    """Files of a model from a mapping or a function; what was given stays alive until the model is read."""

    def __init__(self, source: Mapping[str, bytes | str] | Callable[[str], bytes | str | None]) -> None:
        self.get: Callable[[str], bytes | str | None] = source if callable(source) else source.get
        self.kept: list[Any] = []
        self.error: BaseException | None = None

    def read(self, out: Any, size: Any, path: str) -> int:
        try:
            data = self.get(path)
            if data is None:
                return Status.NOT_FOUND
            raw = data.encode() if isinstance(data, str) else bytes(data)
            keep = ffi.from_buffer(raw)
            self.kept.append((raw, keep))
            out[0], size[0] = keep, len(raw)
            return Status.OK
        except BaseException as e:  # an exception of the user's function leaves through `load`
            self.error = e
            return Status.IO


def _notes(report: Any) -> list[Note]:
    kinds = ("unsupported", "warning", "info")
    out: list[Note] = []
    for i in range(lib.kn_load_notes(report)):
        n = lib.kn_load_note(report, i)
        out.append(Note(kinds[int(n.kind)], text_of(n.where), text_of(n.what)))
    return out


def _visuals(report: Any) -> list[Visual]:
    out: list[Visual] = []
    for i in range(lib.kn_load_visuals(report)):
        v = lib.kn_load_visual(report, i)
        out.append(Visual(v.body, v.geom, text_of(v.name), _floats(v.pos, 3), _floats(v.quat, 4), text_of(v.mesh_file), _floats(v.scale, 3),
                          text_of(v.material), text_of(v.texture), np.array([v.rgba[k] for k in range(4)], dtype=np.float32), v.group))
    return out


def load(source: str | os.PathLike[str], *, base: str | None = None, study: str | os.PathLike[str] | None = None, strict: bool = False,
         packages: str | None = None, meshes: bool = True, passive: bool = False, overlaps: str = "leave-out", drop: float | None = None,
         keyframe: int | str | None = None, mu: float | None = None, restitution: float | None = None, gravity: npt.ArrayLike | None = None,
         files: Mapping[str, bytes | str] | Callable[[str], bytes | str | None] | None = None, **parameters: float | str) -> Model:
    """A model from an MJCF or URDF file, or a built-in scene by its name.

    base: "fixed" (default) or "floating", how a URDF's root link is held. study: a YAML file beside the model (surfaces, choices,
    start, servos; found by itself as robot.yaml beside robot.xml, "" for none). strict: unsupported features are errors.
    packages: folders of ROS packages, ':' between them. meshes=False leaves mesh files out; passive=True takes the motors'
    force away. overlaps: "leave-out" takes pairs of one robot that overlap at the start out of contact, "keep" does not.
    keyframe: the start, by number or name ("first": the first one, if any). drop: free bodies start this high (m) above a floor, which is made if there is none. mu, restitution: of all surfaces; gravity:
    three numbers, m/s². (Of a scene `mu` is the scene's own parameter.)
    files: a mapping or function from path to bytes, instead of the disk. Other keywords are parameters of a scene.

    The same words as on the command line; `notes` of the model says what the file asks for and Knuckle does not do.
    """
    name = path_text(source)
    if files is None and not ("/" in name or name.endswith((".xml", ".urdf", ".mjcf", ".yaml"))):
        given_too = {"mu": mu, "restitution": restitution, "drop": drop}
        parameters = {**{k: v for k, v in given_too.items() if v is not None}, **parameters}
        if gravity is not None:
            raise BadArgumentError("gravity: of a model file only; a built-in scene has parameters")
        return open_scene(name, [f"{k}={v}" for k, v in parameters.items()])
    if parameters:
        raise BadArgumentError(f"{', '.join(parameters)}: parameters belong to built-in scenes, {name!r} is a file")
    if base not in (None, "fixed", "floating"):
        raise BadArgumentError(f"base is {base!r}, expected 'fixed' or 'floating'")
    if overlaps not in ("leave-out", "keep"):
        raise BadArgumentError(f"overlaps is {overlaps!r}, expected 'leave-out' or 'keep'")
    from .study import Study, beside, read_study

    plan: Study | None = None
    if name.endswith(".yaml"):
        plan = read_study(name)
        if plan.model is None:
            raise FileError(f"{name}:1:1: the study names no model, expected model: FILE", Status.BAD_FILE, file=name, line=1, column=1)
        name = os.path.join(os.path.dirname(name), plan.model)
    elif study is None and files is None:
        found = beside(name)
        plan = read_study(found) if found else None
    elif study:
        plan = read_study(path_text(study))
    held = base or (plan.base if plan else None) or "fixed"
    spec, notes, dt, visuals = _read(name, held == "floating", strict, packages, meshes, files)
    defaults = settings_dict(lib.kn_sim_default())
    if dt > 0.0:
        defaults["dt"] = dt
    height = None if drop is None else float(given(drop, (), "drop"))
    if height is not None:
        check(lib.kn_spec_add_floor(spec))
    if plan is not None:
        plan.apply(spec)
        plan.change(defaults)
    _edit(spec, mu, restitution, gravity)
    if passive:
        check(lib.kn_spec_disable_actuators(spec))
    model = _compiled(spec, defaults, notes, plan, height, keyframe)
    if overlaps == "leave-out" and _leave_out(model, spec):
        model = _compiled(spec, defaults, notes, plan, height, keyframe)
    _move_start(model)
    model.visuals = tuple(visuals)
    return model


def _edit(spec: Any, mu: float | None, restitution: float | None, gravity: npt.ArrayLike | None) -> None:
    """All surfaces, and gravity, as --mu, --restitution and --gravity of the command line (cli/edit.c)."""
    if mu is not None or restitution is not None:
        surface = [float("nan") if x is None else float(given(x, (), name)) for name, x in (("mu", mu), ("restitution", restitution))]
        check(lib.kn_spec_set_surfaces(spec, *surface))
    if gravity is not None:
        check(lib.kn_spec_set_gravity(spec, pointer(given(gravity, (3,), "gravity"))))


def _compiled(spec: Any, defaults: Mapping[str, Any], notes: Sequence[Note], plan: Any, drop: float | None,
              keyframe: int | str | None) -> Model:
    out = ffi.new("kn_model**")
    check(lib.kn_compile(out, spec))
    model = Model(ffi.gc(out[0], lib.kn_model_destroy), defaults=defaults, notes=notes)
    free = [j for j in model.joints if j.type == JointType.FREE]
    if plan is not None:
        plan.start(model)
    if keyframe is not None and (keyframe != "first" or len(model.keyframes)):
        _begin(model, keyframe)
    if drop is not None:
        _raise(model, free, drop)
    return model


def _move_start(model: Model) -> None:
    """A start that is not allowed is moved to the nearest position that is, as on the command line (cli/start.c)."""
    from .sim import Sim

    found, moved, where = ffi.new("kn_event*"), ffi.new("bool*"), ffi.new("char[160]")
    with Sim(model, max_contacts=0) as sim:
        check(lib.kn_start_repair(found, moved, sim.state._c))
        if moved[0]:
            model._start = sim.save()
            place = text_of(lib.kn_event_where(where, 160, model._c, found))
            model.start_moved = f"{found.value:.3g} J higher ({place})"


def _touches(geom: Geom) -> bool:
    return bool(geom.contype or geom.conaffinity)


def _begin(model: Model, keyframe: int | str) -> None:
    """As --keyframe of the command line (cli/subject.c): a keyframe's name, or "first" where none has that name."""
    from .sim import Sim

    with Sim(model, max_contacts=0) as sim:
        sim.reset(0 if keyframe == "first" and not any(k.name == "first" for k in model.keyframes) else keyframe)
        model._start = sim.save()


def _raise(model: Model, free: Sequence[Joint], height: float) -> None:
    """Free joints are moved up or down until what can touch is `height` above z = 0 (cli/drop.c)."""
    from .sim import Sim

    parents = [b.parent for b in model.bodies]

    def below(body: int, root: int) -> bool:
        while body not in (root, -1):
            body = parents[body]
        return body == root

    with Sim(model, max_contacts=0) as sim:
        data = sim._kinematics()
        shape, pose, box = ffi.new("kn_geom_def*"), ffi.new("kn_pose*"), ffi.new("double[6]")
        for joint in free:
            lowest = float("inf")
            for g in model.geoms:
                if _touches(g) and below(g.body, joint.body):
                    check(lib.kn_model_geom(shape, model._c, g.id))
                    check(lib.kn_geom_pose(pose, model._c, data, g.id))
                    check(lib.kn_shape_box(box, box + 3, ffi.addressof(shape, "shape"), pose))
                    lowest = min(lowest, box[2])
            if lowest < float("inf"):
                sim.q[joint.q.start + 2] += height - lowest
        model._start = sim.save()


def _read(name: str, floating: bool, strict: bool, packages: str | None, meshes: bool, source: Any) -> tuple[Any, list[Note], float, list[Visual]]:
    settings = ffi.new("kn_load_settings*", lib.kn_load_default())
    settings.strict = strict
    settings.base = lib.KN_BASE_FLOATING if floating else lib.KN_BASE_FIXED
    settings.skip_meshes = not meshes
    folders = ffi.new("char[]", packages.encode()) if packages else ffi.NULL
    settings.packages = folders
    files = _Files(source) if source is not None else None
    handle = ffi.new_handle(files) if files else ffi.NULL
    if files:
        settings.files.read, settings.files.context = lib.knp_read, handle
    spec, report = ffi.new("kn_spec**"), ffi.new("kn_load_report**")
    status = lib.kn_load(spec, report, name.encode(), settings)
    error = failure(status) if status else None
    notes, visuals = _notes(report[0]), _visuals(report[0])
    dt = float(lib.kn_load_timestep(report[0]))
    lib.kn_load_report_free(report[0])
    if files and files.error:
        raise files.error
    if error:
        raise error
    return ffi.gc(spec[0], lib.kn_spec_destroy), notes, dt, visuals


def _leave_out(model: Model, spec: Any) -> bool:
    """Pairs of one robot that overlap in the starting pose get no contact, as on the command line (cli/overlaps.c)."""
    from .sim import Sim

    parents = [b.parent for b in model.bodies]

    def root(i: int) -> int:
        while parents[i] != -1:
            i = parents[i]
        return i

    depth: dict[tuple[int, int], float] = {}
    with Sim(model, max_contacts=0) as sim:
        for c in sim.near(0.0):
            a, b = int(c["body_a"]), int(c["body_b"])
            if a >= 0 and b >= 0 and root(a) == root(b):
                depth[a, b] = max(depth.get((a, b), 0.0), -float(c["gap"]))
    changed = False
    for (a, b), d in depth.items():
        neighbours = parents[a] == b or parents[b] == a
        if d >= (1e-12 if neighbours else 1e-4):
            check(lib.kn_spec_add_exclusion(spec, a, b))
            changed = True
    return changed


__all__ = ["Actuator", "Body", "Frame", "Geom", "Items", "Joint", "JointType", "Keyframe", "KnuckleError", "Loop", "LoopType", "Material",
           "Model", "NotFoundError", "Note", "Pair", "ShapeType", "Visual", "kind_of", "load", "scenes"]
