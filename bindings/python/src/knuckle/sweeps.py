"""Sweeps on somebody else's cluster: the cases of a study as tasks of Dask or Ray.

The study is the one of `knuckle sweep` (docs/sweeps.md), and so are the journal and the results: they are the same bytes whoever
ran the cases. The program `knuckle` must be installed where the tasks run, and the study and its model be readable there.

    from dask.distributed import Client
    knuckle.sweep("study.yaml", client=Client("scheduler:8786"))
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .errors import KnuckleError, Status
from .program import call, find_program


def rows(study: str, first: int, end: int, options: Sequence[str] = (), program: str | None = None) -> str:
    """Cases first … end - 1 of a study, run here: their lines of a journal. What a task of a cluster does."""
    return call(find_program(program), "sweep", study, *options, "--rows", f"{first}:{end}")


def _ranges(missing: Iterable[tuple[int, int]], handful: int) -> list[tuple[int, int]]:
    return [(i, min(i + handful, end)) for first, end in missing for i in range(first, end, handful)]


def sweep(study: str | os.PathLike[str], *, client: Any = None, ray: Any = None, options: Sequence[str] = (), program: str | None = None,
          handful: int = 100, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Runs the cases of a study that are missing, and writes the results beside it; returns the summary of `knuckle sweep --json`.

    client: a `dask.distributed.Client`; ray: the module ray, after ray.init(); neither: threads of this machine. options: as on
    the command line (["--passive"]). handful: cases per task. progress(done, all) is called as tasks end. What was finished
    before an exception stays in the journal, and the next call goes on."""
    name: str = os.path.abspath(str(study))
    words = [str(o) for o in options]
    tool = find_program(program)
    if client is None and ray is None:
        return json.loads(call(tool, "sweep", name, *words, "--json"))
    if handful < 1:
        raise KnuckleError(f"handful is {handful}, expected at least 1", Status.BAD_ARGUMENT)
    plan = json.loads(call(tool, "sweep", name, *words, "--plan"))
    tasks = _ranges([(a, b) for a, b in plan["missing"]], handful)
    os.makedirs(plan["folder"], exist_ok=True)
    path = os.path.join(plan["folder"], "journal-tasks.txt")
    done = int(plan["cases"]) - sum(b - a for a, b in tasks)
    with open(path, "a", encoding="utf-8") as journal:
        if journal.tell() == 0:
            journal.write(plan["head"])
        for lines in _on_dask(client, name, tasks, words, program) if client is not None else _on_ray(ray, name, tasks, words, program):
            journal.write(lines)
            journal.flush()
            done += lines.count("\n")
            if progress:
                progress(done, int(plan["cases"]))
    return json.loads(call(tool, "sweep", name, *words, "--merge", "--json"))


def _on_dask(client: Any, study: str, tasks: list[tuple[int, int]], options: list[str], program: str | None) -> Iterable[str]:
    from dask.distributed import as_completed  # pyright: ignore

    futures: Any = [client.submit(rows, study, a, b, options, program, pure=False) for a, b in tasks]
    for future in as_completed(futures):  # pyright: ignore
        yield future.result()  # pyright: ignore


def _on_ray(ray: Any, study: str, tasks: list[tuple[int, int]], options: list[str], program: str | None) -> Iterable[str]:
    task = ray.remote(rows)
    left = [task.remote(study, a, b, options, program) for a, b in tasks]
    while left:
        ready, left = ray.wait(left)
        for reference in ready:
            yield ray.get(reference)
