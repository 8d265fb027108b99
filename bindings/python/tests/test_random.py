"""Random arguments for the public functions: an exception of our own or an answer, never a crash, and the state is finite."""

import math

import knuckle
import numpy as np
from conftest import ARM
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

FEW = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
MODEL = knuckle.load("arm.xml", files={"arm.xml": ARM})
SIM = knuckle.Sim(MODEL)
numbers = st.floats(allow_nan=True, allow_infinity=True)
moderate = st.floats(-1e3, 1e3)
anything = st.one_of(st.none(), st.integers(), numbers, st.text(max_size=8), st.binary(max_size=8), st.lists(numbers, max_size=9),
                     hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4), elements=numbers))
EXPECTED = (knuckle.KnuckleError, TypeError, ValueError, IndexError, OverflowError)


def quiet(fn, *args, **kwargs):
    try:
        return fn(*args, **kwargs)
    except EXPECTED:
        return None


@FEW
@given(anything, st.sampled_from(["q", "v", "ctrl", "force", "time"]))
def test_state_takes_numbers_only(value, name):
    state = knuckle.State(MODEL)
    quiet(setattr, state, name, value)
    assert all(np.isfinite(a).all() for a in (state.q, state.v, state.ctrl, state.force)) and math.isfinite(state.time)


@FEW
@given(hnp.arrays(np.float64, MODEL.nq, elements=moderate), hnp.arrays(np.float64, MODEL.nv, elements=moderate),
       hnp.arrays(np.float64, MODEL.nu, elements=moderate))
def test_any_finite_state_steps_or_says_why(q, v, ctrl):
    SIM.reset()
    SIM.q, SIM.v, SIM.ctrl = q, v, ctrl
    quiet(SIM.step, 3)
    assert np.isfinite(SIM.q).all() and np.isfinite(SIM.v).all()
    quiet(lambda: (SIM.report, SIM.contacts, SIM.forces, SIM.energy, SIM.momentum, SIM.body_poses))


@FEW
@given(anything, anything)
def test_functions_of_a_simulator(a, b):
    SIM.reset()
    for call in (SIM.rollout, SIM.jacobian, SIM.forward_dynamics, SIM.inverse_dynamics, SIM.near, SIM.restore, SIM.reset, MODEL.body, MODEL.joint,
                 MODEL.geom, MODEL.frame, MODEL.actuator, MODEL.loop, MODEL.triangles):
        quiet(call, a)
    quiet(SIM.jacobian, "fore", a)
    quiet(SIM.compliance, ("fore", a), (b, [0, 0, 0]))
    quiet(SIM.rollout, a, force=b)
    quiet(MODEL.material, a, b)
    quiet(MODEL.integrate, a, b)
    quiet(MODEL.difference, a, b)
    quiet(SIM.solve_mass, a)
    quiet(SIM.jacobian_bias, "fore", a)
    quiet(SIM.q.__getitem__, a)
    if not (isinstance(a, int) and a > 1000) and not isinstance(a, bytes):
        quiet(SIM.step, a)
    SIM.reset()
    SIM.step(2)
    assert np.isfinite(SIM.q).all()


@FEW
@given(st.dictionaries(st.sampled_from([f for f in knuckle.Settings.__dataclass_fields__]), anything, max_size=3))
def test_settings_are_checked(changes):
    if isinstance(changes.get("max_contacts"), int) and changes["max_contacts"] > 2000:
        return  # takes long, not wrong
    sim = quiet(knuckle.Sim, MODEL, **changes)
    if sim is not None:
        quiet(sim.step, 2)
        assert np.isfinite(sim.q).all()


@FEW
@given(anything, anything, anything)
def test_problems(a, b, c):
    quiet(knuckle.solve_lcp, a, b, c)
    quiet(knuckle.solve_cone, a, b, c)
    quiet(knuckle.certify, a, b)
    quiet(knuckle.is_p_matrix, a)
    quiet(knuckle.enumerate_lcp, a, b)
    quiet(knuckle.rod_compliance, a)


@FEW
@given(st.integers(1, 5), st.data())
def test_square_problems_are_answered(n, data):
    # whole numbers: the judge's scaled residual is relative, and beside entries 1e10 times larger a row may be off by 1
    element = st.integers(-9, 9).map(float)
    M = data.draw(hnp.arrays(np.float64, (n, n), elements=element))
    q = data.draw(hnp.arrays(np.float64, n, elements=element))
    s = quiet(knuckle.solve_lcp, M, q)
    if s is not None and s.solved:
        w = M @ s.z + q
        scale = 1 + np.abs(M).max() * np.abs(s.z).max() + np.abs(q).max()
        # the judge's 1e-10, and S between 1/3 and some hundred for such entries
        assert (s.z >= -1e-7 * scale).all() and (w >= -1e-7 * scale).all() and np.abs(np.minimum(s.z, w)).max() <= 1e-6 * scale
    quiet(knuckle.is_p_matrix, M)
    quiet(knuckle.enumerate_lcp, M, q)
    quiet(knuckle.certify, M @ M.T, np.clip(q, 0, 1))


@FEW
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_files_of_any_content(content):
    quiet(knuckle.load, "a.xml", files={"a.xml": content})
    quiet(knuckle.load, "a.urdf", files={"a.urdf": content})
    if isinstance(content, bytes):
        quiet(knuckle.Model.from_bytes, content)
        quiet(SIM.restore, content)


BALL, BOX, HULL = knuckle.Shape("sphere", [0.1]), knuckle.Shape("box", [0.1, 0.2, 0.3]), knuckle.Shape("hull", points=np.vstack([np.eye(3), -np.eye(3)]))
BATCH = knuckle.Batch(MODEL, 3)
finite = st.floats(-1e6, 1e6)
triple = hnp.arrays(np.float64, 3, elements=finite)


def all_finite(*values):
    assert all(np.isfinite(np.asarray(x, dtype=np.float64)).all() for x in values)


@FEW
@given(anything, anything, anything)
def test_shapes_of_any_arguments(a, b, c):
    for kind in ("box", "hull", "mesh", a):
        quiet(knuckle.Shape, kind, b, points=b, triangles=c)
        quiet(knuckle.Shape, kind, b)
    quiet(knuckle.distance, BALL, a, BOX, b)
    quiet(knuckle.distance, a, b, c, None)
    quiet(knuckle.manifold_query, BALL, a, BOX, b, c)
    quiet(knuckle.ray_cast, BOX, a, b, c)
    quiet(knuckle.support, BOX, a, b)
    quiet(knuckle.shape_box, a, b)
    quiet(knuckle.shape_massprops, BOX, a, shell=b)
    quiet(knuckle.principal_axes, a)
    quiet(knuckle.line_ellipse, a, b, c, a, b)
    quiet(knuckle.Pose.of, a, b)
    quiet(knuckle.Pose(np.eye(3), np.zeros(3)).apply, a)
    if not (isinstance(c, float) and c > 1e3):
        quiet(knuckle.time_of_impact, BALL, knuckle.Sweep(a, v=b), BOX, knuckle.Sweep([1, 0, 0], w=b, centre=a), c, max_steps=100)
    quiet(knuckle.time_of_impact, BALL, a, BOX, b, 1.0, tolerance=c)
    quiet(lambda: knuckle.Sweep(a, b, c).pose(0.1))
    quiet(knuckle.MeshData.of, a, b)
    quiet(knuckle.read_mesh, a)
    quiet(knuckle.Broad, a, b, margins=c)
    quiet(knuckle.Broad([BALL, BOX]).update, a, b)
    quiet(knuckle.Broad([BALL, BOX]).update_boxes, a)
    quiet(MODEL.shape, a)
    quiet(MODEL.collides, a, b)
    quiet(MODEL.formulation_size, "os", a, b)


@FEW
@given(triple, triple, triple, triple, st.sampled_from([BALL, BOX, HULL]), st.sampled_from([BALL, BOX, HULL]))
def test_shapes_anywhere_give_numbers(p, r, v, w, a, b):
    pose = quiet(knuckle.Pose.of, p, np.append(r, 1.0))
    d = knuckle.distance(a, pose, b, r)
    all_finite(d.gap, d.normal, d.on_a, d.on_b)
    all_finite(knuckle.manifold_query(a, pose, b, r, 1.0).gap)
    hit = quiet(knuckle.ray_cast, a, pose, r, v)
    if hit is not None:
        all_finite(hit.t, hit.point, hit.normal)
    i = quiet(knuckle.time_of_impact, a, knuckle.Sweep(pose, v=v, w=w), b, knuckle.Sweep(r), 1.0, max_steps=50)
    if i is not None:
        all_finite(i.t, i.distance.gap)


@FEW
@given(anything, anything, anything)
def test_more_problems(a, b, c):
    quiet(knuckle.lcp_residual, a, b, c)
    quiet(knuckle.problem_error, a, b, c, a)
    quiet(knuckle.problem_error, np.eye(3), [0, 0, 0], a, b, free=c)
    quiet(knuckle.solve_qp, a, b, c)
    quiet(knuckle.solve_qp, np.eye(2), a, np.eye(2), b, c)
    quiet(knuckle.qp_residual, np.eye(2), a, np.eye(2), b, c, a, b)
    quiet(knuckle.solve_frictionless, a, b, c)
    quiet(knuckle.solve_frictionless, np.eye(2), a, b, c)
    quiet(knuckle.certify_frictionless, np.eye(2), np.eye(2), a, b, c)
    quiet(knuckle.certify_rho, a, b)
    quiet(knuckle.certify_lmi, a, b)
    quiet(knuckle.read_fclib, a)
    quiet(knuckle.write_lcp, "/nowhere/x.json", a, b, c)
    quiet(knuckle.write_fclib, "/nowhere/x.hdf5", np.eye(3), a, b, r=c)
    quiet(knuckle.Projector, a, b, c)
    p = knuckle.Projector(np.eye(3), np.ones((1, 3)))
    quiet(p.accelerate, a, b)
    quiet(p.impact, a, b, c)
    quiet(p.momentum, a, b, c)
    quiet(BATCH.set, q=a, v=b, tau=c)
    quiet(BATCH.step, a)
    all_finite(BATCH.v, BATCH.tau)
    quiet(knuckle.Batch, a, b)
    quiet(MODEL.vary, mass=a, friction=b, gravity=c)
    quiet(MODEL.vary, body_mass=a, geom_friction=b, size=c)
    quiet(knuckle.choices, a)
    SIM.reset()
    quiet(SIM.body_velocity, "fore", a)
    quiet(SIM.step_for, a)
    quiet(SIM.integrate_smooth, a, "rk4")
    quiet(SIM.integrate_smooth, 1e-3, b, rtol=c)
    all_finite(SIM.q, SIM.v)


@FEW
@given(st.binary(max_size=200), st.sampled_from(["a.obj", "a.stl", "a.json", "a.dat", "a.lcp"]))
def test_bytes_of_files(data, name):
    quiet(knuckle.read_mesh, name, data)
    quiet(knuckle.read_lcp, name, data)


@FEW
@given(st.text(max_size=20), anything, anything, anything)
def test_builder(name, a, b, c):
    spec = knuckle.Spec()
    quiet(spec.body, name, pos=a, mass=b, inertia=c)
    quiet(spec.body, "x")
    quiet(spec.joint, name, body=a, type=b, axis=c)
    quiet(spec.joint, "j", body="x", axis=a, range=b, damping=c)
    quiet(spec.geom, name, body="x", type=a, size=b, pos=c)
    quiet(spec.geom, name, body="x", type="hull", points=a)
    quiet(spec.actuator, name, joint="j", gear=a, ctrl_range=b)
    quiet(spec.loop, name, a="x", pos_a=a, length=b, coef=c)
    quiet(spec.keyframe, name, q=a, time=b)
    quiet(spec.frame, name, body="x", pos=a, quat=b)
    model = quiet(spec.compile)
    if model is not None:
        quiet(knuckle.Sim(model).step, 2)


@FEW
@given(anything, anything)
def test_pools_views_and_questions(a, b):
    with knuckle.Pool(MODEL, 2, threads=1) as pool:
        if not (isinstance(a, int) and a > 100):
            quiet(pool.step, a, b)
        quiet(pool.step, 2, a, force=b)
        for call in (pool.world, pool.hash, pool.reset):
            quiet(call, a)
        quiet(pool.linearize, a, b)
        quiet(pool.put, a, b)
        pool.reset()
        pool.step(2)
        assert np.isfinite(pool.q).all()
    if isinstance(a, (str, bytes)) or (isinstance(a, float) and not a > 0.01):  # others may ask for a long run, which is not wrong
        quiet(knuckle.view, SIM, a)
    quiet(knuckle.view, a)
    quiet(knuckle.Ranges, mass=a, friction=b)
    quiet(knuckle.choices, a)
    quiet(knuckle.read, a)
    quiet(knuckle.verify, a)
    quiet(knuckle.read_lcp, a)
    quiet(knuckle.load, "robot.urdf", files={"robot.urdf": "<robot name='r'><link name='a'/></robot>"}, drop=a, mu=b)


MESH = knuckle.MeshData.of(np.vstack([np.eye(3), np.zeros(3)]), [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
SURFACE = knuckle.Shape("mesh", points=MESH.vertices, triangles=MESH.triangles)


def short(value) -> bool:
    """Not a number that asks for a long run, which is not wrong."""
    return not (isinstance(value, (int, float)) and value > 0.01) and not isinstance(value, (np.ndarray, list))


@FEW
@given(anything, anything)
def test_what_is_left(a, b):
    for call in (knuckle.diagnose, knuckle.mode_matrix, knuckle.compare, knuckle.certify_impact, knuckle.plot, MODEL.sensor, MODEL.bodies.index_of,
                 MESH.scale, MESH.transform, MESH.weld, SURFACE.overlap, knuckle.State(MODEL).load_bytes, knuckle.State(MODEL).assign):
        quiet(call, a)
        quiet(call, a, b)
    if short(b):
        quiet(knuckle.compare, MODEL, b)
        quiet(knuckle.certify_impact, SIM, a, seconds=b)
        quiet(SIM.run, b, a)
    SIM.reset()
    quiet(MESH.massprops, a, "exact")
    quiet(MESH.massprops, 1.0, b)
    quiet(knuckle.MassProps(a, b, a).move, b)
    quiet(lambda: knuckle.MassProps(1.0, a, b) + knuckle.MassProps(a, [0, 0, 0], [1, 1, 1, 0, 0, 0]))
    quiet(knuckle.Broad([BALL, BOX]).query, a, b)
    quiet(knuckle.Settings().with_, dt=a, law=b)
    quiet(knuckle.record, a, "/nowhere/a.mcap")
    quiet(knuckle.record, SIM, "/nowhere/a.mcap", every=a, level=b)
    quiet(knuckle.fit, a, program="/bin/false")
    quiet(knuckle.sweep, a, options=b, program="/bin/false")
    quiet(knuckle.view(SIM, 0.0).save, a if isinstance(a, (int, float, list, type(None))) else "/nowhere/a.html")
    spec = knuckle.Spec()
    for name in "xy":
        spec.body(name)
        spec.geom(name, body=name, size=[0.1])
    quiet(spec.sensor, "s", type=a, body=b)
    quiet(spec.sensor, "s", type="frame_pos", body="x", cutoff=a)
    quiet(spec.pair, a, b)
    quiet(spec.pair, "x", "y", margin=a, condim=b)
    quiet(spec.exclude, a, b)
    quiet(spec.compile)


def test_recordings_of_any_question(tmp_path):
    with knuckle.record(SIM, tmp_path / "a.mcap") as rec:
        rec.step(5)
        for a in (None, "x", -1.0, math.nan, math.inf, [], 0.0):
            quiet(rec.run, a)
    r = knuckle.read(tmp_path / "a.mcap")

    @FEW
    @given(anything)
    def ask(a):
        quiet(r.column, a)
        quiet(r.loads, a)
        quiet(r.plot, a)
        quiet(next(r.loads()).on, a)
        quiet(r.__getitem__, a)

    ask()


def test_no_function_is_left_out():
    """Every public function, and every method that takes something."""
    import enum
    import inspect
    import re
    from pathlib import Path

    text = Path(__file__).read_text()
    without = {"features", "lcp_solvers", "scenes"}  # take nothing
    left = [n for n in knuckle.__all__ if inspect.isfunction(getattr(knuckle, n)) and n not in without and not re.search(rf"knuckle\.{n}\b", text)]
    for name in knuckle.__all__:
        kind = getattr(knuckle, name)
        if inspect.isclass(kind) and not issubclass(kind, enum.Enum):
            for key, value in vars(kind).items():
                fn = value.__func__ if isinstance(value, staticmethod) else value
                takes = not key.startswith("_") and inspect.isfunction(fn) and len(inspect.signature(fn).parameters) > (not isinstance(value, staticmethod))
                if takes and not re.search(rf"\.{key}\b", text):
                    left.append(f"{name}.{key}")
    assert left == []
