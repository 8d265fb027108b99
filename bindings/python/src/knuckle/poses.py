"""Where something is: `Pose`, and `Poses` of many things."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np
import numpy.typing as npt

from ._kn import ffi
from .arrays import Floats, frozen, given
from .errors import BadArgumentError

if TYPE_CHECKING:
    from .model import Items


@dataclass(frozen=True)
class Pose:
    """A placement: x_world = R x + p, R a rotation (3 x 3), p a position (m)."""

    R: Floats = field(repr=False)
    p: Floats

    @staticmethod
    def of(p: npt.ArrayLike = (0.0, 0.0, 0.0), quat: npt.ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> Pose:
        """From a position (m) and a quaternion (w, x, y, z), which is made unit."""
        q = given(quat, (4,), "quat")
        largest = float(np.abs(q).max())
        if largest == 0.0:
            raise BadArgumentError("quat: is zero")
        q = q / largest
        w, x, y, z = (float(k) for k in q / np.sqrt(q @ q))
        R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])
        return Pose(frozen(R), frozen(given(p, (3,), "p").copy()))

    @staticmethod
    def _taken(c: Any) -> Pose:
        """From a `kn_pose`."""
        return Pose(frozen(np.array(list(c.R)).reshape(3, 3)), frozen(np.array(list(c.p))))

    def apply(self, x: npt.ArrayLike) -> Floats:
        """R x + p of a point, or of n x 3 points."""
        points = np.asarray(given(x, (3,) if np.ndim(np.asarray(x)) == 1 else (None, 3), "x"))
        return frozen(points @ np.asarray(self.R).T + self.p)


#: a `Pose`, three numbers (a position), or None: the origin
PoseLike = Union[Pose, npt.ArrayLike, None]


def fill_pose(c: Any, pose: PoseLike) -> None:
    """Writes it to a `kn_pose`."""
    if isinstance(pose, Pose):
        turn, p = given(pose.R, (3, 3), "R"), given(pose.p, (3,), "p")
        if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0:  # a rotation written with seven digits
            raise BadArgumentError("R: is not a rotation")
    else:
        turn, p = np.eye(3), np.zeros(3) if pose is None else given(pose, (3,), "pose")
    c.R, c.p = [float(x) for x in turn.ravel()], [float(x) for x in p]


def pose_of(pose: PoseLike) -> Any:
    """As a new `kn_pose`."""
    c = ffi.new("kn_pose*")
    fill_pose(c, pose)
    return c


@dataclass(frozen=True)
class Poses:
    """Rotations (n x 3 x 3, x_world = R x + p) and positions (n x 3, m) in the world; `poses[i]` and, of a simulator's, `poses["name"]` is a `Pose`."""

    R: Floats = field(repr=False)
    p: Floats
    _things: Items[Any] | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.p)

    def __getitem__(self, i: int | str) -> Pose:
        if isinstance(i, str):
            if self._things is None:
                raise BadArgumentError(f"{i!r}: these poses have no names")
            i = self._things.index_of(i)
        return Pose(self.R[i], self.p[i])

    def __reduce__(self) -> Any:  # the names stay with the model
        return Poses, (self.R, self.p)
