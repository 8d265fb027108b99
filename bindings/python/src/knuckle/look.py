"""Looking at a run: the viewer's single page with the run inside, in a notebook, a file or the browser.

The page is the one of `knuckle view` (docs/viewer.md). A built-in scene goes into it as its name and the hashes of the run made here,
so that friction or the law can be changed in the page; everything else goes into it as recorded steps.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .errors import BadArgumentError, KnuckleError, NotFoundError, ReadWriteError, Status
from .model import Model, load
from .recording import Recording, record
from .run import Run
from .sim import Settings, Sim

_MARKER = '<script id="run" type="application/json">'
_CHECKS = 200  # hashes on the way that the page compares
_RATE = 240.0  # recorded steps in a second of the run
#: settings that are options of the command line under the same name
_OPTIONS = ("dt", "formulation", "solver", "law", "stepper", "rtol")


def _pages() -> list[str]:
    named = os.environ.get("KNUCKLE_VIEW_PAGE")
    if named:
        return [named]
    import shutil

    here = Path(__file__).resolve().parent
    out = [str(here / "view.html")]
    program = shutil.which("knuckle")
    if program:
        out.append(str(Path(program).resolve().parents[1] / "share/knuckle/view.html"))
    if len(here.parents) > 3:
        out.append(str(here.parents[3] / "viewer/dist/view.html"))  # the source tree
    return out


def page() -> str:
    """The viewer's empty page: named by KNUCKLE_VIEW_PAGE, inside the package, beside the program `knuckle`, or in the source tree."""
    for path in _pages():
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if _MARKER in text:
            return text
    raise NotFoundError(f"the viewer's page is not there: run `make viewer` and install again, or name it by KNUCKLE_VIEW_PAGE (looked for {', '.join(_pages())})",
                        Status.NOT_FOUND)


class View:
    """A run in the viewer's page: a notebook shows it; `save` writes one file to mail, `open` shows it in the browser."""

    def __init__(self, title: str, payload: dict[str, Any], height: int) -> None:
        self.title = title
        self._payload = payload
        self._height = height

    @property
    def html(self) -> str:
        """The whole page as one text; it needs no network."""
        head, tail = page().split(_MARKER, 1)
        return head + _MARKER + json.dumps(self._payload, ensure_ascii=False).replace("<", "\\u003c") + tail

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        text = self.html
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as e:
            raise ReadWriteError(f"{os.fspath(path)}: {e.strerror}", Status.IO) from None

    def open(self) -> str:
        """Writes the page to a temporary file, shows it in the browser, and returns the path."""
        import tempfile
        import webbrowser

        handle, path = tempfile.mkstemp(".html", "knuckle-")
        os.close(handle)
        self.save(path)
        webbrowser.open(Path(path).as_uri())
        return path

    def _repr_html_(self) -> str:
        from html import escape

        return (f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
                f'style="width:100%;height:{self._height}px;border:0" allow="fullscreen"></iframe>')

    def __repr__(self) -> str:
        how = "recorded" if self._payload["files"] else "simulated in the page"
        return f"<View of {self.title!r}: {how}>"


def _recorded(title: str, path: str | os.PathLike[str], height: int) -> View:
    import base64
    import gzip

    packed = base64.b64encode(gzip.compress(Path(path).read_bytes(), 9, mtime=0)).decode()
    name = "/" + (Path(path).name if not title else "run.mcap")
    return View(title or Path(path).name, {"words": [name], "files": [{"path": name, "gzip": packed}], "checks": []}, height)


def _words(sim: Sim) -> list[str] | None:
    """The words of the command line that open this simulator as it is now, where there are such words."""
    m = sim.model
    if m._source is None or sim._control is not None:
        return None
    name, parameters = m._source
    own, mine = asdict(Settings.of(m)), asdict(sim.settings)
    changed = [k for k in mine if mine[k] != own[k]]
    with Sim(m, settings=sim.settings) as fresh:
        if any(k not in _OPTIONS for k in changed) or fresh.save() != sim.save():
            return None
    words = [name]
    if parameters:
        words += ["--set", ",".join(parameters)]
    for k in changed:
        words += [f"--{k}", mine[k] if isinstance(mine[k], str) else repr(mine[k])]
    return words


def _simulated(sim: Sim, words: list[str], steps: int, height: int) -> View:
    every = steps // _CHECKS + 1
    checks: list[tuple[int, str]] = []
    for i in range(every, steps + every, every):
        sim.step(min(every, steps - (i - every)))
        checks.append((min(i, steps), sim.hash))
    payload = {"words": words, "files": [], "checks": checks, "duration": steps * sim.settings.dt}
    return View(sim.model.name, payload, height)


def _steps_recorded(sim: Sim, steps: int, height: int) -> View:
    import tempfile

    handle, path = tempfile.mkstemp(".mcap", "knuckle-")
    os.close(handle)
    try:
        every = max(1, int(1.0 / (_RATE * sim.settings.dt)))
        with record(sim, path, every=every, scene_rate=0.0, level=19) as rec:
            rec.step(steps)
        return _recorded(sim.model.name or "run", path, height)
    finally:
        os.unlink(path)


def _made(sim: Sim, steps: int, height: int) -> View:
    words = _words(sim)
    return _steps_recorded(sim, steps, height) if words is None else _simulated(sim, words, steps, height)


def _once_more(run: Run, height: int) -> View:
    r = run._replay
    if r is None or (r.tape is not None and r.tape.full):
        raise BadArgumentError("this run cannot be made again: view takes what Sim.run has returned; record others (knuckle.record)")
    with Sim(r.model, settings=r.settings, controller=r.tape.again() if r.tape else None) as sim:
        sim.restore(r.start)
        out = _made(sim, r.steps, height)
        if sim.hash != run.hash:
            raise KnuckleError(f"the run made again ends with hash {sim.hash}, expected {run.hash}: it was changed on its way")
        return out


def view(what: str | os.PathLike[str] | Model | Sim | Run | Recording, seconds: float | None = None, *, height: int = 640,
         **settings: Any) -> View:
    """A run to look at: shown by a notebook as it is; `.save("run.html")` writes one file, `.open()` shows it in the browser.

    what: a recording (or its path), a run that `Sim.run` has returned, a scene, a model file or a `Model` (from its beginning),
    or a `Sim` (a copy goes on from its present state). seconds: how long the last three run (default: as the scene or study says);
    settings: as for `Sim`. height: of the picture in a notebook, pixels.
    """
    if not isinstance(height, int) or not 100 <= height <= 10_000:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadArgumentError(f"height is {height!r}, expected 100 … 10000")
    if isinstance(what, (Recording, Run)) and (seconds is not None or settings):
        raise BadArgumentError("seconds and settings belong to what is still to be simulated")
    if isinstance(what, Run):
        return _once_more(what, height)
    if isinstance(what, Recording):
        return _recorded("", what.path, height)
    if isinstance(what, (str, os.PathLike)):
        if os.fspath(what).endswith(".mcap"):
            return view(Recording(what), seconds, height=height, **settings)
        what = load(what)
    if isinstance(what, Sim):
        if settings:
            raise BadArgumentError(f"{', '.join(settings)}: the simulator has its settings")
        sim = what.copy()
    else:
        sim = Sim(what, **settings)
    with sim:
        return _made(sim, sim._steps_of(sim.model.duration if seconds is None else seconds), height)
