"""Recordings: writing, reading as NumPy (pandas, xarray), verifying, plotting."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, NamedArray, frozen, nearest, owned, path_text, snapshot
from .errors import BadArgumentError, BusyError, ClosedError, Status, check, expect, failure, text_of
from .loads import Loads, loads_of
from .model import Model
from .report import Contacts, Event, Ledger, contacts_of, event_of, ledger_of
from .sim import Sim

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas
    import xarray

PathLike = str | os.PathLike[str]


def _borrowed(p: Any) -> None:
    pass


class Recorder:
    """Writes the steps of a simulator into an MCAP file that Foxglove and `read` open.

        with knuckle.record(sim, "run.mcap") as rec:
            rec.run(1.0)

    Steps made with the recorder's own `step` and `run` are recorded.
    """

    def __init__(self, sim: Sim, path: PathLike, *, every: int = 1, scene_rate: float = 60.0, level: int = -10) -> None:
        expect(sim, Sim, "record")
        settings = ffi.new("kn_record_settings*", lib.kn_record_default())
        try:
            settings.every, settings.scene_rate, settings.level = every, scene_rate, level
        except (TypeError, OverflowError) as e:
            raise BadArgumentError(f"record: {e}") from None
        out, name = ffi.new("kn_recorder**"), path_text(path)
        with sim._inside():
            check(lib.kn_recorder_open(out, os.fsencode(name), sim._sim, settings))
        self.path: str = name
        self.sim = sim
        self._pid = pid = os.getpid()

        def end(p: Any) -> None:  # a child process has no thread to wait for
            if os.getpid() == pid:
                lib.kn_recorder_close(p)

        self._c: Any = owned(out[0], end, sim._sim)
        sim._recorders.add(self)

    def _live(self) -> Any:
        if self._c is None:
            raise ClosedError("this recorder is closed")
        if os.getpid() != self._pid:
            raise BusyError("this recorder belongs to the parent process; its writing thread is not here")
        return self._c

    def step(self, n: int = 1) -> None:
        """n steps, each recorded."""
        c = self._live()
        for _ in range(Sim._steps(n)):
            check(lib.kn_recorder_before(c, self.sim.state._c))
            self.sim.step()
            check(lib.kn_recorder_step(c, self.sim.state._c))

    def run(self, seconds: float) -> None:
        """As many recorded steps as `seconds` hold."""
        self.step(round(float(seconds) / self.sim.settings.dt))

    @property
    def bytes_written(self) -> int:
        """So far."""
        return lib.kn_recorder_bytes(self._live())

    def close(self) -> None:
        """Writes what is waiting and the index."""
        if self._c is None or os.getpid() != self._pid:
            self._c = None
            return
        c, self._c = self._c, None
        ffi.gc(c, None)  # closed here, not by the collector
        check(lib.kn_recorder_close(c))

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Recorder of {self.path!r}{': closed' if self._c is None else ''}>"


def record(sim: Sim, path: PathLike, *, every: int = 1, scene_rate: float = 60.0, level: int = -10) -> Recorder:
    """Starts recording a simulator into a file (an existing one is replaced)."""
    return Recorder(sim, path, every=every, scene_rate=scene_rate, level=level)


@dataclass(frozen=True)
class Step:
    """One recorded step."""

    step: int
    t: float
    dt: float
    hash: str
    q: Floats
    v: Floats
    ctrl: Floats
    force: Floats
    tau: Floats
    v_free: Floats
    status: Status
    residual: float
    penetration: float
    closure: float
    kinetic: float
    potential: float
    spring: float
    ledger: Ledger
    contacts: Contacts
    events: tuple[Event, ...]
    sensors: Floats


_SCALARS = ("residual", "penetration", "lift", "closure", "drift", "correction", "audit", "gain_rel", "momentum_error", "iterations",
            "lcp_size", "islands", "contacts")


class Recording(Sequence[Step]):
    """An open recording: a sequence of steps, and whole columns as arrays.

        rec = knuckle.read("run.mcap")
        rec.t, rec.q, rec["energy"], rec["q.elbow"], rec.pandas()
    """

    def __init__(self, path: PathLike) -> None:
        out = ffi.new("kn_recording**")
        self.path: str = path_text(path)
        check(lib.kn_recording_open(out, os.fsencode(self.path)))
        self._c = ffi.gc(out[0], lib.kn_recording_close)
        self._count: int = lib.kn_recording_steps(self._c)
        #: the recorded model
        self.model: Model = Model(owned(ffi.cast("kn_model*", lib.kn_recording_model(self._c)), _borrowed, self._c))
        self._columns: dict[str, npt.NDArray[Any]] | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def problems(self) -> list[str]:
        """What is wrong with the file; empty for a whole, undamaged one."""
        return [text_of(lib.kn_recording_problem(self._c, i)) for i in range(lib.kn_recording_problems(self._c))]

    @property
    def settings(self) -> dict[str, str]:
        """Choices of the simulator that was recorded, as texts."""
        from .model import _CHOICES, _NUMBERS

        found = ((n, lib.kn_recording_setting(self._c, n.encode())) for n in (*_CHOICES, *_NUMBERS, "every"))
        return {n: text_of(p) for n, p in found if p != ffi.NULL}

    @property
    def model_hash(self) -> str:
        """The hash of the model that was simulated: `model.hash`, unless the file was changed."""
        return f"{lib.kn_recording_model_hash(self._c):016x}"

    @property
    def every(self) -> int:
        """Every so many steps one was recorded."""
        return lib.kn_recording_every(self._c)

    def _read(self, i: int) -> Any:
        s = ffi.new("kn_recorded*")
        check(lib.kn_recording_read(s, self._c, i))
        return s

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.column(key)
        if isinstance(key, slice):
            return [self[i] for i in range(*key.indices(self._count))]
        i = int(key)
        if not -self._count <= i < self._count:
            raise IndexError(f"step {i} of {self._count}")
        s, m = self._read(i % self._count), self.model
        return Step(s.step, s.t, s.dt, f"{s.state_hash:016x}", NamedArray(snapshot(s.q, m.nq), m._q_names, "joint"),
                    NamedArray(snapshot(s.v, m.nv), m._v_names, "joint"), NamedArray(snapshot(s.ctrl, m.nu), m._ctrl_names, "actuator"),
                    snapshot(s.force, m.nv), snapshot(s.tau, m.nv), snapshot(s.v_free, m.nv), Status(s.status), s.residual, s.penetration,
                    s.closure, s.energy.kinetic, s.energy.potential, s.energy.spring, ledger_of(s.ledger),
                    contacts_of(m, s.contact, s.contacts, s.dt), tuple(event_of(m, s.event[k]) for k in range(s.events)), NamedArray(self._sensed(s), m._sensor_names, "sensor"))

    def _sensed(self, s: Any) -> Floats:
        n = self.model._sensor_count
        return snapshot(s.sensors, n) if s.sensors != ffi.NULL else frozen(np.full(n, np.nan))

    def __iter__(self) -> Iterator[Step]:
        return (self[i] for i in range(self._count))

    def _load(self) -> dict[str, npt.NDArray[Any]]:
        if self._columns is None:
            n, m = self._count, self.model
            c: dict[str, npt.NDArray[Any]] = {"t": np.empty(n), "q": np.empty((n, m.nq)), "v": np.empty((n, m.nv)), "ctrl": np.empty((n, m.nu)),
                                              "force": np.empty((n, m.nv)), "tau": np.empty((n, m.nv)),
                                              "sensor": np.empty((n, m._sensor_count))}
            for name in ("kinetic", "potential", "spring", "energy", *_SCALARS):
                c[name] = np.empty(n)
            s = ffi.new("kn_recorded*")
            for i in range(n):
                check(lib.kn_recording_read(s, self._c, i))
                c["t"][i] = s.t
                for name in ("q", "v", "ctrl", "force", "tau"):
                    row = c[name][i]
                    if row.size:
                        ffi.memmove(ffi.from_buffer(row), getattr(s, name), row.nbytes)
                c["sensor"][i] = self._sensed(s)
                for name in _SCALARS:
                    c[name][i] = getattr(s, name)
                e = s.energy
                c["kinetic"][i], c["potential"][i], c["spring"][i] = e.kinetic, e.potential, e.spring
                c["energy"][i] = e.kinetic + e.potential + e.spring
            self._columns = {k: frozen(a) for k, a in c.items()}
        return self._columns

    @property
    def names(self) -> list[str]:
        """Columns: t, q.JOINT, v.JOINT, ctrl.ACTUATOR, sensor.NAME, kinetic, potential, spring, energy, residual, …"""
        m = self.model
        out = ["t"]
        for part, known in (("q", m._q_names), ("v", m._v_names), ("ctrl", m._ctrl_names), ("sensor", m._sensor_names)):
            for name, at in known.items():
                out += [f"{part}.{name}"] if isinstance(at, int) else [f"{part}.{name}.{k}" for k in range(at.stop - at.start)]
        return out + ["kinetic", "potential", "spring", "energy", *_SCALARS]

    def column(self, name: str) -> Floats:
        """A column as an array with one row per recorded step: "energy", "q", "q.elbow", "v.base.2"."""
        expect(name, str, "column")
        columns = self._load()
        if name in columns:
            return columns[name]
        part, _, rest = name.partition(".")
        known = {"q": self.model._q_names, "v": self.model._v_names, "ctrl": self.model._ctrl_names, "tau": self.model._v_names,
                 "force": self.model._v_names, "sensor": self.model._sensor_names}.get(part, {})
        if rest in known:
            return columns[part][:, known[rest]]
        joint, _, k = rest.rpartition(".")
        at = known.get(joint)
        if isinstance(at, slice) and k.isdigit() and int(k) < at.stop - at.start:
            return columns[part][:, at.start + int(k)]
        raise nearest("column", name, self.names)

    def loads(self, forces: str = "nearest") -> Iterator[Loads]:
        """What the contacts carried, step by step: forces (N), blows (N s), sums by pair and body, what the motion determines.

        forces: which ones where the motion leaves them open: those "nearest" to the step before, the "least", or as "solved".
        """
        return loads_of(self, forces)

    @property
    def t(self) -> Floats:
        """Times after the recorded steps, s."""
        return self.column("t")

    @property
    def q(self) -> Floats:
        """steps x nq."""
        return self.column("q")

    @property
    def v(self) -> Floats:
        """steps x nv."""
        return self.column("v")

    def pandas(self) -> pandas.DataFrame:
        """All columns as a DataFrame over time (needs pandas)."""
        import pandas

        return pandas.DataFrame({n: self.column(n) for n in self.names if n != "t"}, index=pandas.Index(self.t, name="t"))

    def xarray(self) -> xarray.Dataset:
        """All columns as a Dataset over time (needs xarray)."""
        import xarray

        return xarray.Dataset({n: ("t", self.column(n)) for n in self.names if n != "t"}, coords={"t": self.t})

    def plot(self, *names: str) -> matplotlib.figure.Figure:
        """Columns over time (needs matplotlib)."""
        return plot(self, *names)

    def __repr__(self) -> str:
        end = f", t = {self[0].t:g} … {self[-1].t:g} s" if self._count else ""
        return f"<Recording {self.path!r}: {self._count} steps{end} of {self.model.name!r}{', damaged' if self.problems else ''}>"


def read(path: PathLike) -> Recording:
    """Opens a recording and checks every chunk; damaged parts are skipped and listed (`problems`)."""
    return Recording(path)


@dataclass(frozen=True)
class Violation:
    """A recorded step that breaks a check."""

    step: int
    check: str
    value: float
    limit: float


@dataclass(frozen=True)
class Verification:
    """A recording re-checked by code that shares nothing with the solvers."""

    steps: int
    violations: int
    listed: tuple[Violation, ...]
    skipped: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.violations == 0

    def __str__(self) -> str:
        return f"{self.steps} steps checked, {self.violations} violations" + "".join(f"\n  not checked: {s}" for s in self.skipped)


def verify(recording: Recording | PathLike, *, without: Sequence[str] = ()) -> Verification:
    """Re-checks every recorded step: momentum, positions, contact conditions, loops, energy. without: names of `choices("check")`."""
    r = recording if isinstance(recording, Recording) else read(recording)
    out = ffi.new("kn_verification*")
    names = [ffi.new("char[]", str(n).encode()) for n in ([without] if isinstance(without, str) else without)]
    status = lib.kn_verify_except(out, r._c, ffi.new("const char*[]", [*names, ffi.NULL])) if names else lib.kn_verify(out, r._c)
    if status:
        raise failure(status)
    return Verification(out.steps, out.violations,
                        tuple(Violation(v.step, text_of(v.check), v.value, v.limit) for v in (out.violation[i] for i in range(out.listed))),
                        tuple(f"{text_of(s.check)}: {text_of(s.why)}" for s in (out.skipped[i] for i in range(out.skips))))


def plot(recording: Recording | PathLike, *names: str) -> matplotlib.figure.Figure:
    """Columns of a recording over time, one panel each; without names the energies."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot needs matplotlib: pip install knuckle[plot]") from None
    r = recording if isinstance(recording, Recording) else read(recording)
    chosen = names or ("kinetic", "potential", "energy")
    columns = [(n, r.column(n)) for n in chosen]
    figure: Any = Figure(figsize=(8, 1.0 + 1.6 * len(columns)), layout="constrained")
    axes = figure.subplots(len(columns), 1, sharex=True, squeeze=False)
    units = {"kinetic": "J", "potential": "J", "spring": "J", "energy": "J", "penetration": "m"}
    for axis, (name, values) in zip(axes[:, 0], columns):
        axis.plot(r.t, values, linewidth=1.2)
        axis.set_ylabel(f"{name}, {units[name]}" if name in units else name)
        axis.grid(alpha=0.3)
    axes[-1, 0].set_xlabel("t, s")
    return figure
