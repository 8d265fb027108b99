"""Loads of contacts, spin friction, sleep, and the kinematics that stand beside them."""

import csv

import knuckle
import numpy as np
import pytest

TABLE = """<mujoco model="table"><worldbody><geom name="floor" type="plane" size="5 5 .1"/>
<body name="table" pos="0 0 .099"><freejoint/><geom name="top" type="box" size=".3 .2 .1" mass="4"/></body>
<body name="ball" pos="2 0 .3"><freejoint/><geom name="round" type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loads")
    (folder / "table.xml").write_text(TABLE)
    sim = knuckle.Sim(knuckle.load(folder / "table.xml"))
    with knuckle.record(sim, folder / "a.mcap") as rec:
        rec.run(0.5)
    return knuckle.read(folder / "a.mcap")


@pytest.mark.parametrize("forces", ["nearest", "least", "solved"])
def test_sums_are_the_weight_whatever_the_parts_are(table, forces):
    steps = list(table.loads(forces))
    assert len(steps) == len(table)
    last = steps[-1]
    weight = 4 * 9.81
    on = last.on("table")
    assert on is not None and abs(on.force[2] - weight) < 1e-6 * weight and on.determinate == knuckle.Answer.YES  # at rest: force = m g
    mine = last.load[[set(n) == {"floor", "top"} for n in last.contacts.names]]
    assert len(mine) == 4 and (mine["determinate"] == knuckle.Answer.NO).all() and not mine["impulse"].any()
    up = np.abs(mine["world"][:, 2])
    assert abs(up.sum() - weight) < 1e-6 * weight
    if forces == "least":  # four corners about the centre of mass: equal parts have the least sum of squares
        assert np.allclose(up, weight / 4, rtol=1e-6)
    # the ball's landing takes no time: impulses of m v in all, v = sqrt(2 g h) with h = .2 m, and g dt m for each step that has them
    blows = [s.on("ball").impulse[2] for s in steps if s.on("ball") and s.on("ball").impulse[2] != 0]
    assert 1 <= len(blows) <= 2 and abs(sum(blows) - np.sqrt(2 * 9.81 * 0.2)) < 9.81 * len(blows) * table[0].dt
    assert any(s.b == "world" for s in last.sums) and last.on("nobody") is None and "LoadSum" in repr(last)


@pytest.mark.parametrize("forces", ["nearest", "least"])
def test_loads_are_those_of_the_command_line(table, command, tmp_path, forces):
    """knuckle export --table contacts writes the same numbers, to the last bit."""
    path = tmp_path / "c.csv"
    command("export", table.path, "--table", "contacts", "--forces", forces, "-o", str(path))
    with open(path, newline="") as file:
        said = [(float(r["t"]), r["kind"], float(r["normal"]), float(r["tangent_1"]), float(r["tangent_2"]), r["determinate"]) for r in csv.DictReader(file)]
    mine = [(s.t, "impulse" if row["impulse"] else "force", *map(float, row["local"]), knuckle.Answer(int(row["determinate"])).name.lower())
            for s in table.loads(forces) for row in s.load]
    assert mine == said and len(mine) > 500


def test_spin_friction_and_sleep_have_the_same_words():
    spec = knuckle.Spec("spin")
    spec.body("top", pos=[0, 0, 0.1])
    spec.joint("free", body="top", type="free")
    spec.geom("ball", body="top", size=0.1, mass=1.0, condim=4, material=knuckle.Material(mu=0.5, torsion=0.01))
    spec.geom("floor", type="plane", material=knuckle.Material(mu=0.5, torsion=0.01))
    sim = knuckle.Sim(spec.compile())
    sim.v["free"][5] = 10.0
    sim.run(0.1)
    # a spinning sphere is braked by the moment T = torsion N: dw/dt = T / (2/5 m r²) = .01 * 9.81 / .004
    assert abs(sim.v["free"][5] - (10.0 - 0.1 * 0.01 * 9.81 / 0.004)) < 1e-6
    assert abs(abs(sim.contacts["moment"][0][0]) / sim.settings.dt - 0.01 * 9.81) < 1e-6 and sim.contacts["torsion"][0] == 0.01
    # explicit pairs slide along the second tangent by a coefficient of their own
    spec.pair("ball", "floor", material=knuckle.Material(mu=0.5, mu2=0.2), condim=3)
    assert spec.compile().material("ball", "floor").mu2 == 0.2
    # asleep it costs nothing and says the same
    awake, asleep = (knuckle.Sim(knuckle.load("stack"), sleep=s) for s in (0.0, 1e-3))
    for s in (awake, asleep):
        s.run(0.5)
    assert asleep.settings.sleep == 1e-3 and np.allclose(asleep.q, awake.q, atol=1e-6) and len(asleep.contacts) == len(awake.contacts)


def test_motion_on_the_manifold(arm):
    rng = np.random.default_rng(4)
    sim = knuckle.Sim(arm)
    sim.reset("bent")
    v = rng.normal(size=arm.nv)
    q = arm.integrate(sim.q, v, 0.3)
    assert np.allclose(arm.difference(sim.q, q), 0.3 * v, atol=1e-12) and abs(np.linalg.norm(q[5:]) - 1) < 1e-15
    sim.v = v
    x = rng.normal(size=(arm.nv, 3))
    assert np.allclose(sim.mass_matrix @ sim.solve_mass(x), x, atol=1e-11) and np.allclose(sim.solve_mass(x[:, 0]), sim.solve_mass(x)[:, 0], atol=1e-15)
    # J̇ v by a centred difference along the motion: error h² of third derivatives, 1e-5² times some 10
    h = 1e-5

    def moved(t):
        s = knuckle.Sim(arm)
        s.q, s.v = arm.integrate(sim.q, v, t), v
        return s.jacobian("fore") @ v

    assert np.allclose(sim.jacobian_bias("fore"), (moved(h) - moved(-h)) / (2 * h), atol=1e-7)
    for wrong in (lambda: arm.integrate(sim.q[:2], v), lambda: arm.difference(sim.q, v), lambda: sim.solve_mass(np.zeros(3)), lambda: sim.jacobian_bias("fore", [1])):
        with pytest.raises(knuckle.BadArgumentError):
            wrong()
