"""Parameters of a model from recorded trajectories: what `knuckle fit` finds (docs/fitting.md), as a result with names.

    found = knuckle.fit("examples/fit/toss.yaml")
    print(found)
    print(found["mu"].value, found["mu"].low, found["mu"].high)
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from typing import Any

from .errors import NotFoundError, Status
from .program import call_with_notes, find_program


@dataclass(frozen=True)
class FitParameter:
    """A value that was found and its interval of 95 % (NaN where there is none). `identifiable` is false where the trajectories do
    not determine it; `only_with` names the parameter with which it has only a combination that matters."""

    name: str
    value: float
    low: float
    high: float
    identifiable: bool
    only_with: str | None = None

    def __str__(self) -> str:
        interval = "" if math.isnan(self.low) else f"   95 % from {self.low:.6g} to {self.high:.6g}"
        partner = f" (only with {self.only_with})" if self.only_with else ""
        return f"{self.name:<16} {self.value:12.6g}{interval}" + ("" if self.identifiable else f"   not identifiable{partner}")


@dataclass(frozen=True)
class Fit:
    """What a fit found. cost: the mean over the trajectories, cost_error its standard error; position (m) and rotation (rad): mean
    errors; report: the page that was written; warnings: as the command says them."""

    study: str
    parameters: tuple[FitParameter, ...]
    cost: float
    cost_error: float
    position: float
    rotation: float
    trajectories: int
    evaluations: int
    converged: bool
    wall: float = field(compare=False)
    report: str
    warnings: tuple[str, ...]

    def __getitem__(self, name: str) -> FitParameter:
        for p in self.parameters:
            if p.name == name:
                return p
        known = ", ".join(p.name for p in self.parameters)
        raise NotFoundError(f'no parameter is called "{name}", there are {known}', Status.NOT_FOUND)

    @property
    def values(self) -> dict[str, float]:
        """The values by name."""
        return {p.name: p.value for p in self.parameters}

    def __str__(self) -> str:
        ended = "" if self.converged else ", ended at its limit"
        return "\n".join([f"{self.study}: {self.trajectories} trajectories, {self.evaluations} evaluations in {self.wall:.3g} s{ended}",
                          *(f"  {p}" for p in self.parameters),
                          f"  cost {self.cost:.6g} ± {self.cost_error:.2g}; mean errors: {self.position:.4g} m, {self.rotation:.4g} rad"])

    __repr__ = __str__


def _number(x: float | None) -> float:
    return math.nan if x is None else float(x)  # JSON has no NaN


def fit(study: str | os.PathLike[str], *, report: str | os.PathLike[str] | None = None, threads: int | None = None,
        program: str | None = None) -> Fit:
    """Finds the parameters of a study's section `fit`, with intervals, and writes the report page.

    report: where the page goes (default: STUDY.fit.html beside the study). threads: default one per core; the result is the same
    for any number. program: the command line (default: the variable KNUCKLE, or `knuckle` on the path)."""
    words = [os.path.abspath(str(study)), "--json"]
    if report is not None:
        words += ["--output", os.path.abspath(str(report))]
    if threads is not None:
        words += ["--threads", str(threads)]
    text, said = call_with_notes(find_program(program), "fit", words)
    d: dict[str, Any] = json.loads(text)
    parameters = tuple(FitParameter(p["name"], _number(p["value"]), _number(p["low"]), _number(p["high"]), p["identifiable"], p.get("only_with"))
                       for p in d["parameters"])
    warnings = tuple(line.removeprefix("warning: ") for line in said if line.startswith("warning: "))
    return Fit(d["study"], parameters, _number(d["cost"]), _number(d["cost_error"]), _number(d["position"]), _number(d["rotation"]), d["trajectories"],
               d["evaluations"], d["converged"], _number(d["wall_s"]), d["report"], warnings)
