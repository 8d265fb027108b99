"""Bad input: a clear exception with status and place, and the state unchanged."""

import os
import pickle
import threading

import knuckle
import numpy as np
import pytest
from conftest import ARM


def test_place_of_an_error_in_a_file():
    with pytest.raises(knuckle.FileError) as e:
        knuckle.load("zip/a.xml", files={"zip/a.xml": "<mujoco>\n<worldbody>\n  <geom size='x'/>\n</worldbody></mujoco>"})
    assert (e.value.status, e.value.file, e.value.line) == (knuckle.Status.BAD_FILE, "zip/a.xml", 3) and e.value.column > 1
    assert "zip/a.xml:3:" in str(e.value) and "zip" not in e.value.what
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.line, again.column, str(again)) == (e.value.line, e.value.column, str(e.value))


def test_files_from_memory(arm):
    part = ARM.replace("<mujoco model=\"arm\">", "<mujoco>")
    model = knuckle.load("top.xml", files={"top.xml": "<mujoco><include file='sub/arm.xml'/></mujoco>", "sub/arm.xml": part}.get)
    assert model.hash == arm.hash
    with pytest.raises(knuckle.FileError, match="not given"):
        knuckle.load("top.xml", files={"top.xml": "<mujoco><include file='none.xml'/></mujoco>"})
    with pytest.raises(ZeroDivisionError):
        knuckle.load("top.xml", files=lambda path: 1 / 0)


def test_missing_things():
    with pytest.raises(knuckle.NotFoundError, match="did you mean pendulum-2014"):
        knuckle.load("pendulum-2O14")
    with pytest.raises(knuckle.NotFoundError) as e:
        knuckle.load("/nowhere/robot.xml")
    assert e.value.file == "/nowhere/robot.xml"
    with pytest.raises(knuckle.BadArgumentError, match="parameters belong"):
        knuckle.load("/nowhere/robot.xml", links=3)
    with pytest.raises(knuckle.KnuckleError):
        knuckle.load("pendulum-2014", links=-3)
    with pytest.raises(knuckle.BadArgumentError, match="expected 'fixed'"):
        knuckle.load("robot.urdf", base="flying")
    with pytest.raises(knuckle.BadArgumentError):
        knuckle.load("a\0b.xml")
    with pytest.raises(knuckle.NotFoundError):
        knuckle.read("/nowhere/run.mcap")


def test_settings(arm):
    with pytest.raises(knuckle.BadArgumentError, match="nearest: 'formulation'"):
        knuckle.Sim(arm, formulatoin="os")
    with pytest.raises(knuckle.NotFoundError, match="nothing"):
        knuckle.Sim(arm, law="nothing")
    with pytest.raises(knuckle.BadArgumentError, match="dt is"):
        knuckle.Sim(arm, dt=-1)
    with pytest.raises(knuckle.BadArgumentError, match="dt"):
        knuckle.Sim(arm, dt="fast")
    assert knuckle.Sim(arm, compliant={"eps": 1e-4}, stepper="compliant").settings.compliant.eps == 1e-4


def test_shapes_types_and_nan(sim):
    before = sim.hash
    for bad in ([1.0], np.zeros(99), "text", [[1.0]], None, [1j] * 9):
        with pytest.raises(knuckle.BadArgumentError):
            sim.q = bad
    with pytest.raises(knuckle.NotFiniteError):
        sim.q = np.full(sim.model.nq, np.nan)
    with pytest.raises(knuckle.BadArgumentError, match="rows differ"):
        sim.rollout(np.zeros((3, 2)), force=np.zeros((4, sim.model.nv)))
    with pytest.raises(knuckle.NotFiniteError):
        sim.rollout(np.full((3, 2), np.inf))
    for n in (-1, 1.5, "x", None, 2**70):
        with pytest.raises(knuckle.BadArgumentError):
            sim.step(n)
    for s in (-1.0, np.nan, "x"):
        with pytest.raises((knuckle.BadArgumentError, knuckle.NotFiniteError)):
            sim.run(s)
    assert sim.hash == before
    sim.q[0] = np.nan  # written past every check: the step refuses it
    with pytest.raises(knuckle.NotFiniteError):
        sim.step()


def test_closed_and_foreign_objects(arm, sim):
    other = knuckle.load("pendulum-2014")
    with pytest.raises(knuckle.BadArgumentError, match="another model"):
        knuckle.Sim(arm, state=knuckle.State(other))
    with pytest.raises(knuckle.KnuckleError):
        sim.state.load_bytes(knuckle.State(other).to_bytes())
    with pytest.raises(knuckle.FileError):
        sim.restore(b"garbage")
    with pytest.raises(knuckle.FileError):
        knuckle.Model.from_bytes(b"garbage")
    with pytest.raises(knuckle.BadArgumentError, match="expected a Model"):
        knuckle.Sim("pendulum-2014")
    sim.close()
    sim.close()
    for call in (sim.step, sim.copy, sim.reset, lambda: sim.report, lambda: sim.contacts, lambda: pickle.dumps(sim), lambda: sim.run(1),
                 lambda: sim.rollout(steps=1), lambda: knuckle.diagnose(sim), lambda: knuckle.record(sim, os.devnull)):
        with pytest.raises(knuckle.ClosedError):
            call()
    assert repr(sim) == "<Sim: closed>" and np.isfinite(sim.q).all()


def test_controller_that_raises(sim):
    def controller(t, q, v, ctrl, tau):
        ctrl[0] = 7.0
        if t > 0.05:
            raise RuntimeError("no further")

    with pytest.raises(RuntimeError, match="no further"):
        sim.run(1.0, controller)
    assert 0.045 < sim.time < 0.055
    sim.run(0.1)  # goes on without it
    assert sim.time > 0.14


def test_controller_that_writes_garbage(sim):
    def nan(t, q, v, ctrl, tau):
        tau[1] = np.nan

    before = sim.hash
    with pytest.raises(knuckle.NotFiniteError, match=r"controller set tau\[1\]"):
        sim.run(0.1, nan)
    assert sim.hash == before

    def shape(t, q, v, ctrl, tau):
        tau[:] = np.zeros(77)

    with pytest.raises(ValueError):
        sim.run(0.1, shape)

    def writes_state(t, q, v, ctrl, tau):
        q[0] = 1.0

    with pytest.raises(ValueError, match="read-only"):
        sim.run(0.1, writes_state)
    assert sim.hash == before
    with pytest.raises(knuckle.BadArgumentError):
        knuckle.Sim(sim.model, controller=3)


def test_controller_acts(arm):
    def hold(t, q, v, ctrl, tau):
        ctrl[0] = 0.5
        tau[1] += -2.0 * q[1] - 0.2 * v[1]

    a, b = knuckle.Sim(arm, controller=hold), knuckle.Sim(arm)
    a.run(0.2)
    b.run(0.2, hold)
    assert a.hash == b.hash and a.ctrl["servo"] == 0.5
    twin = a.copy()
    a.step(20)
    twin.step(20)
    assert a.hash == twin.hash


def test_one_thread_at_a_time(arm):
    sim = knuckle.Sim(arm)
    seen = []

    def controller(t, q, v, ctrl, tau):
        if not seen:
            try:
                sim.step()
            except knuckle.BusyError as e:
                seen.append(e)

    sim.run(0.01, controller)
    assert seen and not sim.closed
    errors = []

    def work():
        try:
            for _ in range(200):
                sim.step(5)
        except knuckle.BusyError as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert np.isfinite(sim.q).all() and len(errors) <= 2


def test_fork_leaves_the_child_whole(sim, tmp_path):
    sim.step(10)
    rec = knuckle.record(sim, tmp_path / "a.mcap")
    pid = os.fork()
    if pid == 0:
        try:
            rec.step()
            os._exit(1)
        except knuckle.BusyError:
            sim.step(10)
            os._exit(0 if np.isfinite(sim.q).all() else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    rec.close()
    with pytest.raises(knuckle.ClosedError):
        rec.step()


def test_closing_a_simulator_closes_its_recorders(arm, tmp_path):
    sim = knuckle.Sim(arm)
    rec = knuckle.record(sim, tmp_path / "a.mcap")
    rec.step(20)
    sim.close()
    with pytest.raises(knuckle.ClosedError):
        rec.step()
    rec.close()
    assert len(knuckle.read(tmp_path / "a.mcap")) == 20
    dropped = knuckle.record(knuckle.Sim(arm), tmp_path / "b.mcap")  # nobody closes these two
    dropped.step(5)
    del dropped
    assert len(knuckle.read(tmp_path / "b.mcap")) == 5


def test_spec_names_what_is_wrong():
    spec = knuckle.Spec("x")
    spec.body("a")
    with pytest.raises(knuckle.NotFoundError, match="no body 'b'; nearest: .*'a'"):
        spec.joint("j", body="b")
    with pytest.raises(knuckle.BadArgumentError, match="hinge"):
        spec.joint("j", body="a", type="hinj")
    with pytest.raises(knuckle.BadArgumentError, match="shape"):
        spec.body("c", pos=[1, 2])
    with pytest.raises(knuckle.BadArgumentError, match="needs points"):
        spec.geom("h", body="a", type="hull")
    with pytest.raises(knuckle.KnuckleError):
        spec.geom("h", body="a", type="hull", points=np.zeros((5, 3)))
    with pytest.raises(knuckle.ModelError):
        spec.joint("j", body="a")
        spec.compile()  # a moving body without mass


def test_interrupt_gets_through():
    import signal
    import time

    sim = knuckle.Sim(knuckle.load("pendulum-2014"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores the signal, and would run for ever
    try:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            sim.step(10**12)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - start < 20 and np.isfinite(sim.q).all()
    sim.step(10)
