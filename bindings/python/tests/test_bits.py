"""The same bits as the command line, in every way of stepping."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import knuckle
import numpy as np
import pytest
from conftest import ARM

ROOT = Path(__file__).resolve().parents[3]

# Twenty scenes of all kinds: chains, loops, piles, robots, controllers, sequential impacts, the paradox.
SCENES = ["pendulum-2014", "pendulum-2012", "quadruped", "humanoid", "stack", "wall", "newton-cradle", "painleve-rod", "grasp-1", "grasp-2",
          "incline", "dual-arm", "rattleback", "domino", "bounce", "four-bar", "slider-crank", "sphere-pile", "random", "a03"]


def known() -> list[str]:
    names = knuckle.scenes()
    chosen = [s for s in SCENES if s in names]
    return (chosen + [n for n in names if n not in chosen])[:20]


@pytest.mark.parametrize("scene", known())
def test_scene_has_the_bits_of_the_command_line(scene, command):
    model = knuckle.load(scene)
    seconds = 40 * knuckle.Sim(model).settings.dt
    expected = json.loads(command("run", scene, "--time", repr(seconds), "--json"))["state_hash"]
    sim = knuckle.Sim(model)
    sim.run(seconds)
    assert sim.hash == expected


def test_file_has_the_bits_of_the_command_line(tmp_path, command):
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    (tmp_path / "arm.yaml").write_text('dt: 0.002\ncontroller:\n  "*": {kp: 2, kd: 0.1}\n  elbow: {kp: 5, kd: 0.5, target: 0.3}\n'
                                       'initial:\n  q: {shoulder: 0.2}\n')
    expected = json.loads(command("run", str(path), "--time", "0.3", "--json"))["state_hash"]
    sim = knuckle.Sim(knuckle.load(path))
    assert sim.settings.dt == 0.002 and sim.q["shoulder"] == 0.2
    sim.run(0.3)
    assert sim.hash == expected


@pytest.mark.parametrize("words, options", [
    (["--base", "floating", "--drop", "0.1", "--passive"], dict(base="floating", drop=0.1, passive=True)),
    (["--base", "floating", "--drop", "0.02", "--mu", "0.2", "--restitution", "0.5", "--gravity", "0,1,-5"],
     dict(base="floating", drop=0.02, mu=0.2, restitution=0.5, gravity=[0, 1, -5]))])
def test_options_of_the_command_line_are_arguments(words, options, command):
    path = ROOT / "examples/robot.urdf"
    expected = json.loads(command("run", str(path), *words, "--time", "0.4", "--json"))["state_hash"]
    sim = knuckle.Sim(knuckle.load(path, **options))
    run = sim.run(0.4)
    assert sim.hash == expected and len(sim.contacts) > 0
    assert knuckle.Sim(pickle.loads(pickle.dumps(sim.model))).run(0.4).hash == run.hash
    for wrong in (dict(drop=float("nan")), dict(mu=-1.0), dict(gravity=[1, 2]), dict(restitution=2.0)):
        with pytest.raises(knuckle.KnuckleError):
            knuckle.load(path, **wrong)


def test_step_run_rollout_and_copies_are_the_same(arm):
    one, many, rolled = knuckle.Sim(arm), knuckle.Sim(arm), knuckle.Sim(arm)
    for s in (one, many):
        s.ctrl[:] = [0.3, 0.1]
    for _ in range(200):
        one.step()
    many.step(200)
    out = rolled.rollout(np.tile([0.3, 0.1], (200, 1)), every=50)
    assert one.hash == many.hash == rolled.hash
    for every in (1, 3, 7, 499, 1300):  # several parts of a call
        a, b = knuckle.Sim(arm), knuckle.Sim(arm)
        long = a.rollout(steps=1300, every=every)
        rows = [(b.step(every), np.array(b.q), b.time)[1:] for _ in range(1300 // every)]
        assert np.array_equal(long.q, [r[0] for r in rows]) and np.array_equal(long.t, [r[1] for r in rows])
        b.step(1300 % every)
        assert a.hash == b.hash
    assert out.q.shape == (4, arm.nq) and np.array_equal(out.q[-1], one.q) and out.t[-1] == one.time


def run_pickled(data: bytes) -> str:
    sim = pickle.loads(data)
    sim.step(100)
    return sim.hash


@pytest.mark.parametrize("scene", ["pendulum-2014", "quadruped", None])
def test_pickle_goes_on_in_another_process(scene, arm):
    sim = knuckle.Sim(knuckle.load(scene) if scene else arm)
    sim.step(150)
    data = pickle.dumps(sim)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        elsewhere = pool.apply(run_pickled, (data,))
    sim.step(100)
    assert elsewhere == sim.hash


def test_save_and_restore_repeat(sim):
    sim.step(300)
    saved = sim.save()
    sim.step(100)
    first = sim.hash
    sim.restore(saved)
    sim.step(100)
    assert sim.hash == first


def test_threads_with_their_own_simulators_agree():
    model = knuckle.load("pendulum-2014")
    sims = [knuckle.Sim(model) for _ in range(4)]
    threads = [threading.Thread(target=s.step, args=(2000,)) for s in sims]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({s.hash for s in sims}) == 1


def test_model_bytes_are_the_same_model():
    for name in ("humanoid", "wall", "pendulum-2014"):
        model = knuckle.load(name)
        again = knuckle.Model.from_bytes(model.to_bytes())
        assert again.hash == model.hash and again == model and hash(again) == hash(model)


def test_recording_replays_and_verifies(tmp_path, sim):
    with knuckle.record(sim, tmp_path / "a.mcap") as rec:
        rec.step(200)
    read = knuckle.read(tmp_path / "a.mcap")
    assert len(read) == 200 and not read.problems and read[-1].hash == sim.hash
    assert np.array_equal(read.q[-1], sim.q) and np.array_equal(read["q.elbow"][-1], sim.q["elbow"])
    with knuckle.record(knuckle.Sim(knuckle.load("pendulum-2014")), tmp_path / "b.mcap") as rec:
        rec.run(1.0)
    result = knuckle.verify(tmp_path / "b.mcap")
    assert result and result.steps == 1000 and "0 violations" in str(result)
    assert abs(read["energy"][-1] - sim.energy.total) < 1e-9  # rounding of sums of some J in another order


ROBOTS = Path(__file__).resolve().parents[4] / "shared/data/models"


@pytest.mark.parametrize("path", ["mjcf/unitree_g1/scene.xml", "mjcf/robotiq_2f85/scene.xml", "mjcf/pal_talos/scene_motor.xml",
                                  "urdf/example-robot-data/robots/solo_description/robots/solo.urdf"])
def test_robot_has_the_bits_of_the_command_line(path, command):
    if not (ROBOTS / path).exists():
        pytest.skip(f"{path} is not there")
    sim = knuckle.Sim(knuckle.load(ROBOTS / path))  # hulls, loops, pairs that overlap at the start
    seconds = 20 * sim.settings.dt
    sim.run(seconds)
    assert sim.hash == json.loads(command("run", str(ROBOTS / path), "--time", repr(seconds), "--json"))["state_hash"]
    twin = knuckle.Sim(pickle.loads(pickle.dumps(sim.model)))
    twin.run(seconds)
    assert twin.hash == sim.hash


COMMA = """
import locale, sys, knuckle
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert f"{1.5:n}" == "1,5"
sim = knuckle.Sim(knuckle.load("incline", margin=0.7))
with knuckle.record(sim, sys.argv[1]) as rec:
    rec.step(50)
assert knuckle.verify(sys.argv[1])
print(sim.hash)
"""


def test_locale_with_a_decimal_comma_changes_nothing(tmp_path):
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")], capture_output=True, check=False)
    if not (tmp_path / "de_DE.UTF-8").exists():
        pytest.skip(f"no locale with a decimal comma: {made.stderr.decode()[:100]}")
    there = {**os.environ, "LOCPATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", COMMA, str(tmp_path / "a.mcap")], env=there, capture_output=True, text=True, check=False)
    sim = knuckle.Sim(knuckle.load("incline", margin=0.7))
    with knuckle.record(sim, tmp_path / "b.mcap") as rec:
        rec.step(50)
    assert ran.stdout.strip() == sim.hash, ran.stderr
    assert knuckle.verify(tmp_path / "a.mcap")
    assert knuckle.read(tmp_path / "a.mcap").settings == knuckle.read(tmp_path / "b.mcap").settings
