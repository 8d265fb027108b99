"""docs/beside.md: both columns of its tables are scripts, and they compute the same."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/beside.md").read_text()
PEERS = Path(os.environ.get("KN_PEERS", "/opt/knuckle-peers")) / "bin/python"
# what the last lines of a script leave, printed so that every bit survives
TELL = """
for _name in {names!r}:
    _x = globals()[_name]
    print(_name, sorted(_x) if isinstance(_x, set) else [float(y).hex() for y in np.ravel(_x)])
"""


def columns(head: str) -> tuple[list[str], list[str]]:
    rows = [r for r in PAGE.split(f"## {head}\n")[1].split("\n## ")[0].split("\n") if r.startswith("|")][2:]
    cells = [[c.strip().strip("`") for c in r.strip("|").split("|")] for r in rows]
    return [c[0] for c in cells if c[0]], [c[1] for c in cells if c[1]]


def run(python: str, lines: list[str], names: list[str], folder: Path) -> dict[str, np.ndarray]:
    script = "\n".join(lines) + TELL.format(names=names)
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    return {k: np.array(eval(x)) if "0x" not in x else np.array([float.fromhex(h) for h in eval(x)]) for k, x in said.items()}


@pytest.mark.parametrize("head, module, names", [
    ("MuJoCo", "mujoco", ["M", "bias", "J", "angle", "time", "height", "load", "names"]),
    ("Pinocchio", "pinocchio", ["M", "bias", "a", "tau", "kinetic", "com", "J", "x", "step"])])
def test_both_columns_compute_the_same(head, module, names, tmp_path):
    theirs, ours = columns(head)
    (tmp_path / "arm.xml").write_text(re.search("```xml\n(.*?)```", PAGE, re.S)[1])
    shutil.copy(ROOT / "examples/robot.urdf", tmp_path)
    mine = run(sys.executable, ours, names, tmp_path)
    if head == "MuJoCo":
        # half the box's edge; its weight 3 kg · 9.81 m/s², the solver's residual being 1e-10
        assert abs(mine["height"] - 0.1) < 1e-9 and abs(mine["load"] - 3 * 9.81) < 1e-8
    if not PEERS.exists() or subprocess.run([PEERS, "-c", f"import {module}"], capture_output=True).returncode:
        pytest.skip(f"{module} is not there (make peers)")
    other = run(str(PEERS), theirs, names, tmp_path)
    # rounding of numbers below 30; the soft contact there sinks in by .1 mm and carries the weight to 1e-8 of it
    for name in names:
        if name == "names":
            assert (mine[name] == other[name]).all()
        else:
            assert np.allclose(mine[name], other[name], rtol=0, atol={"height": 1e-3, "load": 1e-5}.get(name, 1e-12)), name
