"""Which of many shapes may touch: `Broad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import frozen, given, owned, pointer
from .errors import BadArgumentError, Status, check
from .poses import Poses
from .shapes import Shape

_BITS = 0xFFFFFFFF


class Broad:
    """A broad phase: shapes on bodies, and the pairs of them whose boxes overlap.

    bodies: of each shape (None: one of its own; -1: static); shapes of one body never pair, nor two static ones. margins: m, by which
    boxes are larger. contype, conaffinity: bits as in MuJoCo. exclude: pairs of bodies.
    """

    def __init__(self, shapes: Sequence[Shape], bodies: Sequence[int] | None = None, *, margins: npt.ArrayLike | None = None,
                 contype: Sequence[int] | None = None, conaffinity: Sequence[int] | None = None,
                 exclude: Sequence[tuple[int, int]] = ()) -> None:
        items = list(shapes)
        n = len(items)
        if n == 0 or not all(isinstance(s, Shape) for s in items):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError("shapes: expected at least one Shape")
        owner = list(range(n)) if bodies is None else [int(b) for b in bodies]
        far = np.zeros(n) if margins is None else given(margins, (n,), "margins")
        bits = [[1] * n if b is None else [int(x) for x in b] for b in (contype, conaffinity)]
        if any(len(x) != n for x in (owner, *bits)) or min(owner) < -1 or any(not 0 <= x <= _BITS for b in bits for x in b):
            raise BadArgumentError(f"bodies, contype, conaffinity: expected {n} whole numbers each, bodies >= -1, bits of 32")
        out, at = ffi.new("kn_broad**"), ffi.new("kn_broad_item[]", n)
        for i, s in enumerate(items):
            at[i].shape, at[i].body, at[i].margin = s._c[0], owner[i], float(far[i])
            at[i].contype, at[i].conaffinity = bits[0][i], bits[1][i]
        apart = np.array([[int(a), int(b)] for a, b in exclude], dtype=np.int32).reshape(-1, 2)
        d = ffi.new("kn_broad_def*", {"items": at, "count": n, "nbody": max(max(owner) + 1, 0), "nexclusion": len(apart)})
        if len(apart):
            d.exclusions = ffi.cast("int32_t(*)[2]", ffi.from_buffer(apart))
        check(lib.kn_broad_create(out, d, ffi.NULL))
        self.shapes: tuple[Shape, ...] = tuple(items)
        self._c = owned(out[0], lib.kn_broad_destroy, self.shapes)

    def _pairs(self) -> npt.NDArray[np.int32]:
        at, count = ffi.new("const kn_broad_pair**"), ffi.new("int32_t*")
        lib.kn_broad_pairs(self._c, at, count)
        out = np.array([[at[0][i].a, at[0][i].b] for i in range(count[0])], dtype=np.int32).reshape(-1, 2)
        return frozen(out)

    def _room(self, update: Any) -> npt.NDArray[np.int32]:
        status = update()
        while status == Status.NO_ROOM:
            stats = ffi.new("kn_broad_stats*")
            lib.kn_broad_get_stats(self._c, stats)
            check(lib.kn_broad_reserve(self._c, max(stats.needed, 2 * stats.capacity)))
            status = update()
        check(status)
        return self._pairs()

    def update(self, poses: Poses, velocity: npt.ArrayLike | None = None, dt: float = 0.0) -> npt.NDArray[np.int32]:
        """Pairs (n x 2, indices of shapes; a plane comes second) at new poses. velocity (n x 6, [angular; linear] at the shapes' origins,
        world axes): boxes hold what they sweep in dt (s)."""
        n = len(self.shapes)
        if not isinstance(poses, Poses):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"poses: expected Poses, got {type(poses).__name__}")
        R, p = given(poses.R, (n, 3, 3), "poses.R"), given(poses.p, (n, 3), "poses.p")
        flat = np.ascontiguousarray(np.hstack([R.reshape(n, 9), p]))
        v = None if velocity is None else given(velocity, (n, 6), "velocity")
        length = float(given(dt, (), "dt"))
        at = ffi.cast("kn_pose*", pointer(flat))
        return self._room(lambda: lib.kn_broad_update(self._c, at, ffi.NULL if v is None else pointer(v), length))

    def update_boxes(self, boxes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """The same from boxes (n x 6, lowest then highest corner, m) made elsewhere; infinite sides are allowed."""
        b = given(boxes, (len(self.shapes), 6), "boxes", finite=False)
        if np.isnan(b).any():
            raise BadArgumentError("boxes: hold a NaN")
        return self._room(lambda: lib.kn_broad_update_boxes(self._c, pointer(b)))

    def query(self, lo: npt.ArrayLike, hi: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """Shapes whose boxes of the last update meet the box lo … hi (m), ascending."""
        a, b = given(lo, (3,), "lo"), given(hi, (3,), "hi")
        out, count = np.zeros(len(self.shapes), np.int32), ffi.new("int32_t*")
        check(lib.kn_broad_query(self._c, ffi.from_buffer("int32_t[]", out), count, len(out), pointer(a), pointer(b)))
        return frozen(out[: count[0]].copy())

    def __repr__(self) -> str:
        return f"<Broad: {len(self.shapes)} shapes>"
