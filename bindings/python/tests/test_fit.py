"""Fits: what the command line finds, with names; mistakes are exceptions."""

import json
import math
import os
import subprocess
from pathlib import Path

import knuckle
import pytest

TOSSES = Path(__file__).resolve().parents[3] / "examples/fit"
STUDY = f"""model: {TOSSES}/box.xml
dt: 0.005
materials:
  - {{geom: '*', friction: 0.2, restitution: 0.2}}
fit:
  parameters:
    mu: {{field: materials.0.friction, from: 0.05, to: 0.6}}
    roll: {{field: materials.0.roll, from: 0, to: 1e-9}}
  data:
    - file: {TOSSES}/tosses.csv
      trajectory: toss
      rate: 100
      every: 4
      q: {{box: [x_mm*0.001, y_mm*0.001, z_mm*0.001, qw, qx, qy, qz]}}
      v: {{box: [vx, vy, vz, wx, wy, wz]}}
  scales: {{length: 0.05, angle: 0.5}}
  evaluations: 40
  resamples: 50
"""


@pytest.fixture
def program():
    path = os.environ.get("KN_COMMAND")
    if not path:
        pytest.skip("KN_COMMAND (the command line) is not set")
    return path


def test_a_fit_is_what_the_command_line_says(tmp_path, program):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    found = knuckle.fit(study, report=tmp_path / "page.html", threads=1, program=program)
    assert type(found) is knuckle.Fit and type(found["mu"]) is knuckle.FitParameter
    done = subprocess.run([program, "fit", str(study), "--json"], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)  # two threads: the same bits
    assert found.values == {p["name"]: p["value"] for p in said["parameters"]}
    assert [(p.low, p.high, p.identifiable) for p in found.parameters] == [(p["low"], p["high"], p["identifiable"]) for p in said["parameters"]]
    assert (found.cost, found.trajectories, found.evaluations, found.converged) == tuple(said[k] for k in ("cost", "trajectories", "evaluations", "converged"))
    assert Path(found.report) == tmp_path / "page.html" and "<html" in (tmp_path / "page.html").read_text()[:200]
    # Rolling friction up to 1e-9 m moves nothing: it must be found out, and said.
    assert found["mu"].identifiable and not found["roll"].identifiable
    assert [w for w in found.warnings if w.startswith("roll is not identifiable")]
    assert "not identifiable" in repr(found) and f"{found['mu'].value:.6g}" in repr(found)


def test_a_fit_without_resamples_has_no_intervals(tmp_path, program):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace("resamples: 50", "resamples: 0"))
    found = knuckle.fit(study, program=program)
    assert math.isnan(found["mu"].low) and "95 %" not in repr(found) and (tmp_path / "study.fit.html").exists()


def test_mistakes_are_exceptions(tmp_path, program):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace("x_mm", "x_nm", 1))
    with pytest.raises(knuckle.KnuckleError, match="x_nm"):
        knuckle.fit(study, program=program)
    with pytest.raises(knuckle.KnuckleError, match="nowhere"):
        knuckle.fit(tmp_path / "nowhere.yaml", program=program)
