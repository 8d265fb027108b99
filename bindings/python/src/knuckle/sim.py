"""Simulating: `Sim`."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, NamedArray, frozen, given, owned, pointer, snapshot
from .errors import BadArgumentError, ClosedError, Status, check, failure, text_of
from .model import Items, Model, SensorType
from .poses import Poses
from .report import Contacts, Energy, Report, contacts_of, report_of, troubles_of
from .run import Replay, Run, Tape
from .state import State, same_model

_PART = 500  # steps of one call
_one_step = lib.knp_step  # a global is found faster than an attribute of lib

#: controller(t, q, v, ctrl, tau): fills `ctrl` and adds to `tau`; q and v are where the stepper evaluates.
Controller = Callable[[float, Floats, Floats, Floats, Floats], object]


@dataclass(frozen=True)
class Compliance:
    """The compliant law of the steppers "compliant" and "hybrid" (kn_compliant_settings). law: its place in choices("compliant_law")."""

    law: int = 0
    exponent: float = 1.5
    eps: float = 1e-5
    K: float = 1.0
    C: float = 1.0
    Kt: float = 0.0
    Ct: float = 0.0
    m0: float = 0.0
    t0: float = 1.0
    max_substeps: int = 250


@dataclass(frozen=True)
class Hybrid:
    """When the stepper "hybrid" changes the law of an island (kn_hybrid_settings)."""

    hold: int = 3
    indeterminate: bool = False


@dataclass(frozen=True)
class Settings:
    """Choices of a simulator, as in `kn_sim_settings` (knuckle/step.h), SI units.

    formulation: os, rmc, mc, nmc-os, nmc-sparse, nmc, projection. law: poisson, newton, stronge, projection, sequential.
    stepper: time, theta, event, compliant, hybrid. friction: 0 for the true cone, even N >= 4 for a polyhedron with N directions. verdict
    and determinate: judge every step, and every force. v_rest: negative: chosen per contact.
    """

    formulation: str = "os"
    solver: str = "auto"
    law: str = "poisson"
    stepper: str = "time"
    fast: str = ""
    friction: int = 0
    friction_tol: float = 0.0
    sequential: bool = False
    dt: float = 1e-3
    theta: float = 0.5
    gtol: float = 1e-4
    v_rest: float = -1.0
    tolerance: float = 1e-10
    margin: float = 0.0
    rtol: float = 1e-9
    projection: bool = True
    anchors: bool = True
    guard: bool = True
    verdict: bool = False
    determinate: bool = False
    hinge_bias: bool = True
    ledger: bool = True
    keep_energy: bool = False
    split_impacts: bool = False
    threads: int = 1
    sleep: float = 0.0
    sleep_time: float = 0.25
    stage_times: bool = False
    bias_iterations: int = 1
    event_limit: int = 50
    max_contacts: int = 0
    contact_room: int = 0
    certificate: int = 0
    compliant: Compliance = field(default_factory=Compliance)
    hybrid: Hybrid = field(default_factory=Hybrid)

    @staticmethod
    def of(model: Model) -> Settings:
        """The library's defaults with the choices of the model's scene, file or study."""
        d = dict(model._defaults)
        parts: dict[str, Any] = {}
        if "compliant" in d:
            parts["compliant"] = Compliance(**d.pop("compliant"))
        if "hybrid" in d:
            parts["hybrid"] = Hybrid(**d.pop("hybrid"))
        return Settings(**d, **parts)

    def with_(self, **changes: Any) -> Settings:
        """The same with some fields changed; wrong names are refused."""
        known = {f.name for f in fields(Settings)}
        for name in changes:
            if name not in known:
                from .arrays import nearest

                raise BadArgumentError(nearest("setting", name, sorted(known)).text)
        for name, kind in (("compliant", Compliance), ("hybrid", Hybrid)):
            if isinstance(changes.get(name), Mapping):
                changes[name] = replace(getattr(self, name), **changes[name])
            elif name in changes and not isinstance(changes[name], kind):
                raise BadArgumentError(f"{name}: expected a {kind.__name__} or a mapping")
        return replace(self, **changes)

    def _fill(self, keep: list[Any]) -> Any:
        c = ffi.new("kn_sim_settings*", lib.kn_sim_default())
        for name, value in asdict(self).items():
            try:
                if isinstance(value, str):
                    keep.append(ffi.new("char[]", value.encode()))
                    setattr(c, name, keep[-1])
                elif name in ("compliant", "hybrid"):
                    for k, x in asdict(getattr(self, name)).items():
                        setattr(getattr(c, name), k, x)
                else:
                    setattr(c, name, value)
            except (TypeError, OverflowError) as e:
                raise BadArgumentError(f"setting {name}: {value!r}, {e}") from None
        return c


@dataclass(frozen=True)
class Forces:
    """Generalised forces of the last step (nv each): M acceleration + bias = actuator + passive + applied + constraint."""

    acceleration: Floats
    actuator: Floats
    passive: Floats
    applied: Floats
    bias: Floats
    constraint: Floats


@dataclass(frozen=True)
class Rollout:
    """What a rollout kept: times, coordinates, velocities; one row per kept step."""

    t: Floats
    q: Floats
    v: Floats

    def __repr__(self) -> str:
        end = f", t = {self.t[0]:g} … {self.t[-1]:g} s" if len(self.t) else ""
        return f"<Rollout: {len(self.t)} rows{end}>"


class _Control:
    """A Python controller: own arrays, and the exception that stopped it."""

    def __init__(self, fn: Controller, model: Model) -> None:
        self.fn = fn
        self.error: BaseException | None = None
        self.tape: Tape | None = None
        self.q, self.v, self.tau = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        self.ctrl = np.zeros(model.nu)
        self.q_view, self.v_view = frozen(self.q.view()), frozen(self.v.view())
        # sizes in bytes and pointers, made once
        self.parts = [(ffi.from_buffer(a), a.nbytes) for a in (self.q, self.v, self.ctrl, self.tau)]
        self.handle = ffi.new_handle(self)

    def call(self, tau: Any, ctrl: Any, t: float, q: Any, v: Any) -> int:
        (pq, nq), (pv, nv), (pc, nc), (pt, nt) = self.parts
        move = ffi.memmove
        move(pq, q, nq)
        move(pv, v, nv)
        move(pc, ctrl, nc)
        move(pt, tau, nt)
        self.fn(t, self.q_view, self.v_view, self.ctrl, self.tau)
        move(ctrl, pc, nc)
        move(tau, pt, nt)
        if self.tape is not None:
            self.tape.keep(self.ctrl, self.tau)
        return 0


def _stopped(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    frame: Any = trace.tb_frame if trace else None
    context = frame.f_locals.get("context") if frame else None
    if context is not None:
        control: _Control = ffi.from_handle(context)
        control.error = error


@ffi.def_extern(name="knp_control", error=int(Status.INTERRUPTED), onerror=_stopped)
def _control(tau: Any, ctrl: Any, t: float, q: Any, v: Any, memory: Any, context: Any) -> int:  # pyright: ignore[reportUnusedFunction]
    control: _Control = ffi.from_handle(context)
    return control.call(tau, ctrl, t, q, v)


class Sim:
    """A simulator with its state.

    `Sim(model, dt=1e-3, law="newton", …)`: keywords are the fields of `Settings`; without them a scene's, file's or
    study's own choices hold. `q`, `v`, `ctrl`, `force` are the state's live arrays. One thread at a time: others are
    refused (BusyError); stepping lets other threads run.
    """

    def __init__(self, model: Model, *, settings: Settings | None = None, state: State | None = None,
                 controller: Controller | None = None, **changes: Any) -> None:
        if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"expected a Model, got {type(model).__name__} (knuckle.load)")
        self.model = model
        self.settings: Settings = (settings or Settings.of(model)).with_(**changes)
        keep: list[Any] = []
        out = ffi.new("kn_sim**")
        check(lib.kn_sim_create(out, model._c, self.settings._fill(keep)))
        self._adopt(out[0])
        self._choose(controller)
        self.state: State = State(model)
        self._join()
        if state is None:
            self.reset()
        else:
            self.state.assign(same_model(state, model, "Sim"))

    def _adopt(self, handle: Any) -> None:
        self._sim = owned(handle, lib.kn_sim_destroy, self.model)
        self._control: _Control | None = None
        self._data: Any = None
        self._recorders: weakref.WeakSet[Any] = weakref.WeakSet()  # closed before the simulator is
        self._closed = False

    def _join(self) -> None:
        c = ffi.new("knp_sim*")
        c.sim, c.state = self._sim, self.state._c
        check(lib.kn_sim_prepare(self._sim, self.state._c))
        self._c = c
        self._report = lib.kn_sim_report(self._sim)
        self._pid = os.getpid()

    def _choose(self, controller: Controller | None) -> None:
        """A controller in Python, or else the model's own (a scene's, a study's servos)."""
        c = ffi.new("kn_controller*")
        self._keep: list[Any] = []
        if controller is not None:
            if not callable(controller):
                raise BadArgumentError("controller: expected a function (t, q, v, ctrl, tau)")
            self._control = _Control(controller, self.model)
            c.fn, c.context = lib.knp_control, self._control.handle
        else:
            self._control = None
            if self.model._servos:
                at = ffi.new("knp_servo[]", [(int(s[0]), int(s[1]), *s[2:]) for s in self.model._servos])
                servos = ffi.new("knp_servos*", (len(self.model._servos), at))
                self._keep += [at, servos]
                lib.knp_use_servos(c, servos)
            elif self.model._scene is not None:
                c[0] = self.model._scene.controller
        check(lib.kn_sim_set_controller(self._sim, c))

    # ---- the state ----

    @property
    def q(self) -> NamedArray:
        """nq coordinates, live and writable: `sim.q["elbow"] = 0.3`."""
        return self.state._q

    @q.setter
    def q(self, value: npt.ArrayLike) -> None:
        self.state.q = value

    @property
    def v(self) -> NamedArray:
        """nv velocities, live and writable."""
        return self.state._v

    @v.setter
    def v(self, value: npt.ArrayLike) -> None:
        self.state.v = value

    @property
    def ctrl(self) -> NamedArray:
        """nu controls, live and writable."""
        return self.state._ctrl

    @ctrl.setter
    def ctrl(self, value: npt.ArrayLike) -> None:
        self.state.ctrl = value

    @property
    def force(self) -> NamedArray:
        """nv applied generalised forces, live and writable."""
        return self.state._force

    @force.setter
    def force(self, value: npt.ArrayLike) -> None:
        self.state.force = value

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return self.state.time

    @property
    def hash(self) -> str:
        """The state's hash: 16 hexadecimal digits."""
        return self.state.hash

    def reset(self, keyframe: int | str | None = None) -> None:
        """Back to the beginning of the scene or study (otherwise the reference position, at rest), or to a keyframe."""
        with self._inside():
            if keyframe is not None:
                self.state.keyframe(keyframe)
            elif self.model._scene is not None:
                check(lib.kn_scene_start(self.model._scene, self.state._c))
            elif self.model._start is not None:
                self.state.load_bytes(self.model._start)
            else:
                self.state.reset()
            self._c.run = ffi.new("kn_run*")[0]

    def save(self) -> bytes:
        """The state as bytes; `restore` continues from there to the same bits."""
        return self.state.to_bytes()

    def restore(self, data: bytes) -> None:
        """Takes what `save` has given."""
        with self._inside():
            self.state.load_bytes(data)

    # ---- stepping ----

    def step(self, n: int = 1) -> None:
        """n steps of `settings.dt`, without the interpreter's lock. If one fails the state is the one before it."""
        status = _one_step(self._c) if n == 1 else self._many(self._steps(n))
        if status:
            raise self._failed(status)

    def step_for(self, dt: float) -> None:
        """One step of this length (s) instead of `settings.dt`."""
        status = lib.knp_step_for(self._c, float(given(dt, (), "dt")))
        if status:
            raise self._failed(status)

    def _many(self, n: int) -> int:
        status = 0
        while n > 0 and not status:  # in parts, so that Ctrl-C gets through between them
            status = lib.knp_step_many(self._c, min(n, _PART))
            n -= _PART
        return status

    @staticmethod
    def _steps(n: int) -> int:
        if not isinstance(n, (int, np.integer)) or n < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"n is {n!r}, expected a whole number >= 0")
        if n > 2**62:
            raise BadArgumentError(f"n is {n}, expected less")
        return int(n)

    def run(self, seconds: float, controller: Controller | None = None) -> Run:
        """As many steps as `seconds` hold (rounded). controller(t, q, v, ctrl, tau) is asked in every step.

        A notebook shows the run that is returned in the viewer's page (`view`).

        An exception in the controller ends the run and leaves through here; the state is the one before that step.
        """
        n = self._steps_of(seconds)
        if controller is None:
            return self._kept(n)
        with self._inside():
            before, kept = self._control, self._keep
            self._choose(controller)
        try:
            return self._kept(n)
        finally:
            with self._inside():
                self._choose(before.fn if before else None)
                del kept

    def _steps_of(self, seconds: float) -> int:
        duration = float(given(seconds, (), "seconds"))
        if duration < 0.0 or duration / self.settings.dt > 2**62:
            raise BadArgumentError(f"seconds is {seconds!r}, expected a number >= 0")
        return round(duration / self.settings.dt)

    def _kept(self, n: int) -> Run:
        """n steps, and what is needed to make them once more."""
        with self._inside():
            start, control, began = self.save(), self._control, perf_counter()
        tape = Tape() if control else None
        if control:
            control.tape = tape
        try:
            self.step(n)
        finally:
            if control:
                control.tape = None
        return replace(self.summary, _replay=Replay(self.model, self.settings, start, n, perf_counter() - began, tape))

    def rollout(self, ctrl: npt.ArrayLike | None = None, *, steps: int | None = None, force: npt.ArrayLike | None = None,
                every: int = 1) -> Rollout:
        """One step per row of `ctrl` (steps x nu) and `force` (steps x nv), without the interpreter's lock.

        The state after every `every`-th step is kept.
        """
        m = self.model
        u = None if ctrl is None else given(ctrl, (None, m.nu), "ctrl")
        f = None if force is None else given(force, (None, m.nv), "force")
        lengths = {len(x) for x in (u, f) if x is not None} | ({self._steps(steps)} if steps is not None else set[int]())
        if len(lengths) != 1:
            raise BadArgumentError("rollout: " + ("the numbers of rows differ" if lengths else "expected ctrl, force or steps"))
        n = lengths.pop()
        if not isinstance(every, (int, np.integer)) or every < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadArgumentError(f"every is {every!r}, expected a whole number >= 1")
        kept = n // every
        t, q, v = np.empty(kept), np.empty((kept, m.nq)), np.empty((kept, m.nv))
        part = int(every) * -(-_PART // int(every))  # whole rows
        for first in range(0, n, part):
            row = first // int(every)
            plan = ffi.new("kn_rollout*", {"steps": min(part, n - first), "every": int(every), "q": pointer(q[row:]), "v": pointer(v[row:]),
                                           "t": pointer(t[row:])})
            if u is not None and u.size:
                plan.ctrl = pointer(u[first:])
            if f is not None and f.size:
                plan.force = pointer(f[first:])
            status = lib.knp_rollout(self._c, plan)
            if status:
                raise self._failed(status)
        return Rollout(frozen(t), frozen(q), frozen(v))

    def _failed(self, status: int) -> BaseException:
        if self._closed:
            return self._is_closed()
        control = self._control
        if control is not None and control.error is not None and status == Status.INTERRUPTED:
            error, control.error = control.error, None
            return error
        return failure(status)

    # ---- what came out ----

    @property
    def report(self) -> Report:
        """How the last step went."""
        with self._inside():
            return report_of(self.model, self._report)

    @property
    def summary(self) -> Run:
        """All steps since the last `reset`: counts, worst residual, troubles."""
        with self._inside():
            r = self._c.run
            e = self._report.energy
            return Run(r.steps, self.time, self.hash, r.residual, r.penetration, Energy(e.kinetic, e.potential, e.spring),
                       self._report.rise.rise_rel, troubles_of(self.model, r.trouble))

    @property
    def contacts(self) -> Contacts:
        """Contacts of the last step with their forces: a read-only snapshot."""
        with self._inside():
            r = self._report
            return contacts_of(self.model, r.contact, r.contacts, r.dt)

    @property
    def sensors(self) -> NamedArray:
        """What the model's sensors show now: `sim.sensors["imu_acc"]`, a read-only snapshot (docs/sensors.md says which instant)."""
        with self._inside():
            out = np.empty(self.model._sensor_count)
            check(lib.kn_sim_sensors(pointer(out), self._sim, self.state._c))
            named = NamedArray(out, self.model._sensor_names, "sensor")
            named.flags.writeable = False
            return named

    def near(self, margin: float = 0.0) -> Contacts:
        """Contacts of the present state within `margin` (m), as detection sees them, without forces."""
        with self._inside():
            out, count = ffi.new("const kn_contact**"), ffi.new("int*")
            check(lib.kn_sim_contacts(out, count, self._sim, self.state._c, float(given(margin, (), "margin"))))
            return contacts_of(self.model, out[0], count[0], self.settings.dt)

    @property
    def forces(self) -> Forces:
        """Accelerations and generalised forces of the last step (steppers time and theta)."""
        with self._inside():
            arrays = [np.zeros(self.model.nv) for _ in range(6)]
            out = ffi.new("kn_step_forces*", [pointer(a) for a in arrays])
            check(lib.kn_sim_forces(out, self._sim, self.state._c, self._scratch()))
            return Forces(*(frozen(a) for a in arrays))

    @property
    def energy(self) -> Energy:
        """Of the present state, J."""
        with self._inside():
            e = ffi.new("kn_energy*")
            check(lib.kn_energy_of(e, self.model._c, self.state._c, self._scratch()))
            return Energy(e.kinetic, e.potential, e.spring)

    # ---- kinematics and dynamics of the present state ----

    def _scratch(self) -> Any:
        if self._data is None:
            out = ffi.new("kn_data**")
            check(lib.kn_data_create(out, self.model._c))
            self._data = owned(out[0], lib.kn_data_destroy, self.model)
        return self._data

    def _kinematics(self) -> Any:
        data = self._scratch()
        check(lib.kn_kinematics(self.model._c, self.state._c, data))
        return data

    def _poses(self, fn: Any, things: Items[Any]) -> Poses:
        with self._inside():
            count = len(things)
            out = np.empty((count, 12))
            check(fn(ffi.cast("kn_pose*", pointer(out)), self.model._c, self._kinematics()))
            return Poses(frozen(out[:, :9].reshape(count, 3, 3)), frozen(out[:, 9:].copy()), things)

    @property
    def body_poses(self) -> Poses:
        """Where all bodies are; `sim.body_poses["foot"]` is one of them."""
        return self._poses(lib.kn_body_poses, self.model.bodies)

    @property
    def geom_poses(self) -> Poses:
        """Where all geoms are."""
        return self._poses(lib.kn_geom_poses, self.model.geoms)

    @property
    def frame_poses(self) -> Poses:
        """Where all named frames are."""
        return self._poses(lib.kn_frame_poses, self.model.frames)

    @property
    def body_velocities(self) -> Floats:
        """n x 6, [angular; linear] of the bodies' origins in world axes, rad/s and m/s."""
        with self._inside():
            out = np.empty((len(self.model.bodies), 6))
            check(lib.kn_body_velocities(pointer(out), self.model._c, self._kinematics()))
            return frozen(out)

    def body_velocity(self, body: int | str, point: npt.ArrayLike | None = None) -> Floats:
        """[angular; linear] (rad/s, m/s, world axes) of the body's point that is at `point` (world, m; None: its origin)."""
        i = self.model.bodies.index_of(body)
        at = None if point is None else given(point, (3,), "point")
        with self._inside():
            out = np.zeros(6)
            check(lib.kn_body_velocity(pointer(out), self.model._c, self._kinematics(), i, ffi.NULL if at is None else pointer(at)))
            return frozen(out)

    def integrate_smooth(self, dt: float, method: str = "rk4", *, rtol: float | None = None, atol: float | None = None) -> None:
        """Moves the state by dt (s) without contact, limits and loops, under its weight, springs, actuators and applied forces.

        method: "euler" (semi-implicit), "rk4", "midpoint" (implicit) or "adaptive" (rtol, atol; where built with SUNDIALS).
        """
        methods = ("euler", "rk4", "midpoint", "adaptive")
        if method not in methods:
            raise BadArgumentError(f"method is {method!r}, expected one of {', '.join(methods)}")
        settings = ffi.new("kn_integrate_settings*", lib.kn_integrate_default())
        settings.method = methods.index(method)
        for name, value in (("rtol", rtol), ("atol", atol)):
            if value is not None:
                setattr(settings, name, float(given(value, (), name)))
        length = float(given(dt, (), "dt"))
        with self._inside():
            check(lib.kn_integrate_smooth(self.state._c, self.model._c, self._scratch(), length, settings, ffi.NULL, ffi.NULL))

    def _vector(self, fn: Any, n: int, *args: Any) -> Floats:
        with self._inside():
            out = np.empty(n)
            check(fn(pointer(out), self.model._c, self.state._c, self._scratch(), *args))
            return frozen(out)

    @property
    def mass_matrix(self) -> Floats:
        """M, nv x nv, armature included."""
        return self._vector(lib.kn_mass_matrix, self.model.nv**2).reshape(self.model.nv, self.model.nv)

    @property
    def mass_pivots(self) -> tuple[Floats, Floats]:
        """The diagonal of M, and the pivots D of M = Lᵀ D L (their product is det M), nv each, without M."""
        with self._inside():
            diagonal, pivots = np.empty(self.model.nv), np.empty(self.model.nv)
            check(lib.kn_mass_pivots(pointer(diagonal), pointer(pivots), self.model._c, self.state._c, self._scratch()))
            return frozen(diagonal), frozen(pivots)

    @property
    def bias_force(self) -> Floats:
        """C v + gravity, nv."""
        return self._vector(lib.kn_bias_force, self.model.nv)

    @property
    def passive_force(self) -> Floats:
        """Springs, dampers and gravity compensation of the joints, nv."""
        return self._vector(lib.kn_passive_force, self.model.nv)

    @property
    def actuator_force(self) -> NamedArray:
        """Force of every actuator before its gear, nu, at the present controls."""
        with self._inside():
            out = np.empty(self.model.nu)
            check(lib.kn_actuator_values(pointer(out), self.model._c, self.state._c))
            named = NamedArray(out, self.model._ctrl_names, "actuator")
            named.flags.writeable = False
            return named

    def forward_dynamics(self, tau: npt.ArrayLike) -> Floats:
        """Accelerations by generalised forces, without contact."""
        t = given(tau, (self.model.nv,), "tau")
        return self._vector(lib.kn_forward_dynamics, self.model.nv, pointer(t))

    def inverse_dynamics(self, qdd: npt.ArrayLike) -> Floats:
        """Generalised forces for accelerations, without contact."""
        a = given(qdd, (self.model.nv,), "qdd")
        return self._vector(lib.kn_inverse_dynamics, self.model.nv, pointer(a))

    def jacobian(self, body: int | str, point: npt.ArrayLike | None = None) -> Floats:
        """6 x nv, [angular; linear] of the body's point that is at `point` (world, m; None: its origin)."""
        i = self.model.bodies.index_of(body)
        at = None if point is None else given(point, (3,), "point")
        with self._inside():
            out = np.zeros((6, self.model.nv))
            check(lib.kn_jacobian(pointer(out), self.model._c, self._kinematics(), i, ffi.NULL if at is None else pointer(at)))
            return frozen(out)

    def jacobian_bias(self, body: int | str, point: npt.ArrayLike | None = None) -> Floats:
        """J̇ v of that point, [angular; linear]: its acceleration where the joints have none."""
        i = self.model.bodies.index_of(body)
        at = None if point is None else given(point, (3,), "point")
        with self._inside():
            out = np.zeros(6)
            check(lib.kn_jacobian_bias(pointer(out), self.model._c, self._kinematics(), i, ffi.NULL if at is None else pointer(at)))
            return frozen(out)

    def solve_mass(self, x: npt.ArrayLike) -> Floats:
        """M⁻¹ x for nv numbers or nv x n columns, without M."""
        b = np.asarray(x)
        out = given(x, (self.model.nv,) if b.ndim == 1 else (self.model.nv, None), "x").copy()
        with self._inside():
            if out.size:
                check(lib.kn_solve_mass(pointer(out), self.model._c, self._kinematics(), 1 if out.ndim == 1 else out.shape[1]))
            return frozen(out)

    def compliance(self, *points: tuple[int | str, npt.ArrayLike]) -> Floats:
        """Λ = J M⁻¹ Jᵀ of points (body, world position): 6n x 6n."""
        nodes = ffi.new("kn_node[]", max(len(points), 1))
        for i, (body, at) in enumerate(points):
            nodes[i].body = self.model.bodies.index_of(body)
            nodes[i].point = list(given(at, (3,), "point"))
        with self._inside():
            n = 6 * len(points)
            out = np.zeros((n, n))
            if n:
                data = self._kinematics()
                x = np.zeros((self.model.nv, 1))
                check(lib.kn_forward_dynamics(pointer(x), self.model._c, self.state._c, data, ffi.NULL))
                check(lib.kn_compliance(pointer(out), self.model._c, data, nodes, len(points)))
            return frozen(out)

    @property
    def momentum(self) -> tuple[Floats, Floats, Floats]:
        """Linear and angular momentum (about the world's origin) and the centre of mass."""
        with self._inside():
            out = ffi.new("double[9]")
            check(lib.kn_momentum(out, out + 3, out + 6, self.model._c, self.state._c, self._scratch()))
            return snapshot(out, 3), snapshot(out + 3, 3), snapshot(out + 6, 3)

    # ---- as an object ----

    def _is_closed(self) -> ClosedError:
        return ClosedError("this simulator is closed")

    def _inside(self) -> _Inside:
        if self._closed:
            raise self._is_closed()
        return _Inside(self._c)

    def copy(self) -> Sim:
        """A simulator of its own in the same state: both go on to the same bits."""
        with self._inside():
            out = ffi.new("kn_sim**")
            check(lib.kn_sim_clone(out, self._sim))
            twin = Sim.__new__(Sim)
            twin.model, twin.settings = self.model, self.settings
            twin._adopt(out[0])
            twin._choose(self._control.fn if self._control else None)
            twin.state = State(self.model)
            twin._join()
            twin.state.assign(self.state)
            twin._c.run = self._c.run
            return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> Sim:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., Sim], tuple[object, ...]]:
        if self._closed:
            raise self._is_closed()
        return _unpickled, (self.model, self.settings, self.save(), self._control.fn if self._control else None)

    def close(self) -> None:
        """Gives the simulator's memory back; arrays that were taken from it stay valid."""
        if self._closed:
            return
        for recorder in list(self._recorders):
            recorder.close()
        if not lib.knp_enter(self._c):
            raise failure(lib.KNP_BUSY)
        self._closed = True  # nobody gets in any more: knp_leave is not called
        ffi.release(self._sim)
        self._data = None

    @property
    def closed(self) -> bool:
        """Was `close` called?"""
        return self._closed

    def __enter__(self) -> Sim:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return "<Sim: closed>"
        s = self.settings
        return f"<Sim of {self.model.name!r}: t = {self.time:g} s, dt {s.dt:g}, {s.stepper}, {s.formulation}, {s.law}; {self._report.contacts} contacts>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            from .elsewhere import missing

            raise AttributeError(missing(self, name))

    def _repr_html_(self) -> str:
        from .html import sim_html

        return sim_html(self)


class _Inside:
    """One thread at a time."""

    __slots__ = ("_c",)

    def __init__(self, c: Any) -> None:
        self._c = c

    def __enter__(self) -> None:
        if not lib.knp_enter(self._c):
            raise failure(lib.KNP_BUSY)

    def __exit__(self, *error: object) -> None:
        lib.knp_leave(self._c)


def _unpickled(model: Model, settings: Settings, state: bytes, controller: Controller | None) -> Sim:
    sim = Sim(model, settings=settings, controller=controller)
    sim.restore(state)
    return sim


def choices(kind: str) -> dict[str, str]:
    """What there is to choose from, names and what they do: "formulation", "law", "compliant_law", "stepper", "solver"; "fast" (settings.fast),
    "frictionless" (methods), "check" (of verify), "sensor" (types, by their names in MJCF), "trouble" (what a run can report)."""
    lists: dict[str, Any] = {"formulation": lib.kn_formulations, "law": lib.kn_impact_laws, "compliant_law": lib.kn_compliant_laws,
                             "stepper": lib.kn_steppers, "solver": lib.kn_cone_solvers, "fast": lib.kn_fast_paths,
                             "frictionless": lib.kn_frictionless_methods, "check": lib.kn_verify_checks}
    counted: dict[str, tuple[Any, Any, int]] = {
        "sensor": (lib.kn_sensor_type_name, lib.kn_sensor_type_doc, len(SensorType)),
        "trouble": (lib.kn_trouble_name, lib.kn_trouble_meaning, lib.KN_TROUBLE_COUNT)}
    if kind in counted:
        name, doc, n = counted[kind]
        return {text_of(name(i)): text_of(doc(i)) for i in range(n)}
    if kind not in lists:
        raise BadArgumentError(f"kind is {kind!r}, expected one of {', '.join((*lists, *counted))}")
    out: dict[str, str] = {}
    at = lists[kind]()
    while at[len(out)].name != ffi.NULL:
        out[text_of(at[len(out)].name)] = text_of(at[len(out)].doc)
    return out
