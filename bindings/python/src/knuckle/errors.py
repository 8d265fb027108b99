"""Failures of the library as exceptions, with the status and, for files, the place."""

from __future__ import annotations

import enum

from ._kn import ffi, lib


class Status(enum.IntEnum):
    """Status codes of the C API (knuckle/status.h)."""

    OK = 0
    BAD_ARGUMENT = 1
    OUT_OF_MEMORY = 2
    NO_ROOM = 3
    NOT_FOUND = 4
    BAD_MODEL = 5
    BAD_FILE = 6
    IO = 7
    UNSUPPORTED = 8
    NOT_CONVERGED = 9
    NO_SOLUTION = 10
    NOT_FINITE = 11
    INFEASIBLE = 12
    INTERRUPTED = 13


class KnuckleError(Exception):
    """A call of the library failed.

    Attributes: `status`; `text`, the whole sentence; `what`, the sentence behind the place; `file`, `line`, `column`
    of the place in a text file (None where there is none).
    """

    def __init__(
        self,
        text: str,
        status: Status = Status.BAD_ARGUMENT,
        what: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.what: str = text if what is None else what
        self.file = file
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[KnuckleError], tuple[object, ...]]:
        return type(self), (self.text, self.status, self.what, self.file, self.line, self.column)


class BadArgumentError(KnuckleError, ValueError):
    """An argument is out of range, of a wrong shape or not finite."""


class OutOfMemoryError(KnuckleError, MemoryError):
    """Memory could not be had."""


class NotFoundError(KnuckleError, LookupError):
    """No such name or file; the sentence has the nearest names."""


class ModelError(KnuckleError, ValueError):
    """The model breaks a rule; the sentence names the element."""


class FileError(KnuckleError, ValueError):
    """A file breaks its format (`file`, `line`, `column` say where)."""


class ReadWriteError(KnuckleError, OSError):
    """Reading or writing failed."""


class UnsupportedError(KnuckleError, NotImplementedError):
    """Known, but not supported here, or not built in."""


class NotConvergedError(KnuckleError, ArithmeticError):
    """No answer within the limits."""


class NoSolutionError(KnuckleError, ArithmeticError):
    """Shown by a certificate to have no solution."""


class NotFiniteError(KnuckleError, ArithmeticError):
    """A NaN or infinity came in or would have come out; the state is unchanged."""


class InfeasibleError(KnuckleError, ArithmeticError):
    """The constraints contradict each other."""


class InterruptedRunError(KnuckleError):
    """A controller stopped the run."""


class BusyError(KnuckleError, RuntimeError):
    """Another thread is inside this simulator."""


class ClosedError(KnuckleError, ValueError):
    """The object was closed."""


_KINDS: dict[Status, type[KnuckleError]] = {
    Status.BAD_ARGUMENT: BadArgumentError,
    Status.OUT_OF_MEMORY: OutOfMemoryError,
    Status.NO_ROOM: BadArgumentError,
    Status.NOT_FOUND: NotFoundError,
    Status.BAD_MODEL: ModelError,
    Status.BAD_FILE: FileError,
    Status.IO: ReadWriteError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.NOT_CONVERGED: NotConvergedError,
    Status.NO_SOLUTION: NoSolutionError,
    Status.NOT_FINITE: NotFiniteError,
    Status.INFEASIBLE: InfeasibleError,
    Status.INTERRUPTED: InterruptedRunError,
}


def text_of(pointer: object) -> str:
    """A C string as text; bytes that are not UTF-8 are shown, not refused."""
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def failure(status: int) -> KnuckleError:
    """The exception for a status that a call on this thread has just returned."""
    if status == lib.KNP_BUSY:
        return BusyError("another thread is inside this simulator; give each thread its own (copy.copy)")
    info = lib.kn_last_error_info()
    kind = Status(status)
    file = text_of(info.file)
    return _KINDS.get(kind, KnuckleError)(
        text_of(info.text) or text_of(lib.kn_status_text(status)),
        kind,
        text_of(info.what),
        file or None,
        info.line if file else None,
        info.column if file else None,
    )


def check(status: int) -> None:
    """Raises unless the status is OK."""
    if status:
        raise failure(status)


def expect(value: object, kind: type, what: str) -> None:
    """Raises unless the value is of this kind."""
    if not isinstance(value, kind):
        raise BadArgumentError(f"{what}: expected a {kind.__name__}, got {type(value).__name__}")
