"""Loads of contacts: forces in N, blows in N s, their sums by pair and by body, and what the motion determines of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, owned, struct_dtype
from .errors import BadArgumentError, check
from .report import Answer, Contacts, contacts_of

if TYPE_CHECKING:
    from .recording import Recording

LOAD = struct_dtype("kn_contact_load")
_CHOICES = ("nearest", "least", "solved")


@dataclass(frozen=True)
class LoadSum:
    """What body `b` exerts on body `a`, all contacts between them together; b is "" for all bodies. World axes, on a.

    force: N; impulse: N s. normal, tangential: sums of the sizes, N. determinate: of the sum, which the motion may determine
    where it does not determine its parts.
    """

    a: str
    b: str
    contacts: int
    force: Floats
    impulse: Floats
    normal: float
    tangential: float
    impulse_normal: float
    determinate: Answer


@dataclass(frozen=True)
class Loads:
    """What the contacts of one step carried.

    load: a structured array with the fields of `kn_contact_load`, a row per contact: `impulse` (a blow: N s; otherwise N),
    `local` (normal and two tangents, on A), `world` (on A), `normal`, `tangential`, `determinate`. sums: by pair of bodies, then
    by body.
    """

    t: float
    contacts: Contacts = field(repr=False)
    load: npt.NDArray[Any] = field(repr=False)
    sums: tuple[LoadSum, ...]

    def on(self, body: str) -> LoadSum | None:
        """All that acts on a body through contacts; None: nothing does."""
        return next((s for s in self.sums if s.a == body and s.b == ""), None)


class _Reader:
    """Step after step, since a force may be the one nearest to that of the step before."""

    def __init__(self, recording: Recording, forces: str) -> None:
        m, said = recording.model, recording.settings
        if forces not in _CHOICES:
            raise BadArgumentError(f"forces is {forces!r}, expected one of {', '.join(_CHOICES)}")
        # one contact problem in a step, or the solver's own
        single = said.get("stepper", "time") == "time" and said.get("split_impacts", "0") != "1"
        chosen = getattr(lib, f"KN_FORCES_{forces.upper()}") if single else lib.KN_FORCES_SOLVED
        self.model = m
        self.v_rest = float(said.get("v_rest", -1.0))
        state, data, chooser = ffi.new("kn_state**"), ffi.new("kn_data**"), ffi.new("kn_force_chooser**")
        check(lib.kn_state_create(state, m._c))
        self.state = owned(state[0], lib.kn_state_destroy, m)
        check(lib.kn_data_create(data, m._c))
        self.data = owned(data[0], lib.kn_data_destroy, m)
        check(lib.kn_force_chooser_create(chooser, m._c, chosen))
        self.chooser = owned(chooser[0], lib.kn_force_chooser_destroy, m)
        self.names: list[str] = ["world", *m.bodies.names]

    def _middle(self, s: Any) -> None:
        """Kinematics where the step evaluated its contacts: half a step from its beginning, with the velocities before it."""
        m = self.model
        ffi.memmove(lib.kn_state_v(self.state), s.v_before, 8 * m.nv)
        check(lib.kn_integrate(lib.kn_state_q(self.state), m._c, s.q_before, s.v_before, 0.5 * s.dt))
        check(lib.kn_kinematics(m._c, self.state, self.data))

    def _sum(self, s: Any) -> LoadSum:
        a, b = int(s.a), int(s.b)
        return LoadSum(self.names[a + 1], "" if b == lib.KNP_ANY_BODY else self.names[b + 1], s.contacts, frozen(np.array(list(s.force))),
                       frozen(np.array(list(s.impulse))), s.normal, s.tangential, s.impulse_normal, Answer(s.determinate))

    def read(self, s: Any) -> Loads:
        m, n = self.model._c, s.contacts
        load = ffi.new("kn_contact_load[]", max(n, 1))
        room = 3 * max(n, 1)
        sums, count = ffi.new("kn_load_sum[]", room), ffi.new("int*")
        self._middle(s)
        check(lib.kn_contact_loads(load, s.contact, n, s.dt))
        check(lib.kn_loads_land(load, m, self.data, s.contact, n, self.v_rest, s.dt))
        check(lib.kn_forces_choose(load, self.chooser, self.data, s.contact, n))
        check(lib.kn_load_sums(sums, count, room, s.contact, load, n))
        check(lib.kn_loads_judge(load, sums, count[0], m, self.data, s.contact, n, s.limit_impulse, s.v))
        rows = np.empty(n, LOAD)
        if n:
            ffi.memmove(ffi.from_buffer(rows), load, rows.nbytes)
        return Loads(s.t, contacts_of(self.model, s.contact, n, s.dt), frozen(rows), tuple(self._sum(sums[i]) for i in range(count[0])))


def loads_of(recording: Recording, forces: str) -> Iterator[Loads]:
    """The loads of every recorded step."""
    reader = _Reader(recording, forces)
    return (reader.read(recording._read(i)) for i in range(len(recording)))
