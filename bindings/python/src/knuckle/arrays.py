"""NumPy and the library's memory.

One rule: the state's arrays (`q`, `v`, `ctrl`, `force`) are inputs, live and writable views that keep their owner alive;
whatever the library reports is an output, a read-only snapshot that nothing changes any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi
from .errors import BadArgumentError, NotFiniteError, NotFoundError, Status

Floats = npt.NDArray[np.float64]
Names = Mapping[str, "int | slice"]


def nearest(kind: str, name: str, known: list[str]) -> NotFoundError:
    """The exception for a wrong name, with names that are near."""
    import difflib

    near = difflib.get_close_matches(name, known, 3, 0.5) or known[:3]
    hint = f"; nearest: {', '.join(map(repr, near))}" if near else ""
    return NotFoundError(f"no {kind} {name!r}{hint} ({len(known)} in all)", Status.NOT_FOUND)


class NamedArray(np.ndarray):
    """A one-dimensional array whose entries can also be reached by name: `q["elbow"]`.

    A name that stands for one number gives a number, one that stands for several gives a view of them. Arithmetic gives
    plain arrays.
    """

    _names: Names | None
    _kind: str

    def __new__(cls, base: Floats, names: Names, kind: str) -> NamedArray:
        self = base.view(cls)
        self._names = names
        self._kind = kind
        return self

    def __array_finalize__(self, obj: object) -> None:
        self._names = None
        self._kind = ""

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **kwargs: Any) -> Any:
        def plain(x: Any) -> Any:
            return x.view(np.ndarray) if isinstance(x, NamedArray) else x

        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(plain(x) for x in out)
        result = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
        if out is not None and len(out) == 1 and result is kwargs["out"][0]:
            return out[0]
        return result

    def _index(self, key: Any) -> Any:
        if isinstance(key, str):
            if self._names is None:
                raise NotFoundError(f"{key!r}: this array has no names", Status.NOT_FOUND)
            found = self._names.get(key)
            if found is None:
                raise nearest(self._kind, key, list(self._names))
            return found
        return key

    def __getitem__(self, key: Any) -> Any:
        return self.view(np.ndarray)[self._index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[self._index(key)] = value

    @property
    def names(self) -> list[str]:
        """The names that can be used as indices."""
        return list(self._names or ())

    def __reduce__(self) -> Any:
        return np.array(self, copy=True).view(np.ndarray).__reduce__()

    def __deepcopy__(self, memo: dict[int, Any] | None, /) -> Any:
        return np.array(self.view(np.ndarray), copy=True)


def owned(pointer: Any, destroy: Callable[[Any], object], *owners: object) -> Any:
    """The pointer, destroyed when nobody needs it any more; until then the owners live too."""

    def end(p: Any, _owners: tuple[object, ...] = owners) -> None:
        destroy(p)

    return ffi.gc(pointer, end)


def _nothing(p: Any) -> None:
    pass


def view(pointer: Any, count: int, owner: object) -> Floats:
    """A writable view of `count` doubles that keeps `owner` alive."""
    if count == 0:
        return np.empty(0)
    keep = owned(ffi.cast("char*", pointer), _nothing, owner)
    return np.frombuffer(ffi.buffer(keep, 8 * count), np.float64)


def snapshot(pointer: Any, count: int, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """A read-only copy of `count` items of the library's memory."""
    kind = np.dtype(dtype)
    out = np.empty(count, kind)
    if count:
        ffi.memmove(ffi.from_buffer(out), pointer, count * kind.itemsize)
    out.flags.writeable = False
    return out


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, read-only from now on."""
    array.flags.writeable = False
    return array


def given(value: npt.ArrayLike, shape: tuple[int | None, ...], what: str, *, finite: bool = True) -> Floats:
    """Floats of this shape in C order (None: any length), or an exception that says what was expected."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as e:
        raise BadArgumentError(f"{what}: expected numbers, {e}") from None
    if array.ndim == 1 and len(shape) == 0 and array.size == 1:
        array = array.reshape(())
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape)):
        wanted = " x ".join("n" if n is None else str(n) for n in shape) or "one number"
        raise BadArgumentError(f"{what}: shape {array.shape}, expected {wanted}")
    if finite and not np.isfinite(array).all():
        raise NotFiniteError(f"{what}: holds a NaN or infinity", Status.NOT_FINITE)
    return array


def pointer(array: Floats) -> Any:
    """A `double*` to an array's numbers, valid as long as the array."""
    return ffi.cast("double*", ffi.from_buffer(array)) if array.size else ffi.NULL


def path_text(value: str | bytes | os.PathLike[str]) -> str:
    """A path as text, or an exception that says what was expected."""
    try:
        text = os.fsdecode(value)
    except TypeError:
        raise BadArgumentError(f"expected a path, got {type(value).__name__}") from None
    if "\0" in text:
        raise BadArgumentError("the path holds a zero byte")
    return text


def t_length(t: Any) -> int:
    """Length of a C array."""
    return t.length if t.kind == "array" else 1


def struct_dtype(name: str) -> np.dtype[Any]:
    """The dtype of a C struct: names, offsets and sizes as the compiler has them."""
    kinds: dict[str, Any] = {"double": np.float64, "float": np.float32, "int": np.int32, "int32_t": np.int32,
                             "int64_t": np.int64, "uint64_t": np.uint64, "uint32_t": np.uint32, "_Bool": np.bool_,
                             "char": "S1", "long": np.int64, "unsigned int": np.uint32}
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    ctype = ffi.typeof(name)
    for field, info in ctype.fields:
        shape: tuple[int, ...] = ()
        t = info.type
        while t.kind == "array":
            shape += (t.length,)
            t = t.item
        if t.kind == "enum":
            base: Any = np.int32
        elif t.kind == "primitive":
            base = kinds[t.cname]
        else:
            continue  # structs and pointers are reached otherwise
        if t.kind == "primitive" and t.cname == "char":
            base, shape = f"S{t_length(info.type)}", ()
        names.append(field)
        formats.append((base, shape) if shape else base)
        offsets.append(info.offset)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": ffi.sizeof(name)})
