"""Many worlds of one model on all cores: `Pool`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, owned, pointer
from .errors import BadArgumentError, BusyError, ClosedError, check, text_of
from .model import Model
from .sim import Settings, Sim
from .state import State, same_model

Range = Sequence[float]


@dataclass(frozen=True)
class Ranges:
    """Random differences of worlds at a reset, each drawn evenly between two bounds (None: no difference).

    mass: factor of all masses together; body_mass: of each body by itself; friction: factor; restitution: added to every e;
    size: factor of the shapes of moving bodies; gravity: three ranges, added, m/s²; delay: of the controls, steps; q, v: noise
    of scalar coordinates and of velocities. What is drawn depends on the seed, the world and how often it has been reset.
    """

    seed: int = 0
    mass: Range | None = None
    body_mass: Range | None = None
    friction: Range | None = None
    restitution: Range | None = None
    size: Range | None = None
    gravity: Sequence[Range] | None = None
    delay: Sequence[int] | None = None
    q: Range | None = None
    v: Range | None = None

    def _fill(self) -> Any:
        c = ffi.new("kn_pool_ranges*")
        if not isinstance(self.seed, (int, np.integer)) or not 0 <= self.seed < 2**64:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"seed is {self.seed!r}, expected a whole number >= 0")
        c.seed = int(self.seed)
        for name in ("mass", "body_mass", "friction", "restitution", "size", "q", "v"):
            value = getattr(self, name)
            if value is not None:
                getattr(c, name)[0:2] = given(value, (2,), name).tolist()
        if self.gravity is not None:
            for k, row in enumerate(given(self.gravity, (3, 2), "gravity").tolist()):
                c.gravity[k][0], c.gravity[k][1] = row
        if self.delay is not None:
            bounds = given(self.delay, (2,), "delay")
            c.delay[0:2] = [int(x) for x in bounds]
        return c


@dataclass(frozen=True)
class PoolRun:
    """How a call of `Pool.step` went: sums over all worlds, and what was kept (worlds x rows x …; None: not asked for)."""

    steps: int
    contacts: int
    troubles: int
    failed: int
    residual: float
    penetration: float
    taken: npt.NDArray[np.int64] = field(repr=False)
    t: Floats | None = field(default=None, repr=False)
    q: Floats | None = field(default=None, repr=False)
    v: Floats | None = field(default=None, repr=False)
    contact_counts: npt.NDArray[np.int32] | None = field(default=None, repr=False)
    sensors: Floats | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Linearization:
    """δx⁺ = A δx + B δu with x = (tangent of q, v); near: columns of A, then of B, that lie over a switch of contacts."""

    A: Floats = field(repr=False)
    B: Floats = field(repr=False)
    near: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def switches(self) -> int:
        """How many columns are near a switch."""
        return int(self.near.sum())


class Pool:
    """`worlds` worlds of one model on `threads` threads (0: one for each processor), each as a `Sim` of its own, bit for bit.

    `state` (worlds x (1 + nq + nv)) is the worlds' t, q and v; `t`, `q`, `v` are views of its columns, `ctrl` (worlds x nu) the
    controls, `done` which worlds rest. All are live and may be written: where a row is written the world goes on from there.
    Keywords are the fields of `Settings`. Calls let other Python threads run; a second thread in the same pool gets BusyError.
    """

    def __init__(self, model: Model, worlds: int, threads: int = 0, *, settings: Settings | None = None, **changes: Any) -> None:
        if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"expected a Model, got {type(model).__name__} (knuckle.load)")
        self.model = model
        self.settings: Settings = (settings or Settings.of(model)).with_(**changes)
        keep: list[Any] = []
        out = ffi.new("kn_pool**")
        for name, value in (("worlds", worlds), ("threads", threads)):
            if not isinstance(value, (int, np.integer)) or not -(2**31) <= value < 2**31:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise BadArgumentError(f"{name} is {value!r}, expected a whole number")
        check(lib.kn_pool_create(out, model._c, self.settings._fill(keep), int(worlds), int(threads)))
        self._pool = owned(out[0], lib.kn_pool_destroy, model)
        self._lock = Lock()
        self._pid = os.getpid()
        self.worlds: int = lib.kn_pool_worlds(self._pool)
        self.threads: int = lib.kn_pool_threads(self._pool)
        self._first = Sim(model, settings=self.settings)  # where the scene, file or study begins
        self._use_controller()
        width = lib.kn_pool_width(self._pool)
        self.state: Floats = np.zeros((self.worlds, width))
        self.ctrl: Floats = np.zeros((self.worlds, model.nu))
        self._done = np.zeros(self.worlds, np.uint8)
        for i in range(self.worlds):
            check(lib.kn_pool_put(pointer(self.state), self._pool, i, self._first.state._c))
        self.ctrl[:] = self._first.ctrl

    def _use_controller(self) -> None:
        c = ffi.new("kn_controller*")
        if self.model._servos:
            lib.knp_use_servos(c, self._first._keep[-1])
        elif self.model._scene is not None:
            c[0] = self.model._scene.controller
        check(lib.kn_pool_set_controller(self._pool, c))

    # ---- the worlds ----

    @property
    def t(self) -> Floats:
        """worlds: times, s."""
        return self.state[:, 0]

    @property
    def q(self) -> Floats:
        """worlds x nq: coordinates, live."""
        return self.state[:, 1 : 1 + self.model.nq]

    @property
    def v(self) -> Floats:
        """worlds x nv: velocities, live."""
        return self.state[:, 1 + self.model.nq :]

    @property
    def done(self) -> npt.NDArray[np.bool_]:
        """worlds: these rest; live."""
        return self._done.view(np.bool_)

    @property
    def failures(self) -> dict[int, str]:
        """Worlds that have failed, and why; they rest until their reset."""
        out = {i: text_of(lib.kn_pool_failure(self._open(), i)) for i in np.flatnonzero(self._done)}
        return {int(i): text for i, text in out.items() if text}

    def world(self, index: int) -> State:
        """A copy of a world with all that is not in its row: warm start, sticking contacts. Only of worlds without differences."""
        out = State(self.model)
        with self._inside():
            c = lib.kn_pool_state(self._pool, self._index(index))
            check(lib.kn_state_copy(out._c, c))
        return out

    def hash(self, index: int) -> str:
        """The hash of a world: 16 hexadecimal digits, as `Sim.hash`."""
        with self._inside():
            return f"{lib.kn_state_hash(lib.kn_pool_state(self._pool, self._index(index))):016x}"

    def put(self, index: int, state: State) -> None:
        """The world goes on from a copy of this state."""
        with self._inside():
            check(lib.kn_pool_put(pointer(self.state), self._pool, self._index(index), same_model(state, self.model, "Pool")._c))
        self.ctrl[index] = state.ctrl
        self._done[index] = 0

    def _index(self, index: int) -> int:
        if not isinstance(index, (int, np.integer)) or not 0 <= index < self.worlds:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"world {index!r}: expected 0 … {self.worlds - 1}")
        return int(index)

    # ---- stepping ----

    def step(self, steps: int = 1, ctrl: npt.ArrayLike | None = None, *, force: npt.ArrayLike | None = None, every: int = 0,
             contacts: bool = False) -> PoolRun:
        """`steps` steps of every world that does not rest.

        ctrl: worlds x nu (held; it becomes `pool.ctrl`), or worlds x rows x nu with `steps` a multiple of rows: each row holds for
        steps / rows steps. Without it `pool.ctrl` holds. force: the same with nv. every: the states after every n-th step are kept
        (and the numbers of contacts). A world that fails is reported in `failures` and rests; the others go on.
        """
        n = Sim._steps(steps)
        rows, hold = 1, 0
        u = self.ctrl
        if ctrl is not None:
            u, rows = self._input(ctrl, self.model.nu, n, "ctrl")
            if rows == 1:
                self.ctrl[:] = u.reshape(self.worlds, self.model.nu)
        f = None
        if force is not None:
            f, frows = self._input(force, self.model.nv, n, "force")
            if ctrl is None:
                rows = frows
                u = np.repeat(self.ctrl[:, None, :], rows, axis=1)
            elif frows != rows:
                raise BadArgumentError(f"ctrl has {rows} rows and force {frows}: expected the same")
        if rows > 1:
            hold = n // rows
        if not isinstance(every, (int, np.integer)) or every < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"every is {every!r}, expected a whole number >= 0")
        return self._run(n, np.ascontiguousarray(u), f, hold, int(every), contacts)

    def _input(self, value: npt.ArrayLike, width: int, steps: int, what: str) -> tuple[Floats, int]:
        array = np.asarray(value)
        if array.ndim == 3:
            array = given(array, (self.worlds, None, width), what, finite=False)
            rows = array.shape[1]
            if rows < 1 or steps % rows:
                raise BadArgumentError(f"{what} has {rows} rows: {steps} steps are no multiple of it")
            return array, rows
        return given(array, (self.worlds, width), what, finite=False), 1

    def _run(self, n: int, u: Floats, f: Floats | None, hold: int, every: int, contacts: bool) -> PoolRun:
        m, kept = self.model, n // every if every else 0
        t = q = v = counts = sensors = None
        taken = np.zeros(self.worlds, np.int64)
        run = ffi.new("kn_pool_run*", {"steps": n, "hold": hold, "every": every})
        if self.state.shape != (self.worlds, 1 + m.nq + m.nv) or not self.state.flags.c_contiguous or self.state.dtype != np.float64:
            raise BadArgumentError("state: expected the pool's own array")
        run.state, run.ctrl = pointer(self.state), pointer(u)
        run.done, run.taken = ffi.from_buffer("uint8_t[]", self._done), ffi.from_buffer("int64_t[]", taken)
        if f is not None:
            run.force = pointer(f)
        if every:
            t, q, v = np.zeros((self.worlds, kept)), np.zeros((self.worlds, kept, m.nq)), np.zeros((self.worlds, kept, m.nv))
            run.t, run.q, run.v = pointer(t), pointer(q), pointer(v)
            numbers = lib.kn_model_sensor_numbers(m._c)
            if numbers:
                sensors = np.zeros((self.worlds, kept, numbers))
                run.sensor = pointer(sensors)
            if contacts:
                counts = np.zeros((self.worlds, kept), np.int32)
                run.contacts = ffi.from_buffer("int32_t[]", counts)
        summary = ffi.new("kn_pool_summary*")
        with self._inside():
            check(lib.kn_pool_step(summary, self._pool, run))
        s = summary
        return PoolRun(int(s.steps), int(s.contacts), int(s.troubles), int(s.failed), float(s.residual), float(s.penetration), frozen(taken),
                       *(x if x is None else frozen(x) for x in (t, q, v, counts, sensors)))

    def reset(self, mask: npt.ArrayLike | None = None, *, keyframe: int | str | None = None, ranges: Ranges | Mapping[str, Any] | None = None,
              delay: npt.ArrayLike | None = None, recount: bool = False) -> None:
        """The worlds of the mask (all without one) begin again, where the scene, file or study begins or at a keyframe.

        ranges: random differences for each of them; delay: worlds, steps by which their controls come late;
        recount: this is their first reset, so that the same seed draws the same again.
        """
        r = ffi.new("kn_pool_reset*", {"keyframe": -1, "recount": bool(recount)})
        r.state, r.done = pointer(self.state), ffi.from_buffer("uint8_t[]", self._done)
        keep: list[Any] = []
        chosen = np.ones(self.worlds, np.uint8)
        if mask is not None:
            chosen = np.ascontiguousarray(mask, dtype=np.bool_).astype(np.uint8)
            if chosen.shape != (self.worlds,):
                raise BadArgumentError(f"mask: shape {chosen.shape}, expected {self.worlds}")
        r.mask = ffi.from_buffer("uint8_t[]", chosen)
        if keyframe is not None:
            self._first.state.keyframe(keyframe)
        else:
            self._first.reset()
        start = np.concatenate([[self._first.time], self._first.q, self._first.v])
        r.start = pointer(start)
        if isinstance(ranges, Mapping):
            ranges = Ranges(**ranges)
        if ranges is not None:
            keep.append(ranges._fill())
            r.ranges = keep[-1]
        if delay is not None:
            late = np.ascontiguousarray(given(delay, (self.worlds,), "delay"), dtype=np.int32)
            keep.append(late)
            r.delay = ffi.from_buffer("int[]", late)
        with self._inside():
            check(lib.kn_pool_begin(self._pool, r))
        self.ctrl[chosen != 0] = self._first.ctrl

    def linearize(self, state: State, steps: int = 1, h: float = 0.0) -> Linearization:
        """A and B of `steps` steps about a state, by centred differences of width h (0: 1e-4) on the pool's threads."""
        n, nu = 2 * self.model.nv, self.model.nu
        A, B, near = np.zeros((n, n)), np.zeros((n, nu)), np.zeros(n + nu, np.uint8)
        out = ffi.new("kn_linearization*")
        out.A, out.near = pointer(A), ffi.from_buffer("uint8_t[]", near)
        if nu:
            out.B = pointer(B)
        with self._inside():
            check(lib.kn_linearize(out, self._pool, same_model(state, self.model, "linearize")._c, Sim._steps(steps), float(h)))
        return Linearization(frozen(A), frozen(B), frozen(near.view(np.bool_)))

    # ---- life ----

    def _open(self) -> Any:
        if self._pool is None:
            raise ClosedError("this pool is closed")
        return self._pool

    def _inside(self) -> _Inside:
        self._open()
        if os.getpid() != self._pid:
            raise BusyError("this pool belongs to the parent process; its threads are not here")
        return _Inside(self._lock)

    def close(self) -> None:
        """Gives threads and worlds back; the arrays stay."""
        if self._pool is not None:
            with self._inside():
                ffi.release(self._pool)
                self._pool: Any = None
            self._first.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Pool of {self.model.name!r}: {self.worlds} worlds on {self.threads} threads>"


class _Inside:
    """One thread at a time."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise BusyError("another thread is inside this pool; give each thread its own")

    def __exit__(self, *_: object) -> None:
        self._lock.release()
