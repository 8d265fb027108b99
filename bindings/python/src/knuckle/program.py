"""The program `knuckle`, for what the command line does and the library does not: sweeps and fits. Used by `sweep` and `fit`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from .errors import KnuckleError, Status


def find_program(program: str | None) -> str:
    """The one that is named, that of the variable KNUCKLE, or the one on the path."""
    found = program or os.environ.get("KNUCKLE") or shutil.which("knuckle")
    if not found:
        raise KnuckleError("the program knuckle is not on the path: install it (make install), or name it by program=", Status.NOT_FOUND)
    return found


def call(program: str, command: str, *words: str) -> str:
    """What a command prints; its complaint is an exception."""
    return call_with_notes(program, command, words)[0]


def call_with_notes(program: str, command: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """What a command prints, and the lines it says beside that."""
    done = subprocess.run([program, command, *words], capture_output=True, text=True, check=False)
    before = f"knuckle {command}: "
    if done.returncode not in (0, 1):
        said = done.stderr.strip() or f"exit status {done.returncode}"
        raise KnuckleError(said.removeprefix(before), Status.BAD_FILE if done.returncode == 3 else Status.BAD_ARGUMENT)
    return done.stdout, [line.removeprefix(before) for line in done.stderr.splitlines() if line.strip()]
