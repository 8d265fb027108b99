"""The state of a model: exactly what is integrated, hashed and saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import NamedArray, given, view
from .errors import BadArgumentError, check, expect
from .model import Model


class State:
    """Time, coordinates `q`, velocities `v`, controls `ctrl` and applied generalised forces `force` of a model.

    The four arrays are live: writing to them changes the state, and a step changes them. They keep the state alive. Names
    of joints and actuators are indices: `state.q["elbow"] = 0.3`.
    """

    def __init__(self, model: Model) -> None:
        out = ffi.new("kn_state**")
        check(lib.kn_state_create(out, model._c))
        self.model = model
        self._c = ffi.gc(out[0], lib.kn_state_destroy)
        owner = (self._c, model)
        self._q = NamedArray(view(lib.kn_state_q(self._c), model.nq, owner), model._q_names, "joint")
        self._v = NamedArray(view(lib.kn_state_v(self._c), model.nv, owner), model._v_names, "joint")
        self._ctrl = NamedArray(view(lib.kn_state_ctrl(self._c), model.nu, owner), model._ctrl_names, "actuator")
        self._force = NamedArray(view(lib.kn_state_force(self._c), model.nv, owner), model._v_names, "joint")

    @property
    def q(self) -> NamedArray:
        """nq coordinates: rad, m, quaternions (w, x, y, z)."""
        return self._q

    @q.setter
    def q(self, value: npt.ArrayLike) -> None:
        self._set(self._q, value, "q")

    @property
    def v(self) -> NamedArray:
        """nv velocities: rad/s, m/s."""
        return self._v

    @v.setter
    def v(self, value: npt.ArrayLike) -> None:
        self._set(self._v, value, "v")

    @property
    def ctrl(self) -> NamedArray:
        """nu controls, in the actuators' own units."""
        return self._ctrl

    @ctrl.setter
    def ctrl(self, value: npt.ArrayLike) -> None:
        self._set(self._ctrl, value, "ctrl")

    @property
    def force(self) -> NamedArray:
        """nv applied generalised forces: N m, N; they act until they are changed."""
        return self._force

    @force.setter
    def force(self, value: npt.ArrayLike) -> None:
        self._set(self._force, value, "force")

    @staticmethod
    def _set(array: NamedArray, value: npt.ArrayLike, what: str) -> None:
        if value is not array:
            array[:] = given(value, (len(array),), what)

    @property
    def time(self) -> float:
        """Simulated time, s."""
        return lib.kn_state_time(self._c)

    @time.setter
    def time(self, value: float) -> None:
        lib.kn_state_set_time(self._c, float(given(value, (), "time")))

    def reset(self) -> None:
        """Reference position, at rest, t = 0 (a scene's or study's beginning is `Sim.reset`)."""
        check(lib.kn_state_reset(self._c))

    def keyframe(self, name: int | str) -> None:
        """The model's keyframe."""
        check(lib.kn_state_keyframe(self._c, self.model.keyframes.index_of(name)))

    @property
    def hash(self) -> str:
        """16 hexadecimal digits over everything in the state, the memory of contacts too."""
        return f"{lib.kn_state_hash(self._c):016x}"

    def to_bytes(self) -> bytes:
        """The state as bytes: `load_bytes` of a state of the same model takes them."""
        buffer = ffi.new("char[]", lib.kn_state_size(self._c))
        check(lib.kn_state_save(buffer, len(buffer), self._c))
        return bytes(ffi.buffer(buffer))

    def load_bytes(self, data: bytes) -> None:
        """Takes what `to_bytes` of a state of the same model has written; otherwise nothing changes."""
        check(lib.kn_state_load(self._c, ffi.from_buffer(data), len(data)))

    def assign(self, other: State) -> None:
        """Becomes a copy of another state of the same model."""
        expect(other, State, "assign")
        check(lib.kn_state_copy(self._c, other._c))

    def copy(self) -> State:
        """A state of its own with the same content."""
        out = State(self.model)
        out.assign(self)
        return out

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> State:
        return self.copy()

    def __reduce__(self) -> tuple[Callable[..., State], tuple[Model, bytes]]:
        return _restored, (self.model, self.to_bytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.to_bytes() == other.to_bytes()

    __hash__: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]  # it changes

    def __repr__(self) -> str:
        return f"<State of {self.model.name!r}: t = {self.time:g} s, nq {self.model.nq}, nv {self.model.nv}, hash {self.hash}>"


def _restored(model: Model, data: bytes) -> State:
    out = State(model)
    out.load_bytes(data)
    return out


def same_model(state: State, model: Model, what: str) -> State:
    """The state, if it belongs to this model object."""
    if not isinstance(state, State):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadArgumentError(f"{what}: expected a State, got {type(state).__name__}")
    if state.model is not model:
        raise BadArgumentError(f"{what}: the state belongs to another model ({state.model.name!r}), expected one of {model.name!r}")
    return state


def handle(state: State) -> Any:
    """The C pointer."""
    return state._c
