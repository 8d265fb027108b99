"""A run that has ended: how it went, and what is needed to make it once more.

Runs repeat to the bit, so a `Run` keeps no steps: it keeps the state it began with, and what a controller in Python answered.
Looking at it makes the steps again and compares the hash of the last state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .arrays import Floats
from .report import Energy, Trouble

if TYPE_CHECKING:
    from .model import Model
    from .sim import Settings

_ROOM = 64_000_000  # bytes of a controller's answers; a run with more cannot be made again


class Tape:
    """What a controller in Python answered, call by call; as a controller it gives the same answers again."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []
        self.full: bool = False
        self._next: Iterator[bytes] | None = None

    def keep(self, ctrl: Floats, tau: Floats) -> None:
        """One answer."""
        if not self.full:
            row = ctrl.tobytes() + tau.tobytes()
            self.rows.append(row)
            if len(self.rows) * len(row) > _ROOM:
                self.rows = []
                self.full = True

    def again(self) -> Tape:
        """The same answers, from the first one on."""
        out = Tape()
        out.rows, out._next = self.rows, iter(self.rows)
        return out

    def __call__(self, t: float, q: Floats, v: Floats, ctrl: Floats, tau: Floats) -> None:
        import numpy as np

        assert self._next is not None
        row = np.frombuffer(next(self._next))
        ctrl[:], tau[:] = row[: len(ctrl)], row[len(ctrl) :]


@dataclass(frozen=True)
class Replay:
    """What a run began with. seconds: of the wall clock that it took."""

    model: Model
    settings: Settings
    start: bytes
    steps: int
    seconds: float
    tape: Tape | None


@dataclass(frozen=True)
class Run:
    """How the steps of a simulator went since its last `reset`.

    In a notebook the run that `Sim.run` has returned is shown by the viewer's page (`knuckle.view`).
    """

    steps: int
    time: float
    hash: str
    residual: float
    penetration: float
    energy: Energy
    energy_rise: float
    troubles: tuple[Trouble, ...]
    _replay: Replay | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [f"{self.steps} steps to t = {self.time:.9g} s, hash {self.hash}",
                 f"  residual    {self.residual:.3g} at worst, penetration {self.penetration:.3g} m",
                 f"  energy      {self.energy.total:.9g} J, rise {self.energy_rise:.2g} of its scale"]
        lines += [f"  trouble     {t}" for t in self.troubles]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .html import run_html

        return run_html(self)
