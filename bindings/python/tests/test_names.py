"""Every public name: what is returned has the documented type, and no name or member is without a test."""

import enum
import inspect
import re
import webbrowser
from pathlib import Path

import knuckle
import numpy as np
import pytest
from knuckle import errors

SENSED = "<mujoco><worldbody><body><freejoint/><geom size='.1'/><site name='s'/></body></worldbody><sensor><gyro site='s'/></sensor></mujoco>"


def test_types_of_what_is_returned(sim, arm, tmp_path):
    sim.reset("bent")
    run = sim.run(0.2)
    pool = knuckle.Pool(arm, 2, threads=1)
    stack = knuckle.Sim(knuckle.load("stack"))
    stack.step(5)
    with knuckle.record(stack, tmp_path / "a.mcap") as recorder:
        recorder.step(3)
    recording = knuckle.read(tmp_path / "a.mcap")
    (tmp_path / "p.json").write_text('{"M": [[2]], "q": [-1]}')
    comparison = knuckle.compare(arm, 0.01)
    sunk = knuckle.Sim(knuckle.load("stack"))
    sunk.q[2] -= 0.03
    rough = sunk.run(0.01)
    loop = knuckle.load("four-bar")
    expected = [
        (arm.bodies, knuckle.Items), (arm.body("box"), knuckle.Body), (arm.joint("elbow"), knuckle.Joint), (arm.geom("cube"), knuckle.Geom),
        (arm.frame("tip"), knuckle.Frame), (arm.actuator("motor"), knuckle.Actuator), (arm.keyframes["bent"], knuckle.Keyframe), (loop.loops[0], knuckle.Loop),
        (arm.geom("cube").material, knuckle.Material), (sim.settings.compliant, knuckle.Compliance), (sim.settings.hybrid, knuckle.Hybrid), (run, knuckle.Run),
        (sim.rollout(steps=2), knuckle.Rollout), (sim.body_poses, knuckle.Poses), (sim.forces, knuckle.Forces), (sim.report, knuckle.Report), (sim.contacts, knuckle.Contacts),
        (sim.energy, knuckle.Energy), (sim.report.total, knuckle.Ledger), (sim.report.rise, knuckle.EnergyRise), (sim.report.verdict, knuckle.Verdict),
        (knuckle.diagnose(sim), knuckle.Diagnosis), (knuckle.mode_matrix(stack), knuckle.ModeMatrix), (comparison, knuckle.Comparison), (comparison.trials[0], knuckle.Trial),
        (knuckle.certify(np.eye(2), [0.5, 0.5]), knuckle.Certificate), (knuckle.solve_lcp([[1.0]], [-1.0]), knuckle.Solution),
        (knuckle.enumerate_lcp([[1.0]], [-1.0]), knuckle.Solutions), (knuckle.is_p_matrix([[1.0]]), knuckle.PMatrix), (knuckle.read_lcp(str(tmp_path / "p.json")), knuckle.LcpFile),
        (pool.step(2), knuckle.PoolRun), (pool.linearize(sim.state), knuckle.Linearization), (recorder, knuckle.Recorder), (recording[0], knuckle.Step),
        (knuckle.load("a.xml", files={"a.xml": SENSED}).sensors[0], knuckle.Sensor), (next(recording.loads()), knuckle.Loads), (next(recording.loads()).sums[0], knuckle.LoadSum), (knuckle.verify(recording), knuckle.Verification),
        (knuckle.view(sim, 0.01), knuckle.View), (rough.troubles[0], knuckle.Trouble), (rough.troubles[0].worst, knuckle.Event)]
    for thing, kind in expected:
        assert type(thing) is kind
    assert knuckle.Violation(3, "cone", 2.0, 1.0).limit == 1.0 and knuckle.Note("info", "a.xml:1:1", "x").kind == "info"
    assert 0 <= pool.linearize(sim.state).switches <= 2 * (2 * arm.nv + arm.nu)


def test_members_that_others_do_not_use(sim, arm, tmp_path, monkeypatch):
    sim.reset("bent")
    geoms, frames, bodies = sim.geom_poses, sim.frame_poses, sim.body_poses
    i, box = arm.geoms.index_of("cube"), arm.bodies.index_of("box")
    assert np.array_equal(geoms.p[i], bodies.p[box])  # the cube is in the middle of its body
    fore = arm.body("fore").id
    assert np.allclose(frames.p[arm.frames.index_of("tip")], bodies.p[fore] + bodies.R[fore] @ [0.4, 0, 0], atol=1e-15)
    other = knuckle.State(arm)
    other.assign(sim.state)
    assert other == sim.state
    pool = knuckle.Pool(arm, 3, threads=1)
    pool.put(1, sim.state)
    assert np.array_equal(pool.q[1], sim.q) and not np.array_equal(pool.q[0], sim.q)
    page = tmp_path / "view.html"
    page.write_text('<script id="run" type="application/json"></script>')
    monkeypatch.setenv("KNUCKLE_VIEW_PAGE", str(page))
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    path = Path(knuckle.view(sim, 0.01).open())
    assert opened == [path.as_uri()] and "run.mcap" in path.read_text()
    path.unlink()
    with knuckle.record(sim, tmp_path / "b.mcap") as recorder:
        recorder.step(3)
    pytest.importorskip("matplotlib")
    assert [a.get_ylabel() for a in knuckle.plot(tmp_path / "b.mcap", "energy", "q.elbow").axes] == ["energy, J", "q.elbow"]


def test_every_status_has_its_exception():
    bases = {knuckle.BadArgumentError: ValueError, knuckle.OutOfMemoryError: MemoryError, knuckle.NotFoundError: LookupError, knuckle.ModelError: ValueError,
             knuckle.FileError: ValueError, knuckle.ReadWriteError: OSError, knuckle.UnsupportedError: NotImplementedError,
             knuckle.NotConvergedError: ArithmeticError, knuckle.NoSolutionError: ArithmeticError, knuckle.NotFiniteError: ArithmeticError,
             knuckle.InfeasibleError: ArithmeticError, knuckle.InterruptedRunError: Exception}
    assert set(errors._KINDS) == set(knuckle.Status) - {knuckle.Status.OK}
    assert set(errors._KINDS.values()) == set(bases)
    for status, kind in errors._KINDS.items():
        e = errors.failure(int(status))
        assert type(e) is kind and isinstance(e, knuckle.KnuckleError) and isinstance(e, bases[kind]) and e.status == status and str(e)
    with pytest.raises(knuckle.ReadWriteError):
        knuckle.record(knuckle.Sim(knuckle.load("stack")), "/nowhere/at/all.mcap")


def test_no_name_is_without_a_test():
    text = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*.py"))
    missing = [n for n in knuckle.__all__ if not re.search(rf"\bknuckle\.{n}\b", text)]
    for name in knuckle.__all__:
        thing = getattr(knuckle, name)
        if inspect.isclass(thing) and not issubclass(thing, enum.Enum):
            for key, member in vars(thing).items():
                if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, (property, staticmethod))) and not re.search(rf"\.{key}\b", text):
                    missing.append(f"{name}.{key}")
    assert missing in ([], ["Controller"])  # a type alias


def test_enumerations_and_surfaces_are_whole():
    from knuckle._kn import ffi

    for kind, ctype in ((knuckle.Mode, "kn_contact_mode"), (knuckle.Answer, "kn_answer"), (knuckle.VerdictKind, "kn_verdict_kind"), (knuckle.Status, "kn_status"),
                        (knuckle.JointType, "kn_joint_type"), (knuckle.ShapeType, "kn_shape_type"), (knuckle.LoopType, "kn_loop_type"), (knuckle.SensorType, "kn_sensor_type")):
        theirs = {n for n in ffi.typeof(ctype).elements.values() if not n.endswith("_COUNT")}
        assert {n.rpartition("_")[2] for n in theirs} == {e.name.rpartition("_")[2] for e in kind} and len(theirs) == len(kind), ctype
    fields = {f.name for f in knuckle.Material.__dataclass_fields__.values()}
    assert fields - {"compliant"} == {n for n, _ in ffi.typeof("kn_material").fields} - {"law"}
