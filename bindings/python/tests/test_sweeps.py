"""Sweeps: the same bytes from this machine's threads and from a Dask cluster."""

import os
import subprocess

import knuckle
import pytest

STUDY = """scene: pendulum-2014
set: {links: 2}
duration: 0.02
sweep:
  method: random
  cases: 60
  vary: {mu: {field: option.mu, from: 0.1, to: 1}}
  outputs: {loss: first(energy.total) - final(energy.total)}
"""


@pytest.fixture
def program():
    path = os.environ.get("KN_COMMAND")
    if not path:
        pytest.skip("KN_COMMAND (the command line) is not set")
    return path


def test_dask_writes_the_bytes_of_the_command_line(tmp_path, program):
    distributed = pytest.importorskip("distributed")
    for name in ("alone", "dask"):
        (tmp_path / f"{name}.yaml").write_text(STUDY)
    subprocess.run([program, "sweep", str(tmp_path / "alone.yaml")], check=True, capture_output=True)
    seen = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, \
            distributed.Client(cluster) as client:
        got = knuckle.sweep(tmp_path / "dask.yaml", client=client, program=program, handful=7, progress=lambda d, n: seen.append((d, n)))
    assert got["status"] == "ok" and got["done"] == 60 and seen[-1] == (60, 60)
    for name in ("results.csv", "results.h5"):
        assert (tmp_path / "dask.sweep" / name).read_bytes() == (tmp_path / "alone.sweep" / name).read_bytes()


def test_ray_writes_the_bytes_of_the_command_line(tmp_path, program):
    """Ray is large: `make nightly` installs it."""
    ray = pytest.importorskip("ray")
    for name in ("alone", "ray"):
        (tmp_path / f"{name}.yaml").write_text(STUDY)
    subprocess.run([program, "sweep", str(tmp_path / "alone.yaml")], check=True, capture_output=True)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}})
    try:
        got = knuckle.sweep(tmp_path / "ray.yaml", ray=ray, program=program, handful=7)
    finally:
        ray.shutdown()
    assert got["status"] == "ok" and got["done"] == 60
    for name in ("results.csv", "results.h5"):
        assert (tmp_path / "ray.sweep" / name).read_bytes() == (tmp_path / "alone.sweep" / name).read_bytes()


def test_a_sweep_goes_on_where_it_stopped(tmp_path, program):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY)
    folder = tmp_path / "study.sweep"
    assert knuckle.sweep(study, program=program)["status"] == "ok"
    whole = (folder / "results.csv").read_bytes()
    lines = (folder / "journal.txt").read_text().splitlines(keepends=True)
    (folder / "journal.txt").write_text("".join(lines[:20]))

    assert knuckle.sweep(study, program=program)["done"] == 60
    assert (folder / "results.csv").read_bytes() == whole


def test_mistakes_are_exceptions(tmp_path, program):
    study = tmp_path / "study.yaml"
    study.write_text(STUDY.replace("energy.total", "enrgy.total"))
    with pytest.raises(knuckle.KnuckleError, match="did you mean energy.total"):
        knuckle.sweep(study, program=program)
    with pytest.raises(knuckle.KnuckleError, match="at least 1"):
        study.write_text(STUDY)
        knuckle.sweep(study, client=object(), program=program, handful=0)
