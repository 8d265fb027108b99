"""Forward dynamics of many worlds at once, one per vector lane: `Batch`. Without contact; with contact there is `Pool`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, owned
from .errors import BadArgumentError, check
from .model import Model


class Batch:
    """Worlds of one model without contact, several in one vector register; the same bits on every machine.

        batch = knuckle.Batch(model, 1000)
        batch.set(q=start, tau=torques)            # worlds x nq, worlds x nv, or one row for all
        batch.forward()
        batch.qdd                                  # worlds x nv

    Inputs go in by `set`; `q`, `v`, `tau`, `qdd` are read-only snapshots with a row per world (inside, eight worlds are interleaved).
    """

    def __init__(self, model: Model, worlds: int) -> None:
        if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"expected a Model, got {type(model).__name__} (knuckle.load)")
        if not isinstance(worlds, (int, np.integer)) or not 1 <= worlds <= 1 << 24:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"worlds is {worlds!r}, expected 1 … {1 << 24}")
        out = ffi.new("kn_batch**")
        check(lib.kn_batch_create(out, model._c, int(worlds)))
        self.model = model
        self._c = owned(out[0], lib.kn_batch_destroy, model)
        self.worlds: int = lib.kn_batch_worlds(self._c)

    def _lanes(self, fn: Any, n: int) -> Floats:
        """The library's array as blocks x n x lanes."""
        blocks, lanes = -(-self.worlds // lib.KN_LANES), lib.KN_LANES
        if n == 0:
            return np.empty((blocks, 0, lanes))
        return np.frombuffer(ffi.buffer(fn(self._c), 8 * blocks * n * lanes), np.float64).reshape(blocks, n, lanes)

    def _rows(self, fn: Any, n: int) -> Floats:
        rows = self._lanes(fn, n).transpose(0, 2, 1).reshape(-1, n)
        return frozen(rows[: self.worlds].copy())

    def _write(self, fn: Any, n: int, value: npt.ArrayLike, what: str) -> None:
        one = np.ndim(np.asarray(value)) == 1
        rows = given(value, (n,) if one else (self.worlds, n), what)
        lanes = self._lanes(fn, n)
        every = lanes.transpose(0, 2, 1).reshape(-1, n)  # a copy, with the lanes beyond the last world
        every[: self.worlds] = rows
        lanes[:] = every.reshape(lanes.shape[0], lib.KN_LANES, n).transpose(0, 2, 1)

    def set(self, *, q: npt.ArrayLike | None = None, v: npt.ArrayLike | None = None, tau: npt.ArrayLike | None = None) -> None:
        """Coordinates (rad, m), velocities and generalised forces of all worlds; one row for all of them will do."""
        given_all = (("q", q, lib.kn_batch_q, self.model.nq), ("v", v, lib.kn_batch_v, self.model.nv), ("tau", tau, lib.kn_batch_tau, self.model.nv))
        for name, value, _, n in given_all:  # all are looked at before the first is written
            if value is not None:
                given(value, (n,) if np.ndim(np.asarray(value)) == 1 else (self.worlds, n), name)
        for name, value, fn, n in given_all:
            if value is not None:
                self._write(fn, n, value, name)

    @property
    def q(self) -> Floats:
        """worlds x nq coordinates."""
        return self._rows(lib.kn_batch_q, self.model.nq)

    @property
    def v(self) -> Floats:
        """worlds x nv velocities."""
        return self._rows(lib.kn_batch_v, self.model.nv)

    @property
    def tau(self) -> Floats:
        """worlds x nv generalised forces."""
        return self._rows(lib.kn_batch_tau, self.model.nv)

    @property
    def qdd(self) -> Floats:
        """worlds x nv accelerations of the last `forward` or `step`."""
        return self._rows(lib.kn_batch_qdd, self.model.nv)

    def forward(self) -> None:
        """qdd = M⁻¹ (tau - bias) in every world."""
        check(lib.kn_batch_forward(self._c))

    def step(self, dt: float) -> None:
        """`forward`, then v += dt qdd and q moved by dt v (semi-implicit Euler), in every world; dt in s."""
        check(lib.kn_batch_step(self._c, float(given(dt, (), "dt"))))

    def __repr__(self) -> str:
        return f"<Batch of {self.model.name!r}: {self.worlds} worlds>"
