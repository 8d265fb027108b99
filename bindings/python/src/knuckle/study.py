"""The YAML file beside a model: surfaces, choices, the start, servos (docs/loading.md). Used by `load`."""

from __future__ import annotations

import difflib
import fnmatch
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._kn import ffi, lib
from .errors import FileError, Status, check, text_of

if TYPE_CHECKING:
    from .model import Joint, Model


def beside(path: str) -> str | None:
    """robot.yaml beside robot.xml, if it is there and can be read by this build."""
    import os

    found = os.path.splitext(path)[0] + ".yaml"
    return found if os.access(found, os.R_OK) else None


def read_study(path: str) -> Study:
    """The study in a file."""
    out = ffi.new("kn_study**")
    check(lib.kn_study_load(out, path.encode()))
    return Study(ffi.gc(out[0], lib.kn_study_free))


class Study:
    """What a study file says."""

    def __init__(self, handle: Any) -> None:
        self._c = handle
        self.path: str = text_of(handle.path)
        self.model: str | None = text_of(handle.model) if handle.model != ffi.NULL else None
        self.base: str | None = text_of(handle.base) if handle.base != ffi.NULL else None

    def apply(self, spec: Any) -> None:
        """Surfaces into the spec."""
        check(lib.kn_study_apply(spec, self._c))

    def change(self, defaults: dict[str, Any]) -> None:
        """Choices into the settings."""
        from .sim import choices

        c = self._c
        for name in ("formulation", "solver", "law", "stepper"):
            if getattr(c, name) != ffi.NULL:
                defaults[name] = text_of(getattr(c, name))
        if c.friction != ffi.NULL:
            friction = text_of(c.friction)
            defaults["friction"] = int(friction[4:] or 0) if friction.startswith("poly") else 0
        for name in ("dt", "gtol", "v_rest", "tolerance", "sleep"):
            if not math.isnan(getattr(c, name)):
                defaults[name] = getattr(c, name)
        if not math.isnan(c.bias_iterations):
            defaults["bias_iterations"] = int(c.bias_iterations)
        if c.sequential != ffi.NULL:
            defaults["sequential"] = text_of(c.sequential) == "true"
        soft = dict(defaults.get("compliant", {}))
        if c.compliant_law != ffi.NULL:
            soft["law"] = list(choices("compliant_law")).index(text_of(c.compliant_law))
        soft.update((name, getattr(c, name)) for name in ("exponent", "eps") if not math.isnan(getattr(c, name)))
        if soft:
            defaults["compliant"] = soft

    def start(self, model: Model) -> None:
        """First state, servos and duration into the model."""
        from .state import State

        c = self._c
        state = State(model)
        if c.keyframe != ffi.NULL:
            state.keyframe(text_of(c.keyframe))
        for count, list_, array, part in ((c.q_count, c.q, state.q, "q"), (c.v_count, c.v, state.v, "v")):
            for i in range(count):
                j = list_[i]
                for joint in self._joints(model, text_of(j.joint), j.line):
                    at: slice = getattr(joint, part)
                    if j.k >= at.stop - at.start:
                        raise self._wrong(j.line, f'joint "{_label(joint)}" has {at.stop - at.start} numbers, more are given')
                    array[at.start + j.k] = j.value
        model._start = state.to_bytes()
        servos: dict[int, tuple[float, ...]] = {}  # by velocity: a later line replaces an earlier one
        for i in range(c.servos):
            servos.update((int(k[1]), k) for k in self._servos(model, c.servo[i]))
        model._servos = list(servos.values())
        if not math.isnan(c.duration):
            model.duration = c.duration

    def _joints(self, model: Model, pattern: str, line: int) -> list[Joint]:
        """The joints that a name or pattern means; nameless ones are "joint3", by their number."""
        found = [j for j in model.joints if fnmatch.fnmatchcase(_label(j), pattern)]
        if not found:
            known = [_label(j) for j in model.joints]
            near = difflib.get_close_matches(pattern, known, 1)
            hint = f', did you mean "{near[0]}"?' if near else ""
            raise self._wrong(line, f'no joint {"fits" if _is_pattern(pattern) else "is called"} "{pattern}"{hint} ({len(known)} in all)')
        return found

    def _wrong(self, line: int, what: str) -> FileError:
        return FileError(f"{self.path}:{line}:1: {what}", Status.BAD_FILE, what, self.path, line, 1)

    def _servos(self, model: Model, d: Any) -> Iterator[tuple[float, ...]]:
        name = text_of(d.joint)
        for joint in self._joints(model, name, d.line):
            n = joint.q.stop - joint.q.start
            if n != 1 and _is_pattern(name):
                continue  # "*" means the joints a servo can hold
            if n != 1:
                raise self._wrong(d.line, f'joint "{name}" has {n} coordinates, expected a joint with one')
            values = (d.kp, d.kd, d.target, d.torque)
            yield (joint.q.start, joint.v.start, *(0.0 if math.isnan(x) else x for x in values))


def _label(joint: Joint) -> str:
    return joint.name or f"joint{joint.id}"


def _is_pattern(name: str) -> bool:
    return any(c in name for c in "*?[")
