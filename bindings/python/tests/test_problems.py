"""Problems without bodies beside those of test_api: judges, quadratic programs, frictionless contact, files, projections, batches."""

import json
import math
import pickle

import knuckle
import numpy as np
import pytest

RNG = np.random.default_rng(11)


def spd(n: int) -> np.ndarray:
    X = RNG.normal(size=(n, n))
    return X @ X.T + n * np.eye(n)


def test_judges_know_solutions():
    M, q = spd(5), RNG.normal(size=5)
    s = knuckle.solve_lcp(M, q)
    plain, scaled = knuckle.lcp_residual(M, q, s.z)
    assert scaled == s.residual and plain <= 1e-9 and knuckle.lcp_residual(M, q, s.z + 1)[0] > 0.1
    W, u, mu = spd(6), RNG.normal(size=6), [0.3, 0.7]
    c = knuckle.solve_cone(W, u, mu)
    error, worst = knuckle.problem_error(W, u, mu, c.z)
    assert worst == c.residual and max(error, worst) <= 1e-10 and knuckle.problem_error(W, u, mu, c.z * 1.1)[1] > 1e-3


def test_equality_rows_beside_cones():
    """u = 0 in the last rows, Coulomb in the others: eliminating the equality gives the same impulses."""
    W, q = spd(7), np.array([-1.0, 0.3, -0.2, -0.5, 0.1, 0.4, 0.6])
    s = knuckle.solve_cone(W, q, 0.4, free=1)
    S = W[:6, :6] - np.outer(W[:6, 6], W[6, :6]) / W[6, 6]
    t = knuckle.solve_cone(S, q[:6] - W[:6, 6] * q[6] / W[6, 6], 0.4)
    assert s.solved and t.solved and abs(s.w[6]) < 1e-9 and np.allclose(s.z[:6], t.z, atol=1e-8)  # 1e-10 of a problem of condition some 10


def test_quadratic_programs():
    """min ½|x - c|² in a box is the projection; an equality is Lagrange's; contradictions are said."""
    c, lo, hi = np.array([2.0, -3.0, 0.2]), -np.ones(3), np.ones(3)
    s = knuckle.solve_qp(np.eye(3), -c, np.eye(3), lo, hi)
    assert type(s) is knuckle.QpSolution and s.solved and np.allclose(s.x, np.clip(c, -1, 1), atol=1e-12) and np.allclose(s.y, s.x - c, atol=1e-12)
    assert knuckle.qp_residual(np.eye(3), -c, np.eye(3), lo, hi, s.x, s.y) == s.residual <= 1e-10
    H, g, A = spd(4), RNG.normal(size=4), RNG.normal(size=(2, 4))
    s = knuckle.solve_qp(H, g, A, [1, 2], [1, 2])
    exact = np.linalg.solve(np.block([[H, -A.T], [A, np.zeros((2, 2))]]), np.concatenate([-g, [1, 2]]))
    assert np.allclose(np.concatenate([s.x, s.y]), exact, atol=1e-9)
    assert np.allclose(knuckle.solve_qp(H, g).x, -np.linalg.solve(H, g), atol=1e-10)
    with pytest.raises(knuckle.InfeasibleError):
        knuckle.solve_qp(np.eye(1), [0], [[1], [1]], [1, -math.inf], [math.inf, 0])


def test_frictionless_three_ways():
    """A point on a slope without friction: a = g - n (n·g)."""
    n, g = np.array([-0.6, 0.8]), np.array([0.0, -9.81])
    for method in knuckle.choices("frictionless"):
        s = knuckle.solve_frictionless(2 * np.eye(2), [n], 2 * g, method)
        assert type(s) is knuckle.FrictionlessSolution and np.allclose(s.a, g - n * (n @ g), atol=1e-6), method  # descent ends at 1e-7
        # the gap bounds the error: ½ |Jᵀ(λ - λ*)|² <= gap |Q|², both in the norm of M⁻¹; 1e-12 for rounding
        assert abs(s.lam[0] - 2 * 0.8 * 9.81) / math.sqrt(2) <= (math.sqrt(2 * max(s.gap, 0)) + 1e-12) * math.sqrt(2) * 9.81 and s.gap < 1e-10
        assert knuckle.certify_frictionless(2 * np.eye(2), [n], 2 * g, s.a, s.lam) == (s.gap, s.overlap)
    assert knuckle.certify_frictionless(2 * np.eye(2), [n], 2 * g, g, [0.0])[1] > 0.1


def test_files_of_problems(tmp_path, command):
    M, q, hi = spd(3), RNG.normal(size=3), [1.0, math.inf, 2.0]
    s = knuckle.solve_lcp(M, q, None, hi)
    path = tmp_path / "p.json"
    knuckle.write_lcp(path, M, q, None, hi, title="three rows", z=s.z)
    for again in (knuckle.read_lcp(path), knuckle.read_lcp("x.json", path.read_bytes())):
        assert np.array_equal(again.M, M) and np.array_equal(again.q, q) and again.hi.tolist() == hi and again.title == "three rows"
    assert json.loads(command("solve", str(path), "--json"))["residual_scaled"] <= 1e-10
    path.write_text('{"M": [[2, 0], [0, 2]], "J": [[0, 1]], "Q": [1, -2]}')
    rest = knuckle.read_lcp(path)
    assert np.array_equal(rest.J, [[0, 1]]) and np.allclose(knuckle.solve_frictionless(rest.M, rest.J, rest.Q).a, [0.5, 0], atol=1e-9)


def test_fclib_files(tmp_path):
    if not knuckle.features()["hdf5"]:
        with pytest.raises(knuckle.UnsupportedError, match="without"):
            knuckle.read_fclib(tmp_path / "a.hdf5")
        pytest.skip("built without HDF5")
    W, q, mu = spd(7), np.array([-1.0, 0.3, -0.2, -0.5, 0.1, 0.4, 0.6]), np.array([0.3, 0.8])
    s = knuckle.solve_cone(W, q, mu, free=1)
    path = tmp_path / "a.hdf5"
    knuckle.write_fclib(path, W, q, mu, free=1, title="two contacts and a hinge", r=s.z)
    for trusted in (False, True):
        f = knuckle.read_fclib(path, trusted=trusted)
        assert type(f) is knuckle.FclibFile and np.array_equal(f.W, W) and np.array_equal(f.q, q) and np.array_equal(f.mu, mu)
        assert (f.dimension, f.free, f.as_stored, f.title) == (3, 1, "local", "two contacts and a hinge")
    assert np.array_equal(knuckle.solve_cone(f.W, f.q, f.mu, dimension=f.dimension, free=f.free).z, s.z)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(knuckle.FileError):
        knuckle.read_fclib(path)


def test_certificates_another_way():
    W = knuckle.rod_compliance([-0.45, 0.45])
    c = knuckle.certify(W, [1.0, 0.0])
    assert knuckle.certify_rho(W, [1.0, 0.0]) == c.rho > 1
    if knuckle.features()["dsdp"]:
        assert np.allclose(knuckle.certify_lmi(W, [1.0, 0.0]), c.e_repaired, atol=1e-5)  # DSDP ends at 1e-6 or so
    else:
        with pytest.raises(knuckle.UnsupportedError):
            knuckle.certify_lmi(W, [1.0, 0.0])


def test_projection():
    """With A of full rank Gauss' principle in closed form: qdd = M⁻¹(u + Aᵀλ), λ = -(A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ u + Ȧv)."""
    M, A, u, b = spd(5), RNG.normal(size=(2, 5)), RNG.normal(size=5), RNG.normal(size=2)
    p = knuckle.Projector(M, A)
    inverse = np.linalg.inv(M)
    lam = -np.linalg.solve(A @ inverse @ A.T, A @ inverse @ u + b)
    c = p.accelerate(u, b)
    assert type(c) is knuckle.Constrained and p.rank == 2 and c.determinate.all()
    # everything here has condition numbers of some 10
    assert np.allclose(c.qdd, inverse @ (u + A.T @ lam), atol=1e-12) and np.allclose(c.lam, lam, atol=1e-11) and np.allclose(c.f, A.T @ lam, atol=1e-11)
    m = p.matrices
    assert type(m) is knuckle.ProjectorMatrices and np.allclose(m.P, np.eye(5) - np.linalg.pinv(A) @ A, atol=1e-12) and np.allclose(m.Mo, m.P @ M @ m.P, atol=1e-11)
    v, e = RNG.normal(size=5), [0.5, 0.2]
    i = p.impact(v, e)
    assert type(i) is knuckle.ProjectionImpact and np.allclose(A @ i.v, -np.diag(e) @ A @ v, atol=1e-12) and abs(i.energy - i.energy_difference) < 1e-11
    assert np.allclose(p.momentum(M @ v, 0.5), M @ p.impact(v, [0.5, 0.5]).v, atol=1e-11)
    twice = knuckle.Projector(M, np.vstack([A, A[:1]]))  # a row given twice: the same motion, its share is open
    c2 = twice.accelerate(u, np.append(b, b[0]))
    assert twice.rank == 2 and np.allclose(c2.qdd, c.qdd, atol=1e-12) and c2.determinate.tolist() == [False, True, False]
    assert knuckle.Projector(M, np.zeros((0, 5))).rank == 0 and p.condition >= 1 and p.lambda_min <= p.nu <= p.lambda_max


def test_batches_are_simulators_without_contact(arm):
    """Every world has the accelerations of its own simulator, to rounding; and one step is semi-implicit Euler."""
    n = 11  # not a multiple of the lanes
    free = knuckle.load("arm.xml", files={"arm.xml": "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1 .2 .3' type='box'/>"
                                          "<body pos='.3 0 0'><joint axis='0 1 0'/><geom size='.05' pos='.2 0 0'/></body></body></worldbody></mujoco>"})
    b, sim = knuckle.Batch(free, n), knuckle.Sim(free)
    q = np.array([free.integrate(sim.q, RNG.normal(size=free.nv)) for _ in range(n)])
    v, tau = RNG.normal(size=(n, free.nv)), RNG.normal(size=(n, free.nv))
    b.set(q=q, v=v, tau=tau)
    assert np.array_equal(b.q, q) and np.array_equal(b.v, v) and np.array_equal(b.tau, tau) and b.worlds == n
    b.forward()
    first = b.qdd
    for w in range(n):
        sim.q, sim.v = q[w], v[w]
        assert np.allclose(first[w], sim.forward_dynamics(tau[w]), rtol=1e-10, atol=1e-10)  # another order of summing
    b.step(0.01)
    assert np.allclose(b.v, v + 0.01 * first, atol=1e-13)
    assert np.allclose(b.q, [free.integrate(q[w], v[w] + 0.01 * first[w], 0.01) for w in range(n)], atol=1e-13)
    b.set(v=np.zeros(free.nv))
    assert not b.v.any() and not b.q.flags.writeable
    with pytest.raises(knuckle.BadArgumentError):
        b.set(q=q[:3])


def test_variations_of_a_model(arm):
    same = arm.vary()
    assert same.hash == arm.hash
    for other in (arm.vary(mass=2.0), pickle.loads(pickle.dumps(arm.vary(mass=2.0)))):
        assert other.mass == pytest.approx(2 * arm.mass, rel=1e-14) and other.hash != arm.hash
    light = arm.vary(gravity=[0, 0, 9.81], friction=0.5, restitution=0.25, body_mass=[1, 2, 3], geom_friction=np.ones(len(arm.geoms)))
    assert np.allclose(light.gravity, 0, atol=1e-15) and light.body(2).mass == pytest.approx(3 * arm.body(2).mass)
    assert light.material("cube", "floor").mu == 0.5 * arm.material("cube", "floor").mu and light.material("cube", "floor").e == 0.25
    scene = knuckle.load("stack")
    assert np.array_equal(knuckle.Sim(scene.vary(mass=1.5)).q, knuckle.Sim(scene).q)
    assert arm.collides("cube", "floor") and not arm.collides("cube", "cube")
    with pytest.raises(knuckle.BadArgumentError):
        arm.vary(mass=-1.0)


def test_what_a_file_says_beside_the_motion():
    text = """<mujoco><visual/><option magnetic="1 2 3"/><worldbody><geom name="f" type="plane" size="1 1 1"/><body name="a" pos="0 0 1"><freejoint/><geom name="g" size=".1"/></body>
<body name="b" pos="1 0 1"><freejoint/><geom name="h" size=".1"/></body></worldbody><contact><pair name="p" geom1="g" geom2="f" friction=".3 .3 0 0 0"/>
<exclude body1="a" body2="b"/></contact></mujoco>"""
    model = knuckle.load("m.xml", files={"m.xml": text})
    (pair,) = model.pairs
    assert type(pair) is knuckle.Pair and {model.geom(pair.a).name, model.geom(pair.b).name} == {"f", "g"} and pair.material.mu == 0.3
    assert [set(x) for x in model.exclusions] == [{0, 1}] and model.magnetic.tolist() == [1, 2, 3]
    assert [(v.name, v.mesh_file) for v in model.visuals] == [("f", ""), ("g", ""), ("h", "")]
    assert knuckle.Spec(magnetic=[4, 5, 6]).compile().magnetic.tolist() == [4, 5, 6]
    urdf = '<robot name="r"><link name="a"><visual><geometry><mesh filename="m.obj" scale="2 2 2"/></geometry></visual></link></robot>'
    files = {"r.urdf": urdf, "m.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"}
    (visual,) = knuckle.load("r.urdf", files=files).visuals
    assert type(visual) is knuckle.Visual and visual.mesh_file == "m.obj" and visual.scale.tolist() == [2, 2, 2]


def test_more_of_a_simulator(sim, arm):
    """Against what the other members give."""
    sim.reset("bent")
    sim.v = RNG.normal(size=arm.nv)
    point = [0.1, 0.2, 0.3]
    assert np.allclose(sim.body_velocity("fore", point), sim.jacobian("fore", point) @ sim.v, atol=1e-13)
    diagonal, pivots = sim.mass_pivots
    assert np.allclose(diagonal, np.diag(sim.mass_matrix), rtol=1e-12) and np.prod(pivots) == pytest.approx(np.linalg.det(sim.mass_matrix), rel=1e-10)
    sizes = {name: arm.formulation_size(name, 3, 4) for name in knuckle.choices("formulation")}
    assert all(n > 0 for n in sizes.values()) and sizes["os"] < sizes["nmc"]
    twin = sim.copy()
    twin.step()
    sim.step_for(sim.settings.dt)
    assert twin.hash == sim.hash and twin.summary == sim.summary
    sim.step_for(3e-4)
    assert sim.time == pytest.approx(twin.time + 3e-4, abs=1e-15) and sim.summary.steps == 2


@pytest.mark.parametrize("method, order", [("euler", 1), ("midpoint", 2), ("rk4", 4)])
def test_smooth_motion_has_its_order(method, order):
    """A pendulum's end after 1 s: halving the step divides the error by 2^order."""
    spec = knuckle.Spec("pendulum")
    spec.body("bob", mass=1.0, inertia=[1, 1, 1], com=[1, 0, 0])
    spec.joint("pin", body="bob", axis=[0, 1, 0])
    model = spec.compile()

    def end(n: int, how: str = method) -> float:
        sim = knuckle.Sim(model)
        for _ in range(n):
            sim.integrate_smooth(1.0 / n, how)
        return float(sim.q["pin"])

    exact = end(4000, "rk4")
    ratio = math.log2(abs(end(50) - exact) / abs(end(100) - exact))
    assert order - 0.2 < ratio < order + 0.2, ratio


def test_smooth_motion_by_sundials(sim):
    if knuckle.features()["sundials"]:
        twin = sim.copy()
        sim.integrate_smooth(0.05, "adaptive", rtol=1e-10, atol=1e-12)
        for _ in range(500):
            twin.integrate_smooth(1e-4)
        assert np.allclose(sim.q, twin.q, atol=1e-8)
    else:
        with pytest.raises(knuckle.UnsupportedError):
            sim.integrate_smooth(0.05, "adaptive")


def test_lists_and_recordings(tmp_path):
    for kind in ("formulation", "law", "compliant_law", "stepper", "solver", "fast", "frictionless", "check", "sensor", "trouble"):
        assert all(name and doc for name, doc in knuckle.choices(kind).items()) and knuckle.choices(kind), kind
    assert len(knuckle.choices("sensor")) == len(knuckle.SensorType)
    sim = knuckle.Sim(knuckle.load("stack"))
    with knuckle.record(sim, tmp_path / "a.mcap") as rec:
        rec.step(20)
    read = knuckle.read(tmp_path / "a.mcap")
    assert read.model_hash == sim.model.hash and read.every == 1 and knuckle.verify(read, without=["energy"])
    assert any(s.startswith("energy: ") for s in knuckle.verify(read, without="energy").skipped)
    with pytest.raises(knuckle.NotFoundError):
        knuckle.verify(read, without=["beauty"])
    sunk = knuckle.Sim(knuckle.load("stack"))
    sunk.q[2] -= 0.03
    trouble = sunk.run(0.01).troubles[0]
    assert trouble.unit and all(isinstance(b, str) and b for b in trouble.worst.bodies)
