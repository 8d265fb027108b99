"""Sensors by name: values, units, recordings, the builder, and actuators through sites."""

from pathlib import Path

import knuckle
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]

DRONE = """<mujoco model="drone"><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="b" pos="0 0 1"><freejoint name="fly"/><geom type="box" size=".1 .1 .05" mass="1.2"/>
<site name="imu" pos="0 0 .05"/><site name="p1" pos=".2 0 0"/><site name="p2" pos="-.2 0 0"/></body></worldbody>
<actuator><motor name="m1" site="p1" gear="0 0 1 0 0 .02"/><motor name="m2" site="p2" gear="0 0 1 0 0 -.02"/></actuator>
<sensor><accelerometer name="acc" site="imu"/><gyro name="gyro" site="imu"/><framequat name="quat" objtype="site" objname="imu"/>
<rangefinder name="height" site="imu"/><clock name="clock"/><actuatorfrc name="thrust" actuator="m1"/></sensor></mujoco>"""


@pytest.fixture(scope="session")
def drone() -> knuckle.Model:
    return knuckle.load("drone.xml", files={"drone.xml": DRONE})


def test_a_hovering_drone_is_measured_by_name(drone):
    sim = knuckle.Sim(drone)
    sim.ctrl[:] = 1.2 * 9.81 / 2
    sim.step(100)
    assert sim.sensors["acc"] == pytest.approx([0, 0, 9.81], abs=1e-12)
    assert sim.sensors["gyro"] == pytest.approx([0, 0, 0], abs=1e-12)
    assert sim.sensors["quat"] == pytest.approx([1, 0, 0, 0])
    assert sim.sensors["height"] == -1  # the sky
    assert sim.sensors["clock"] == pytest.approx(sim.time)
    assert sim.sensors["thrust"] == pytest.approx(1.2 * 9.81 / 2)
    assert sim.q["fly"][2] == pytest.approx(1.0, abs=1e-12)
    assert drone.sensor("acc").unit == "m/s²" and drone.sensor("gyro").type == knuckle.SensorType.GYRO
    assert sim.sensors.names == ["acc", "gyro", "quat", "height", "clock", "thrust"]
    with pytest.raises(knuckle.NotFoundError, match="acc"):
        sim.sensors["accc"]
    with pytest.raises(ValueError):
        sim.sensors[0] = 1.0


def test_sensors_are_recorded(drone, tmp_path):
    sim = knuckle.Sim(drone)
    shown = []
    with knuckle.record(sim, tmp_path / "run.mcap") as rec:
        for _ in range(50):
            rec.step()
            shown.append(np.array(sim.sensors))
    run = knuckle.read(tmp_path / "run.mcap")
    assert np.array_equal(run["sensor"], np.array(shown))
    assert np.array_equal(run["sensor.acc.2"], run["sensor.acc"][:, 2])
    assert run[-1].sensors["clock"] == pytest.approx(0.1) or run[-1].sensors["clock"] == run.t[-1]
    assert "sensor.height" in run.names and knuckle.verify(run)


def test_the_table_of_mujoco(drone):
    """The same table as test/step/sensors.c reads: every type at random states, by MuJoCo."""
    model, compared, sim, fresh = None, 0, None, None
    for line in (ROOT / "test/step/sensors/reference.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, *rest = line.split()
        if name == "model":
            model = knuckle.load(ROOT / rest[0])
            sim = knuckle.Sim(model)
        elif name == "state":
            sim.state.time, fresh = float(rest[0]), None
        elif name in ("q", "v", "u"):
            getattr(sim, {"u": "ctrl"}.get(name, name))[:] = [float(x) for x in rest]
        else:
            fresh = sim.sensors if fresh is None else fresh
            wanted = np.array([float(x) for x in rest])
            assert np.abs(np.atleast_1d(fresh[name]) - wanted).max() <= 1e-9 * max(1.0, np.abs(wanted).max()), name
            compared += 1
    assert compared == 4 * 93


def test_the_builder_makes_sensors_and_propellers(drone):
    spec = knuckle.Spec("drone")
    spec.body("b", pos=[0, 0, 1])
    spec.joint("fly", body="b", type="free")
    spec.geom("box", body="b", type="box", size=[0.1, 0.1, 0.05], mass=1.2)
    spec.frame("imu", body="b", pos=[0, 0, 0.05], zone="box", zone_size=[0.2, 0.2, 0.2])
    spec.frame("p1", body="b", pos=[0.2, 0, 0])
    spec.actuator("m1", site="p1", gear=[0, 0, 1, 0, 0, 0.02])
    spec.sensor("acc", type="accelerometer", frame="imu")
    spec.sensor("touch", type="touch", frame="imu")
    spec.sensor("frc", type="actuator_force", actuator="m1")
    spec.sensor("up", type="frame_z", body="b", cutoff=0.1)
    model = spec.compile()
    sim = knuckle.Sim(model)
    sim.ctrl["m1"] = 3.0
    assert sim.sensors["frc"] == 3.0 and sim.sensors["touch"] == 0.0
    assert sim.sensors["up"] == pytest.approx([0, 0, 1])
    assert sim.sensors["acc"][2] == pytest.approx(3.0 / 1.2)
    assert model.actuator("m1").site == model.frame("p1").id and model.actuator("m1").joints == ()
    assert knuckle.Model.from_bytes(model.to_bytes()) == model
    assert knuckle.Model.from_bytes(model.to_bytes()).sensor("up").cutoff == 0.1
    for wrong in (dict(type="gyro"), dict(type="gyroo", frame="imu"), dict(type="gyro", frame="imo")):
        with pytest.raises(knuckle.KnuckleError):
            spec.sensor("x", **wrong)
            spec.compile()
    with pytest.raises(knuckle.BadArgumentError, match="joint or a site"):
        spec.actuator("m3")
