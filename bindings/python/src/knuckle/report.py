"""What a step reports, as dataclasses worth reading."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, struct_dtype
from .errors import Status, text_of
from .model import Model


class Mode(enum.IntEnum):
    """What a contact does."""

    OPEN = 0
    STICK = 1
    SLIP = 2


class Answer(enum.IntEnum):
    """An answer that may be missing."""

    UNDECIDED = 0
    YES = 1
    NO = 2


class VerdictKind(enum.IntEnum):
    """How many answers the contact problem has."""

    UNDECIDED = 0
    UNIQUE = 1
    MOTION_UNIQUE = 2
    SEVERAL = 3
    NONE = 4


_SENTENCE = {
    VerdictKind.UNDECIDED: "not decided",
    VerdictKind.UNIQUE: "motion and forces are unique",
    VerdictKind.MOTION_UNIQUE: "the motion is unique, the forces are not",
    VerdictKind.SEVERAL: "several motions are possible",
    VerdictKind.NONE: "no solution, shown by a certificate",
}
_CERTIFICATES = ("none", "solution", "Farkas vector", "ray", "enumeration")


@dataclass(frozen=True)
class Verdict:
    """Does the contact problem have a solution, and how many? `failing_minor` names the rows of a principal minor that is
    not positive."""

    kind: VerdictKind
    exists: Answer
    certificate: str
    is_p_matrix: bool | None
    failing_minor: tuple[int, ...]
    solutions: int | None

    def __str__(self) -> str:
        return _SENTENCE[self.kind]


def verdict_of(c: Any) -> Verdict:
    """From a `kn_verdict`."""
    p = True if c.matrix_class & lib.KN_CLASS_P else False if c.matrix_class & lib.KN_CLASS_NOT_P else None
    return Verdict(VerdictKind(c.kind), Answer(c.exists), _CERTIFICATES[int(c.certificate)], p,
                   tuple(i for i in range(64) if c.failing_minor >> i & 1), c.solutions if c.solutions >= 0 else None)


@dataclass(frozen=True)
class Energy:
    """J."""

    kinetic: float
    potential: float
    spring: float

    @property
    def total(self) -> float:
        """Kinetic, potential and spring energy, J."""
        return self.kinetic + self.potential + self.spring


@dataclass(frozen=True)
class Ledger:
    """Where energy went, J: kinetic + potential + spring = sum of the others, each by its own formula."""

    kinetic: float
    potential: float
    spring: float
    actuator: float
    applied: float
    damping: float
    joint_friction: float
    friction: float
    impact: float
    normal: float
    limit: float
    loop: float
    prescribed: float
    correction: float
    compliant: float
    switching: float
    integration: float

    @property
    def balance(self) -> float:
        """What is left over, J: rounding."""
        values = [getattr(self, f.name) for f in fields(self)]
        return sum(values[:3]) - sum(values[3:])


def ledger_of(c: Any) -> Ledger:
    """From a `kn_ledger`."""
    return Ledger(*(getattr(c, f.name) for f in fields(Ledger)))


@dataclass(frozen=True)
class EnergyRise:
    """Does the energy add up? `rise` (J) is the largest rise of the energy less the work put in above its lowest value so
    far; `rise_rel` relates it to the scale of the energies."""

    initial: float
    work_in: float
    scale: float
    rise: float
    rise_rel: float
    contact: float
    damping: float
    integration: float
    correction: float


@dataclass(frozen=True)
class Event:
    """An impact, a new contact, a change of mode, a trouble. `where` names the place, `bodies` its bodies, `trouble` the kind of a trouble."""

    t: float
    kind: str
    where: str
    value: float
    limit: float
    trouble: str | None
    text: str
    bodies: tuple[str, ...] = ()


def event_of(model: Model, c: Any) -> Event:
    """From a `kn_event`."""
    where = ffi.new("char[200]")
    lib.kn_event_where(where, 200, model._c, ffi.addressof(c))
    trouble = text_of(lib.kn_trouble_name(c.trouble)) if c.trouble != lib.KN_TROUBLE_COUNT else None
    body = ffi.new("kn_body[2]")
    names = tuple(text_of(lib.kn_body_name(model._c, body[i])) for i in range(lib.kn_event_bodies(body, model._c, ffi.addressof(c))))
    return Event(c.t, text_of(lib.kn_event_name(c.kind)), text_of(where), c.value, c.limit, trouble, text_of(ffi.addressof(c.text)[0]), names)


@dataclass(frozen=True)
class Trouble:
    """A kind of trouble in a run: how many steps had it, since when, the worst value (in `unit`) and where; what it means, what to do."""

    kind: str
    count: int
    first: float
    worst: Event
    sentence: str
    meaning: str
    advice: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.meaning} {self.sentence[:1].upper()}{self.sentence[1:]}"


def troubles_of(model: Model, tally: Any) -> tuple[Trouble, ...]:
    """From a `kn_trouble_tally`."""
    out: list[Trouble] = []
    text = ffi.new("char[600]")
    for k in range(lib.KN_TROUBLE_COUNT):
        s = tally.kind[k]
        if s.count:
            lib.kn_trouble_sentence(text, 600, model._c, ffi.addressof(s))
            out.append(Trouble(text_of(lib.kn_trouble_name(k)), s.count, s.first, event_of(model, s.worst), text_of(text),
                               text_of(lib.kn_trouble_meaning(k)), text_of(lib.kn_trouble_advice(k)), text_of(lib.kn_trouble_unit(k))))
    return tuple(out)


CONTACT = struct_dtype("kn_contact")


_FIELDS: tuple[str, ...] = CONTACT.names or ()
_MORE = ("force", "blow", "force_world", "blow_world", "names", "modes")


class Contacts(np.ndarray):
    """Contacts as a structured array with the fields of `kn_contact` (knuckle/contact.h): `contacts["gap"]`, `contacts[0]`.

    Besides, as attributes or by name (`contacts["force"]`): `force` (N) and `blow` (N s) in the contact's frame (normal, tangent 1,
    tangent 2), `force_world`, `blow_world`, `names`, `modes`. A read-only snapshot.
    """

    _model: Model | None
    _dt: float
    _blows: npt.NDArray[np.uint64] | None  # keys of those that carry a blow

    def __array_finalize__(self, obj: object) -> None:
        self._model = getattr(obj, "_model", None)
        self._blows = getattr(obj, "_blows", None)
        self._dt = getattr(obj, "_dt", float("nan"))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and self.dtype == CONTACT and key not in _FIELDS:
            if key not in _MORE:
                from .arrays import nearest

                raise nearest("field of contacts", key, [*_FIELDS, *_MORE])
            return getattr(self, key)
        return super().__getitem__(key)

    def _collides(self) -> npt.NDArray[np.bool_]:
        c = np.atleast_1d(self).view(np.ndarray)
        return np.isin(c["key"], [] if self._blows is None else self._blows)

    def _load(self, blow: bool) -> Floats:
        c = np.atleast_1d(self).view(np.ndarray)
        return np.where((self._collides() == blow)[:, None], c["impulse"] if blow else c["impulse"] / self._dt, 0.0)

    def _turned(self, load: Floats) -> Floats:
        return frozen(np.einsum("ni,nij->nj", load, np.atleast_1d(self).view(np.ndarray)["frame"].reshape(-1, 3, 3)))

    @property
    def force(self) -> Floats:
        """n x 3, N: the mean over the step, on body A, along normal, tangent 1, tangent 2. Zero in a step in which the contact's island
        collided: that is a `blow`, and no force."""
        return frozen(self._load(False))

    @property
    def blow(self) -> Floats:
        """n x 3, N s: the impulse of an impact, on body A, along normal, tangent 1, tangent 2; zero where nothing collided."""
        return frozen(self._load(True))

    @property
    def force_world(self) -> Floats:
        """n x 3, N: `force` in world axes."""
        return self._turned(self._load(False))

    @property
    def blow_world(self) -> Floats:
        """n x 3, N s: `blow` in world axes."""
        return self._turned(self._load(True))

    @property
    def names(self) -> list[tuple[str, str]]:
        """Names of the geoms A and B of every contact; of the bodies where geoms are nameless."""
        m = self._model
        if m is None:
            return []

        def one(geom: int, body: int) -> str:
            return m.geoms.names[geom] or ("world" if body < 0 else m.bodies.names[body])

        return [(one(int(c["geom_a"]), int(c["body_a"])), one(int(c["geom_b"]), int(c["body_b"]))) for c in np.atleast_1d(self).view(np.ndarray)]

    @property
    def modes(self) -> list[Mode]:
        """Open, stick or slip, contact by contact."""
        return [Mode(int(m)) for m in np.atleast_1d(self)["mode"].view(np.ndarray)]

    def __reduce__(self) -> Any:
        return _plain_contacts, (np.array(self).view(np.ndarray),)

    def __repr__(self) -> str:
        if self.ndim == 0 or self.dtype != CONTACT:
            return np.ndarray.__repr__(self.view(np.ndarray))
        rows = [f"<Contacts: {len(self)}>"]
        for (a, b), hit, f, blow, c, mode in zip(self.names, self._collides(), self.force, self.blow, self.view(np.ndarray), self.modes):
            sure = {0: "", 1: "", 2: ", not determinate"}[int(c["determinate"])]
            x, unit = (blow, "N s") if hit else (f, "N")
            rows.append(f"  {a} on {b}: {x[0]:.6g} {unit} normal, {np.hypot(x[1], x[2]):.6g} {unit} friction, {mode.name.lower()}, "
                        f"gap {float(c['gap']):.3g} m{sure}")
        return "\n".join(rows)

    def __str__(self) -> str:
        return repr(self)


def _plain_contacts(data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return data


def contacts_of(model: Model, pointer: Any, count: int, dt: float) -> Contacts:
    """A snapshot of `count` contacts."""
    raw = np.empty(count, CONTACT)
    if count:
        ffi.memmove(ffi.from_buffer(raw), pointer, count * CONTACT.itemsize)
    out = raw.view(Contacts)
    islands = raw["island"][raw["impact"] & (raw["island"] >= 0)]
    out._blows = raw["key"][raw["impact"] | np.isin(raw["island"], islands)]  # all of an island that collided (kn_contact_loads)
    out._model = model
    out._dt = dt
    out.flags.writeable = False
    return out


@dataclass(frozen=True)
class Report:
    """How the last step went.

    residual: worst scaled residual of the contact solver, judged on the original data. penetration: largest overlap after
    the step, m. closure: largest violation of a loop, m or rad. total: the ledger since the start.
    """

    t: float
    dt: float
    status: Status
    contacts: int
    limits: int
    loops: int
    islands: int
    residual: float
    iterations: int
    lcp_size: int
    verdict: Verdict
    penetration: float
    lift: float
    closure: float
    drift: float
    correction: float
    audit: float
    momentum_error: float
    energy: Energy
    ledger: Ledger
    total: Ledger
    rise: EnergyRise
    events: tuple[Event, ...]

    def __str__(self) -> str:
        lines = [
            f"t = {self.t:.9g} s (dt {self.dt:g}): {'done' if self.status == Status.OK else self.status.name}",
            f"  contacts    {self.contacts} in {self.islands} island{'s' * (self.islands != 1)}, limits {self.limits}, loop rows {self.loops}",
            f"  residual    {self.residual:.3g} after {self.iterations} iterations; {self.verdict}",
            f"  geometry    penetration {self.penetration:.3g} m, loops {self.closure:.3g}",
            f"  energy      {self.energy.total:.9g} J (kinetic {self.energy.kinetic:.6g}, potential {self.energy.potential:.6g}, "
            f"spring {self.energy.spring:.6g}); rise {self.rise.rise_rel:.2g}",
        ]
        for e in self.events:
            lines.append(f"  {e.trouble or e.kind:11} {e.where} {e.value:.4g} {e.text}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .html import report_html

        return report_html(self)


def report_of(model: Model, c: Any) -> Report:
    """From a `kn_report`."""
    e = c.energy
    return Report(c.t, c.dt, Status(c.status), c.contacts, c.limits, c.loops, c.islands, c.residual, c.iterations, c.lcp_size,
                  verdict_of(c.verdict), c.penetration, c.lift, c.closure, c.drift, c.correction, c.audit, c.momentum_error,
                  Energy(e.kinetic, e.potential, e.spring), ledger_of(c.ledger), ledger_of(c.total),
                  EnergyRise(*(getattr(c.rise, f.name) for f in fields(EnergyRise))),
                  tuple(event_of(model, c.event[i]) for i in range(c.events)))


def rows(items: Sequence[tuple[str, object]]) -> list[tuple[str, str]]:
    """Pairs of texts for a table."""
    return [(name, f"{value:.6g}" if isinstance(value, float) else str(value)) for name, value in items]
