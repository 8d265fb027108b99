"""The notebooks run from top to bottom; their assertions hold."""

import json
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, capsys, monkeypatch):
    monkeypatch.chdir(path.parent)  # where Jupyter runs them
    if "KN_COMMAND" in os.environ:
        monkeypatch.setenv("KNUCKLE", os.environ["KN_COMMAND"])
    elif "knuckle.fit(" in path.read_text() and not os.environ.get("KNUCKLE") and not shutil.which("knuckle"):
        pytest.skip("the command line is not there (KN_COMMAND)")
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, object] = {}
    for i, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "notebooks are kept without outputs"
            exec(compile("".join(cell["source"]), f"{path.name}[{i}]", "exec"), names)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 8
