"""Shapes without a model: distances, contact points, rays, times of impact, boxes, masses. SI units, world axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, pointer
from .errors import BadArgumentError, check
from .meshes import MassProps, MeshData, massprops_of
from .model import Model, ShapeType, kind_of
from .poses import Pose, PoseLike, fill_pose, pose_of

_ROOM = 256  # contact points of one pair; only meshes can have more, the deepest are kept


class Shape:
    """A shape in its own frame; immutable.

        knuckle.Shape("box", [0.1, 0.2, 0.3])      # half extents
        knuckle.Shape("hull", points=corners)      # convex hull of n x 3 points
        model.shape("foot")                        # of a geom

    size as MuJoCo has it, m: radius; radius and half length; semi-axes or half extents. A plane is the half-space below z = 0 of
    its frame. A mesh needs triangles (m x 3) too and is a surface; queries of it want a second shape that is not one.
    """

    def __init__(self, type: ShapeType | str, size: npt.ArrayLike = (), *, points: npt.ArrayLike | None = None,
                 triangles: npt.ArrayLike | None = None) -> None:
        kind: ShapeType = kind_of(ShapeType, type, "shape")
        values = given(np.atleast_1d(np.asarray(size, dtype=np.float64)), (None,), "size")
        if len(values) > 3:
            raise BadArgumentError(f"size: {len(values)} numbers, expected at most 3")
        self._c = ffi.new("kn_shape*")
        self._c.type = int(kind)
        self._c.size[0:3] = [*map(float, values), *[0.0] * (3 - len(values))]
        self._keep: Any = _solid(self._c, kind, points, triangles)
        ball = ffi.new("kn_shape*", {"type": lib.KN_SHAPE_SPHERE, "size": [1.0, 0.0, 0.0]})  # a query looks at the sizes
        check(lib.kn_distance(ffi.new("kn_distance_result*"), self._c, pose_of(None), ball, pose_of(None), ffi.NULL))

    @property
    def type(self) -> ShapeType:
        """What kind of shape it is."""
        return ShapeType(self._c.type)

    @property
    def size(self) -> Floats:
        """Three numbers, m; what they mean depends on the type."""
        return frozen(np.array([self._c.size[k] for k in range(3)]))

    def triangles(self) -> MeshData:
        """The surface of a hull or mesh, as triangles."""
        out = ffi.new("kn_mesh_data*")
        if self.type == ShapeType.HULL:
            check(lib.kn_hull_triangles(out, self._c.hull))
        elif self.type == ShapeType.MESH:
            check(lib.kn_mesh_triangles(out, self._c.mesh))
        else:
            raise BadArgumentError(f"triangles: a {self.type.name.lower()}, expected a hull or a mesh")
        return MeshData._taken(out)

    def overlap(self, lo: npt.ArrayLike, hi: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Triangles of a mesh whose bounds meet the box lo … hi (m, the mesh's frame), in the order of its tree."""
        if self.type != ShapeType.MESH:
            raise BadArgumentError(f"overlap: a {self.type.name.lower()}, expected a mesh")
        a, b = given(lo, (3,), "lo"), given(hi, (3,), "hi")
        count = ffi.new("int32_t[2]")
        lib.kn_mesh_counts(self._c.mesh, count, count + 1)
        out = np.zeros(count[1], np.int32)
        check(lib.kn_mesh_overlap(ffi.from_buffer("int32_t[]", out), count, len(out), self._c.mesh, pointer(a), pointer(b)))
        return frozen(out[: count[0]].copy())

    def __reduce__(self) -> tuple[Callable[..., Shape], tuple[object, ...]]:
        if self.type in (ShapeType.HULL, ShapeType.MESH):
            surface = self.triangles()
            return _again, (int(self.type), (), surface.vertices, surface.triangles if self.type == ShapeType.MESH else None)
        return _again, (int(self.type), tuple(self.size), None, None)

    def __repr__(self) -> str:
        return f"<Shape {self.type.name.lower()} {', '.join(f'{x:g}' for x in self.size)}>"


def _again(kind: int, size: tuple[float, ...], points: Any, triangles: Any) -> Shape:
    return Shape(ShapeType(kind), size, points=points, triangles=triangles)


def _solid(c: Any, kind: ShapeType, points: npt.ArrayLike | None, triangles: npt.ArrayLike | None) -> Any:
    """Hull or mesh of the points, owned by what is returned."""
    if kind not in (ShapeType.HULL, ShapeType.MESH):
        if points is not None or triangles is not None:
            raise BadArgumentError(f"points belong to hulls and meshes, not to a {kind.name.lower()}")
        return None
    if points is None:
        raise BadArgumentError(f"a {kind.name.lower()} needs points (n x 3)")
    if kind == ShapeType.HULL:
        x = given(points, (None, 3), "points")
        hull = ffi.new("kn_hull**")
        check(lib.kn_hull_create(hull, pointer(x), len(x), ffi.NULL))
        c.hull = hull[0]
        return ffi.gc(hull[0], lib.kn_hull_destroy)
    if triangles is None:
        raise BadArgumentError("a mesh needs triangles (m x 3)")
    mesh, data = ffi.new("kn_mesh**"), MeshData.of(points, triangles)._handle()
    check(lib.kn_mesh_create(mesh, data, ffi.NULL))
    c.mesh = mesh[0]
    return ffi.gc(mesh[0], lib.kn_mesh_destroy)


def shape_of(model: Model, geom: int) -> Shape:
    """The shape of a geom; a hull or mesh stays the model's, which it keeps alive."""
    d = ffi.new("kn_geom_def*")
    check(lib.kn_model_geom(d, model._c, geom))
    out = Shape.__new__(Shape)
    out._c = ffi.new("kn_shape*", d.shape)
    out._keep = model
    return out


def _shape(value: Shape, what: str) -> Any:
    if not isinstance(value, Shape):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadArgumentError(f"{what}: expected a Shape, got {type(value).__name__}")
    return value._c


def _three(values: Any) -> Floats:
    return frozen(np.array([values[0], values[1], values[2]]))


@dataclass(frozen=True)
class Distance:
    """Signed `gap` (m, negative: overlap), unit `normal` from B towards A, and the points `on_a`, `on_b` (m) that have it."""

    gap: float
    normal: Floats
    on_a: Floats
    on_b: Floats


def _distance_of(c: Any) -> Distance:
    return Distance(c.gap, _three(c.normal), _three(c.on_a), _three(c.on_b))


def distance(a: Shape, pose_a: PoseLike, b: Shape, pose_b: PoseLike) -> Distance:
    """Signed distance of two shapes: apart the Euclidean one, overlapping minus the least way that separates them.

    Poses: a `Pose`, three numbers (a position, m), or None (the origin). Two planes, or two meshes: UnsupportedError.
    """
    out = ffi.new("kn_distance_result*")
    check(lib.kn_distance(out, _shape(a, "a"), pose_of(pose_a), _shape(b, "b"), pose_of(pose_b), ffi.NULL))
    return _distance_of(out)


@dataclass(frozen=True)
class Manifold:
    """Contact points of two shapes, a row each: `gap` (m), `normal` (n x 3, from B towards A), `on_a`, `on_b` (n x 3, m), and a `key`
    that stays while the same features touch."""

    gap: Floats
    normal: Floats = field(repr=False)
    on_a: Floats = field(repr=False)
    on_b: Floats = field(repr=False)
    key: npt.NDArray[np.uint64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.gap)


def manifold_query(a: Shape, pose_a: PoseLike, b: Shape, pose_b: PoseLike, margin: float = 0.0) -> Manifold:
    """Contact points with gap <= margin (m): up to 4 for faces, 2 for lines, 1 for round contact; the deepest is among them."""
    out, count = ffi.new("kn_contact_point[]", _ROOM), ffi.new("int*")
    reach = float(given(margin, (), "margin"))
    check(lib.kn_manifold_query(out, count, _ROOM, _shape(a, "a"), pose_of(pose_a), _shape(b, "b"), pose_of(pose_b), reach, ffi.NULL))
    found = [out[i] for i in range(count[0])]

    def rows(name: str) -> Floats:
        return frozen(np.array([list(getattr(c, name)) for c in found], dtype=np.float64).reshape(-1, 3))

    return Manifold(frozen(np.array([c.gap for c in found], dtype=np.float64)), rows("normal"), rows("on_a"), rows("on_b"),
                    frozen(np.array([c.key for c in found], dtype=np.uint64)))


def support(shape: Shape, pose: PoseLike, d: npt.ArrayLike) -> Floats:
    """The farthest point (m) of a convex shape along the direction d, which need not be unit."""
    out, along = np.zeros(3), given(d, (3,), "d")
    check(lib.kn_support(pointer(out), _shape(shape, "shape"), pose_of(pose), pointer(along)))
    return frozen(out)


def shape_box(shape: Shape, pose: PoseLike = None) -> tuple[Floats, Floats]:
    """Lowest and highest corner (m) of the box around a shape, sides along the world's axes; infinite sides of planes."""
    lo, hi = np.zeros(3), np.zeros(3)
    check(lib.kn_shape_box(pointer(lo), pointer(hi), _shape(shape, "shape"), pose_of(pose)))
    return frozen(lo), frozen(hi)


@dataclass(frozen=True)
class RayHit:
    """Where a ray meets a shape: at origin + t direction, the `point` (m) with the outward `normal`.

    inside: the ray begins in the solid (t = 0). feature: face of a hull, triangle of a mesh; otherwise -1.
    """

    t: float
    point: Floats
    normal: Floats
    inside: bool
    feature: int


def ray_cast(shape: Shape, pose: PoseLike, origin: npt.ArrayLike, direction: npt.ArrayLike, t_max: float = math.inf) -> RayHit | None:
    """First point of a ray on a shape with 0 <= t <= t_max, or None. direction need not be unit: t counts in its lengths."""
    o, d, out = given(origin, (3,), "origin"), given(direction, (3,), "direction"), ffi.new("kn_ray_hit*")
    far = float(given(t_max, (), "t_max", finite=False))
    check(lib.kn_ray_cast(out, _shape(shape, "shape"), pose_of(pose), pointer(o), pointer(d), far))
    return RayHit(out.t, _three(out.point), _three(out.normal), bool(out.inside), int(out.feature)) if out.hit else None


@dataclass(frozen=True)
class Sweep:
    """A rigid motion: from the pose `start`, turning with w (rad/s) about the point `centre` (m, None: the start's position), which
    moves with v (m/s); world axes."""

    start: PoseLike = None
    v: npt.ArrayLike = (0.0, 0.0, 0.0)
    w: npt.ArrayLike = (0.0, 0.0, 0.0)
    centre: npt.ArrayLike | None = None

    def _fill(self) -> Any:
        c = ffi.new("kn_sweep*")
        fill_pose(c.start, self.start)
        centre = list(c.start.p) if self.centre is None else [float(x) for x in given(self.centre, (3,), "centre")]
        c.centre = centre
        c.v, c.w = ([float(x) for x in given(x, (3,), name)] for x, name in ((self.v, "v"), (self.w, "w")))
        return c

    def pose(self, t: float) -> Pose:
        """Where it is after t seconds."""
        out = ffi.new("kn_pose*")
        lib.kn_sweep_pose(out, self._fill(), float(given(t, (), "t")))
        return Pose._taken(out)


@dataclass(frozen=True)
class Impact:
    """First contact of two moving shapes. state: "separate" (proven: none up to t), "touch" (none before t, and there the gap is within
    the tolerance), "overlap" (already at t = 0) or "undecided" (steps used up; none before t). distance: at t (s)."""

    state: str
    t: float
    distance: Distance = field(repr=False)
    steps: int


def time_of_impact(a: Shape, sweep_a: Sweep, b: Shape, sweep_b: Sweep, t_max: float, *, tolerance: float = 1e-6, max_steps: int = 1000) -> Impact:
    """When two moving shapes touch first within t_max (s), by conservative advancement; tolerance: the gap that counts as contact, m."""
    settings = ffi.new("kn_toi_settings*", lib.kn_toi_default())
    settings.tolerance = float(given(tolerance, (), "tolerance"))
    if not isinstance(max_steps, int) or not 1 <= max_steps <= 10**9:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadArgumentError(f"max_steps is {max_steps!r}, expected a whole number >= 1")
    settings.max_steps = max_steps
    for sweep, name in ((sweep_a, "sweep_a"), (sweep_b, "sweep_b")):
        if not isinstance(sweep, Sweep):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"{name}: expected a Sweep, got {type(sweep).__name__}")
    out, end = ffi.new("kn_toi_result*"), float(given(t_max, (), "t_max"))
    check(lib.kn_time_of_impact(out, _shape(a, "a"), sweep_a._fill(), _shape(b, "b"), sweep_b._fill(), end, settings, ffi.NULL))
    return Impact(("separate", "touch", "overlap", "undecided")[int(out.state)], out.t, _distance_of(out.distance), int(out.steps))


def shape_massprops(shape: Shape, density: float = 1000.0, *, shell: bool = False) -> MassProps:
    """Mass, centre and inertia of a solid of this density (kg/m³); shell: of its surface, density in kg/m²."""
    out = ffi.new("kn_massprops*")
    fn = lib.kn_shape_massprops_shell if shell else lib.kn_shape_massprops
    check(fn(out, _shape(shape, "shape"), float(given(density, (), "density"))))
    return massprops_of(out)


def line_ellipse(p: npt.ArrayLike, n: npt.ArrayLike, c: npt.ArrayLike, axes: npt.ArrayLike, phi: float) -> tuple[float, Floats]:
    """Gap (m) and contact point of the half-plane {x : n·(x - p) <= 0} and the ellipse about c with semi-axes `axes`, the first at
    the angle phi (rad); everything in the plane, n unit."""
    rows = [given(x, (2,), name) for x, name in ((p, "p"), (n, "n"), (c, "c"), (axes, "axes"))]
    angle = float(given(phi, (), "phi"))
    gap, contact = ffi.new("double*"), np.zeros(2)
    lib.kn_line_ellipse(gap, pointer(contact), *(pointer(x) for x in rows), math.sin(angle), math.cos(angle))
    if not (math.isfinite(gap[0]) and np.isfinite(contact).all()):
        raise BadArgumentError("line_ellipse: n and axes must not be zero, and no product of them too large")
    return float(gap[0]), frozen(contact)
