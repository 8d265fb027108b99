"""Triangles: reading, mending and weighing meshes; mass properties. SI units."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, path_text, pointer, snapshot
from .errors import BadArgumentError, check
from .poses import PoseLike, pose_of

_INERTIA = ("exact", "convex", "legacy", "shell")


@dataclass(frozen=True)
class MassProps:
    """`mass` (kg), centre of mass `com` (m) and `inertia` about it (xx yy zz xy xz yz, kg m²), in one frame. `a + b`: both together."""

    mass: float
    com: Floats
    inertia: Floats

    def _c(self) -> Any:
        com, inertia = given(self.com, (3,), "com"), given(self.inertia, (6,), "inertia")
        mass = float(given(self.mass, (), "mass"))
        return ffi.new("kn_massprops*", {"mass": mass, "com": [float(x) for x in com], "inertia": [float(x) for x in inertia]})

    def __add__(self, other: MassProps) -> MassProps:
        if not isinstance(other, MassProps):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return massprops_of(ffi.new("kn_massprops*", lib.kn_massprops_add(self._c(), other._c())))

    def move(self, pose: PoseLike) -> MassProps:
        """The same body seen from the frame the pose maps into."""
        return massprops_of(ffi.new("kn_massprops*", lib.kn_massprops_move(self._c(), pose_of(pose))))


def massprops_of(c: Any) -> MassProps:
    """From a `kn_massprops`."""
    return MassProps(c.mass, snapshot(c.com, 3), snapshot(c.inertia, 6))


def principal_axes(inertia: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Principal moments (kg m², descending) and the quaternion (w, x, y, z) of their axes, from xx yy zz xy xz yz."""
    I, moments, quat = given(inertia, (6,), "inertia"), np.zeros(3), np.zeros(4)
    check(lib.kn_principal_axes(pointer(moments), pointer(quat), pointer(I)))
    return frozen(moments), frozen(quat)


@dataclass(frozen=True)
class MeshInfo:
    """What a mesh is: bounding box `low` … `high` (m), `volume` (m³, signed, meaningful when closed), `area` (m²), and what is wrong."""

    low: Floats
    high: Floats
    volume: float
    area: float
    open_edges: int
    nonmanifold_edges: int
    flipped_edges: int
    degenerate: int
    closed: bool


@dataclass(frozen=True)
class MeshData:
    """Triangles: `vertices` (n x 3, m) and `triangles` (m x 3, indices), counter-clockwise seen from outside. Immutable: what changes it
    gives a new one."""

    vertices: Floats = field(repr=False)
    triangles: npt.NDArray[np.int32] = field(repr=False)

    @staticmethod
    def of(vertices: npt.ArrayLike, triangles: npt.ArrayLike) -> MeshData:
        """From arrays; indices are checked."""
        try:
            t = np.asarray(triangles)
            with np.errstate(invalid="ignore"):  # what does not fit is refused below
                whole = np.ascontiguousarray(t, dtype=np.int32)
        except (TypeError, ValueError, OverflowError) as e:
            raise BadArgumentError(f"triangles: expected whole numbers, {e}") from None
        if whole.ndim != 2 or whole.shape[1] != 3 or not np.array_equal(whole, t):
            raise BadArgumentError(f"triangles: shape {whole.shape}, expected whole numbers, m x 3")
        return MeshData(given(vertices, (None, 3), "vertices"), whole)._again(lambda c: 0)

    def _handle(self) -> Any:
        x, t = given(self.vertices, (None, 3), "vertices"), np.ascontiguousarray(self.triangles, dtype=np.int32)
        c = ffi.gc(ffi.new("kn_mesh_data*"), lib.kn_mesh_data_free)
        check(lib.kn_mesh_data_create(c, pointer(x), len(x), ffi.from_buffer("int32_t[]", t) if t.size else ffi.NULL, len(t)))
        return c

    @staticmethod
    def _taken(c: Any) -> MeshData:
        """From a `kn_mesh_data`, which is freed."""
        try:
            return MeshData(snapshot(c.vertices, 3 * c.nvertex).reshape(-1, 3), snapshot(c.triangles, 3 * c.ntriangle, np.int32).reshape(-1, 3))
        finally:
            lib.kn_mesh_data_free(c)

    def _again(self, change: Callable[[Any], int]) -> MeshData:
        c = self._handle()
        check(change(c))
        x, t = snapshot(c.vertices, 3 * c.nvertex).reshape(-1, 3), snapshot(c.triangles, 3 * c.ntriangle, np.int32).reshape(-1, 3)
        return MeshData(x, t)

    def scale(self, s: npt.ArrayLike) -> MeshData:
        """Coordinates times s, one number or three; triangles keep facing out."""
        factors = given(np.broadcast_to(np.asarray(s, dtype=np.float64), (3,)) if np.ndim(np.asarray(s)) == 0 else s, (3,), "s")
        return self._again(lambda c: lib.kn_mesh_data_scale(c, pointer(factors)))

    def transform(self, pose: PoseLike) -> MeshData:
        """Moved: x := R x + p."""
        return self._again(lambda c: lib.kn_mesh_data_transform(c, pose_of(pose)))

    def weld(self, tolerance: float = 0.0) -> MeshData:
        """Vertices closer than the tolerance (m) are one; triangles that lose a corner and loose vertices are dropped."""
        near = float(given(tolerance, (), "tolerance"))
        return self._again(lambda c: lib.kn_mesh_data_weld(c, near))

    def inspect(self) -> MeshInfo:
        """Is it closed, which way do its triangles face, how large is it."""
        out = ffi.new("kn_mesh_info*")
        check(lib.kn_mesh_data_inspect(out, self._handle()))
        return MeshInfo(snapshot(out.low, 3), snapshot(out.high, 3), out.volume, out.area, out.open_edges, out.nonmanifold_edges,
                        out.flipped_edges, out.degenerate, bool(out.closed))

    def massprops(self, density: float = 1000.0, inertia: str = "exact") -> MassProps:
        """Mass properties at this density (kg/m³; "shell": kg/m²). inertia: "exact", "convex", "legacy" or "shell" as in MJCF."""
        if inertia not in _INERTIA:
            raise BadArgumentError(f"inertia is {inertia!r}, expected one of {', '.join(_INERTIA)}")
        out = ffi.new("kn_massprops*")
        check(lib.kn_mesh_data_massprops(out, self._handle(), _INERTIA.index(inertia), float(given(density, (), "density"))))
        return massprops_of(out)

    def __repr__(self) -> str:
        return f"<MeshData: {len(self.vertices)} vertices, {len(self.triangles)} triangles>"


def read_mesh(path: str | os.PathLike[str], data: bytes | None = None) -> MeshData:
    """Triangles of an STL or OBJ file (others where built with assimp: `features()`). data: the file's bytes, instead of the disk."""
    name, out = os.fsencode(path_text(path)), ffi.new("kn_mesh_data*")
    if data is None:
        check(lib.kn_mesh_data_load(out, name))
    else:
        if not isinstance(data, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"data: expected bytes, got {type(data).__name__}")
        check(lib.kn_mesh_data_read(out, name, ffi.from_buffer(data), len(data)))
    return MeshData._taken(out)


__all__: Sequence[str] = ["MassProps", "MeshData", "MeshInfo", "massprops_of", "principal_axes", "read_mesh"]
