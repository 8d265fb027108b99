"""Questions about a model or an instant: compare, diagnose, certify."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, pointer, snapshot
from .errors import BadArgumentError, KnuckleError, NotFoundError, check, expect
from .model import Model
from .report import Contacts, Verdict, contacts_of, verdict_of
from .sim import Settings, Sim, choices

_REPAIRS = {"nearest": 0, "mean": 1, "radial": 2}


@dataclass(frozen=True)
class Trial:
    """One formulation in a comparison; `refused` is the reason why it did not run."""

    formulation: str
    dv_max: float
    dq_max: float
    lcp_size: int
    residual: float
    wall: float
    refused: str | None = None


@dataclass(frozen=True)
class Comparison:
    """The same motion through every formulation, against the first."""

    trials: tuple[Trial, ...]

    @property
    def dv_max(self) -> float:
        """Largest difference of a velocity, rad/s or m/s."""
        return max((t.dv_max for t in self.trials if t.refused is None), default=0.0)

    def __str__(self) -> str:
        head = f"{'formulation':12} {'max |Δv|':>10} {'max |Δq|':>10} {'LCP size':>9} {'residual':>10} {'wall, s':>9}"
        return "\n".join([head] + [f"{t.formulation:12} {t.refused}" if t.refused else
                                   f"{t.formulation:12} {t.dv_max:10.2g} {t.dq_max:10.2g} {t.lcp_size:9d} {t.residual:10.2g} {t.wall:9.3g}"
                                   for t in self.trials])


def compare(model: Model, seconds: float = 0.5, **settings: Any) -> Comparison:
    """Runs the model's beginning through every formulation: they must agree (chaos separates long runs)."""
    expect(model, Model, "compare")
    duration = float(given(seconds, (), "seconds"))
    chosen = Settings.of(model).with_(**settings)
    reference: tuple[Floats, Floats] | None = None
    trials: list[Trial] = []
    for name in choices("formulation"):
        try:
            with Sim(model, settings=chosen.with_(formulation=name)) as sim:
                start = time.perf_counter()
                size = 0
                for _ in range(round(duration / sim.settings.dt)):
                    sim.step()
                    size = max(size, sim._report.lcp_size)
                wall = time.perf_counter() - start
                q, v = np.array(sim.q), np.array(sim.v)
                residual = sim.summary.residual
        except KnuckleError as e:
            trials.append(Trial(name, 0.0, 0.0, 0, 0.0, 0.0, e.text))
            continue
        if reference is None:
            reference = q, v
        dq, dv = (float(np.abs(a - b).max(initial=0.0)) for a, b in zip((q, v), reference))
        trials.append(Trial(name, dv, dq, size, residual, wall))
    return Comparison(tuple(trials))


@dataclass(frozen=True)
class Diagnosis:
    """Do contact forces exist at this instant, and are they unique? `contacts` holds forces (N) where a solution is known."""

    t: float
    verdict: Verdict
    sliding: int
    rows: int
    counted: bool
    residual: float
    contacts: Contacts = field(repr=False)

    def __str__(self) -> str:
        closed = f"{len(self.contacts)} closed contact" + ("" if len(self.contacts) == 1 else "s")
        return f"t = {self.t:g} s: {closed}, {self.sliding} sliding; {self.verdict}"


def diagnose(sim: Sim) -> Diagnosis:
    """The contact forces at the simulator's present state, on the level of accelerations."""
    expect(sim, Sim, "diagnose")
    with sim._inside():
        d = ffi.new("kn_diagnosis*")
        check(lib.kn_sim_diagnose(d, sim._sim, sim.state._c))
        return Diagnosis(d.t, verdict_of(d.verdict), d.sliding, d.rows, bool(d.counted), d.residual,
                         contacts_of(sim.model, d.contact, d.contacts, 1.0))  # its impulses are forces


@dataclass(frozen=True)
class ModeMatrix:
    """a = A λ + b on the closed contacts, A = N - T diag(mu): how existence and uniqueness depend on friction."""

    N: Floats
    T: Floats
    b: Floats
    mu: Floats
    contact: npt.NDArray[np.int32]
    free: npt.NDArray[np.bool_]

    @property
    def A(self) -> Floats:
        """With the present coefficients."""
        return frozen(self.N - self.T * self.mu)


def mode_matrix(sim: Sim) -> ModeMatrix:
    """The mode matrix of the present state as a function of the sliding friction coefficients."""
    expect(sim, Sim, "mode_matrix")
    with sim._inside():
        c = ffi.new("kn_mode_matrix*")
        check(lib.kn_sim_mode_matrix(c, sim._sim, sim.state._c))
        try:
            n = c.n
            return ModeMatrix(snapshot(c.N, n * n).reshape(n, n), snapshot(c.T, n * n).reshape(n, n), snapshot(c.b, n), snapshot(c.mu, n),
                              snapshot(c.contact, n, np.int32), snapshot(c.free, n, np.bool_))
        finally:
            lib.kn_mode_matrix_free(c)


@dataclass(frozen=True)
class Certificate:
    """Can these restitution coefficients create energy? rho > 1: yes; `e_repaired` is the nearest set that cannot."""

    consistent: bool
    rho: float
    e: Floats
    e_repaired: Floats
    distance: float
    gain: float
    velocity: Floats = field(repr=False)
    W: Floats = field(repr=False)
    names: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.consistent:
            return f"rho = {self.rho:.6g}: no impact of these contacts creates energy"
        return (f"rho = {self.rho:.6g}: 1 J of approach can leave with {1.0 + self.gain:.6g} J; nearest set that cannot: "
                f"{np.array2string(np.asarray(self.e_repaired), precision=4)}")


def _certificate(c: Any, e: Floats, repaired: Floats, W: Floats, names: tuple[tuple[str, str], ...] = ()) -> Certificate:
    k = c.contacts
    return Certificate(bool(c.consistent), c.rho, frozen(e), frozen(repaired), c.distance, c.gain, snapshot(c.velocity, k), frozen(W), names)


def certify(W: npt.ArrayLike, e: npt.ArrayLike, *, repair: str = "nearest") -> Certificate:
    """The energy certificate of k contacts that collide at once: W (k x k) their compliance, e (k) their restitution.

    repair: "nearest", "mean" (towards the mean) or "radial" (all scaled).
    """
    if repair not in _REPAIRS:
        raise BadArgumentError(f"repair is {repair!r}, expected nearest, mean or radial")
    matrix = given(W, (None, None), "W")
    k = matrix.shape[0]
    if matrix.shape != (k, k) or not 1 <= k <= lib.KN_CERTIFY_CONTACTS:
        raise BadArgumentError(f"W: shape {matrix.shape}, expected k x k with 1 <= k <= {lib.KN_CERTIFY_CONTACTS}")
    wanted = given(e, (k,), "e")
    out, repaired = ffi.new("kn_energy_certificate*"), np.zeros(k)
    check(lib.kn_certify(out, pointer(repaired), k, pointer(matrix), pointer(wanted), _REPAIRS[repair]))
    return _certificate(out, wanted.copy(), repaired, matrix.copy())


def certify_impact(sim: Sim, e: npt.ArrayLike | None = None, *, repair: str = "nearest", seconds: float = 10.0) -> Certificate:
    """The certificate of the simulator's next impact, within so many seconds: it is advanced to the step before it."""
    if repair not in _REPAIRS:
        raise BadArgumentError(f"repair is {repair!r}, expected nearest, mean or radial")
    expect(sim, Sim, "certify_impact")
    wanted = None if e is None else given(e, (None,), "e")
    end = sim.time + float(given(seconds, (), "seconds"))
    out = ffi.new("kn_sim_certificate*")
    while sim.time <= end:
        with sim._inside():
            status = lib.kn_sim_certify(out, sim._sim, sim.state._c, ffi.NULL if wanted is None else pointer(wanted), _REPAIRS[repair])
        if status != 4:  # NOT_FOUND: no impact in the next step
            check(status)
            k = out.contacts
            names = contacts_of(sim.model, out.contact, k, sim.settings.dt).names
            return _certificate(out.energy, np.array(snapshot(out.e, k)), np.array(snapshot(out.e_repaired, k)),
                                np.array(snapshot(out.W, k * k)).reshape(k, k), tuple(names))
        sim.step()
    raise NotFoundError(f"no impact up to t = {sim.time:g} s")


def rod_compliance(positions: npt.ArrayLike) -> Floats:
    """W of a uniform rod (1 kg, 1 m) that lands flat on contacts at these distances from its middle."""
    x = given(positions, (None,), "positions")
    k = len(x)
    if not 1 <= k <= lib.KN_CERTIFY_CONTACTS:
        raise BadArgumentError(f"positions: {k} numbers, expected 1 … {lib.KN_CERTIFY_CONTACTS}")
    out = np.zeros((k, k))
    check(lib.kn_certify_rod(pointer(out), k, pointer(x)))
    return frozen(out)
