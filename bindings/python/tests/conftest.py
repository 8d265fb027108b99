"""Shared by the tests: small models, and the command line beside which bits are compared (KN_COMMAND)."""

import os
import subprocess

import knuckle
import pytest

ARM = """<mujoco model="arm"><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="upper" pos="0 0 .5"><joint name="shoulder" axis="0 1 0" range="-90 90" damping=".05"/>
<geom name="rod" type="capsule" size=".04" fromto="0 0 0 .4 0 0"/>
<body name="fore" pos=".4 0 0"><joint name="elbow" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .4 0 0"/>
<site name="tip" pos=".4 0 0"/></body></body>
<body name="box" pos="0 1 .2" euler="10 20 0"><freejoint name="float"/><geom name="cube" type="box" size=".1 .1 .1"/></body></worldbody>
<actuator><position name="servo" joint="shoulder" kp="50" kv="3"/><motor name="motor" joint="elbow" gear="2"/></actuator>
<keyframe><key name="bent" qpos="0.3 -0.4 0 1 .5 1 0 0 0"/></keyframe></mujoco>"""


@pytest.fixture(scope="session")
def arm() -> knuckle.Model:
    return knuckle.load("arm.xml", files={"arm.xml": ARM})


@pytest.fixture
def sim(arm: knuckle.Model) -> knuckle.Sim:
    return knuckle.Sim(arm)


@pytest.fixture(scope="session")
def command():
    path = os.environ.get("KN_COMMAND")
    if not path:
        pytest.skip("KN_COMMAND (the command line) is not set")

    def run(*args: str) -> str:
        done = subprocess.run([path, *args], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr  # 1: a run in trouble, which says so and has its hash
        return done.stdout

    return run


def pytest_terminal_summary(terminalreporter):
    """The last line of every test program of the project (scripts/summary.sh adds them up)."""
    n = {k: len(terminalreporter.stats.get(k, [])) for k in ("passed", "failed", "error", "skipped")}
    terminalreporter.write_line(f"{n['passed']} passed, {n['failed'] + n['error']} failed, {n['skipped']} skipped")
