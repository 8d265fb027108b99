"""The notebooks run from top to bottom; their assertions hold."""

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, capsys):
    cells = json.loads(path.read_text())["cells"]
    names: dict[str, object] = {}
    for i, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "notebooks are kept without outputs"
            exec(compile("".join(cell["source"]), f"{path.name}[{i}]", "exec"), names)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 7
