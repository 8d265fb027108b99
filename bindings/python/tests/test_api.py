"""Everything else: the builder, the questions, reprs, and that names, docs and types are complete."""

import ast
import dataclasses
import inspect
import json
from pathlib import Path

import knuckle
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_every_public_name_is_documented_and_typed():
    page = (ROOT / "docs/python.md").read_text()
    for name in knuckle.__all__:
        thing = getattr(knuckle, name)
        assert f"`{name}" in page or f"{name}(" in page, f"{name} is not in docs/python.md"
        if name != "Controller":
            assert inspect.getdoc(thing), f"{name} has no docstring"
        if inspect.isfunction(thing):
            typed(thing)
        if inspect.isclass(thing):
            for key, member in vars(thing).items():
                member = member.fget if isinstance(member, property) else member
                if not key.startswith("_") and inspect.isfunction(member):
                    typed(member)
                    assert inspect.getdoc(member), f"{name}.{key} has no docstring"
    public = {n for n in dir(knuckle) if not n.startswith("_")}
    modules = {p.stem for p in Path(knuckle.__file__).resolve().parent.glob("*.py")} | {"envs"}
    assert public - modules - {"annotations"} == set(knuckle.__all__) - modules


def typed(fn) -> None:
    signature = inspect.signature(fn)
    for p in signature.parameters.values():
        assert p.name in ("self", "cls") or p.annotation is not p.empty, f"{fn.__qualname__}: {p.name} has no type"
    assert signature.return_annotation is not signature.empty, f"{fn.__qualname__} has no return type"


def test_enums_are_those_of_c():
    from knuckle._kn import ffi, lib

    for s in knuckle.Status:
        assert ffi.string(lib.kn_status_name(s)).decode() == s.name
    assert len(knuckle.SensorType) == lib.KN_SENSOR_TYPE_COUNT
    assert len(knuckle.Status) == lib.KN_STATUS_COUNT and len(knuckle.JointType) == lib.KN_JOINT_TYPE_COUNT
    for kind, prefix in ((knuckle.JointType, "KN_JOINT_"), (knuckle.ShapeType, "KN_SHAPE_"), (knuckle.LoopType, "KN_LOOP_"), (knuckle.SensorType, "KN_SENSOR_"),
                         (knuckle.Mode, "KN_MODE_"), (knuckle.Answer, "KN_ANSWER_"), (knuckle.VerdictKind, "KN_VERDICT_")):
        for e in kind:
            assert getattr(lib, prefix + e.name) == e


def test_settings_are_those_of_c(arm):
    from knuckle._kn import ffi, lib

    c = lib.kn_sim_default()
    names = {n for n, _ in ffi.typeof(c).fields} - {"restitution", "restitution_context"}
    assert names == {f.name for f in dataclasses.fields(knuckle.Settings)}
    assert knuckle.Settings() == knuckle.Settings.of(arm).with_(dt=knuckle.Settings().dt)


def test_structs_are_laid_out_as_the_compiler_has_them():
    from knuckle._kn import ffi
    from knuckle.report import CONTACT

    for name, info in ffi.typeof("kn_contact").fields:
        assert CONTACT.fields[name][1] == info.offset and CONTACT.fields[name][0].itemsize == ffi.sizeof(info.type)
    assert CONTACT.itemsize == ffi.sizeof("kn_contact")


def test_builder_makes_the_model_of_the_file():
    spec = knuckle.Spec("pendulum")
    spec.body("bob", pos=[0, 0, 1], mass=2.0, com=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    spec.joint("pin", body="bob", axis=[0, 1, 0], range=[-1, 1], damping=0.1)
    spec.geom("ball", body="bob", size=0.1, pos=[0, 0, -0.5], mass=0, material=knuckle.Material(mu=0.5, e=0.3))
    spec.geom("floor", type="plane")
    spec.frame("tip", body="bob", pos=[0, 0, -0.6])
    spec.actuator("motor", joint="pin", gear=3)
    spec.keyframe("high", q=[0.7])
    text = """<mujoco model="pendulum"><compiler angle="radian"/><worldbody><body name="bob" pos="0 0 1">
      <inertial mass="2" pos="0 0 -.5" diaginertia=".1 .1 .01"/><joint name="pin" axis="0 1 0" range="-1 1" limited="true" damping=".1"/>
      <geom name="ball" size=".1" pos="0 0 -.5"/></body></worldbody><actuator><motor joint="pin" gear="3"/></actuator></mujoco>"""
    model, other = spec.compile(), knuckle.load("p.xml", files={"p.xml": text})
    a, b = knuckle.Sim(model), knuckle.Sim(other, dt=1e-3)  # MJCF's own default is 2 ms
    a.reset("high")
    b.q[:] = 0.7
    a.step(100)
    b.step(100)
    # the same mechanism; MJCF's own defaults for friction differ, and nothing touches
    assert np.allclose(a.q, b.q, rtol=0, atol=1e-12)
    assert model.joint("pin").damping == 0.1 and model.geom("ball").material.e == 0.3 and model.frame("tip").pos[2] == -0.6
    assert model.actuators["motor"].gear == (3.0,) and model.keyframes[0].q[0] == 0.7 and model.material("ball", "floor").e == 0.3
    assert [j.name for j in model.joints] == ["pin"] and model.bodies.names == ["bob"] and model.body(-1).id == 0


def test_hull_mesh_loop_and_pair():
    spec = knuckle.Spec()
    for i, name in enumerate("ab"):
        spec.body(name, pos=[i, 0, 2])
        spec.joint(f"free {name}", body=name, type="free")
        spec.geom(f"hull {name}", body=name, type="hull", points=np.array(np.meshgrid([-0.1, 0.1], [-0.1, 0.1], [-0.1, 0.1])).reshape(3, -1).T)
    spec.geom("ground", type="mesh", points=[[-9, -9, 0], [9, -9, 0], [0, 9, 0]], triangles=[[0, 1, 2]])
    spec.loop("rod", type="distance", a="a", b="b")
    spec.pair("hull a", "ground", material=knuckle.Material(mu=0.2))
    spec.exclude("a", "b")
    model = spec.compile()
    points, triangles = model.triangles("hull a")
    assert points.shape == (8, 3) and triangles.shape == (12, 3) and model.triangles("ground")[1].tolist() == [[0, 1, 2]]
    assert abs(model.mass - 2 * 8.0) < 1e-9 and model.loop("rod").type == knuckle.LoopType.DISTANCE
    sim = knuckle.Sim(model)
    sim.run(1.0)
    p = sim.body_poses.p
    assert abs(np.linalg.norm(p[0] - p[1]) - 1.0) < 1e-6 and abs(p[0][2] - 0.1) < 1e-3  # the rod holds; both lie on the ground
    with pytest.raises(knuckle.BadArgumentError, match="expected a hull"):
        knuckle.load("stack").triangles("floor")


def test_reports_read_well(sim):
    sim.step(600)
    text, run = str(sim.report), str(sim.run(0.0))
    assert "residual" in text and "energy" in text and "hash " + sim.hash in run
    assert abs(sim.report.total.balance) < 1e-6 * abs(sim.report.rise.scale)
    for thing in (sim, sim.model, sim.report, sim.state, sim.contacts, sim.rollout(steps=3), sim.model.bodies, sim.settings, knuckle.Spec()):
        assert len(repr(thing)) > 10 and "object at 0x" not in repr(thing)
    assert "shoulder" in sim.model._repr_html_() and "<table" in sim.report._repr_html_() and "<table" in sim._repr_html_()
    assert sim.near(0.5).dtype == sim.contacts.dtype and sim.passive_force.shape == (8,)


def test_troubles_are_told(arm):
    sim = knuckle.Sim(arm, max_contacts=0)
    assert sim.summary.troubles == ()
    stack = knuckle.Sim(knuckle.load("stack"))
    stack.q[2] -= 0.03  # the lowest box begins 3 cm in the floor
    run = stack.run(0.01)
    assert run.troubles and "start-repaired" in str(run)
    for t in run.troubles:
        assert t.count > 0 and t.sentence and t.advice and t.worst.trouble == t.kind


def test_compare_and_diagnose(command):
    result = knuckle.compare(knuckle.load("pendulum-2014"), 0.3)
    rows = {r["formulation"]: r for r in json.loads(command("compare", "pendulum-2014", "--time", "0.3", "--json"))["rows"]}
    for t in result.trials:
        assert t.dv_max == rows[t.formulation]["dv_max"] and t.lcp_size == rows[t.formulation]["lcp_size"]
    assert result.dv_max < 1e-6 and "nmc" in str(result)
    sim = knuckle.Sim(knuckle.load("stack"))
    sim.run(0.5)
    before = sim.hash
    d = knuckle.diagnose(sim)
    assert d.verdict.kind == knuckle.VerdictKind.MOTION_UNIQUE and len(d.contacts) == 40 and sim.hash == before
    m = knuckle.mode_matrix(sim)
    assert m.A.shape == (len(m.b),) * 2


def test_painleve_has_no_solution_or_several():
    sim = knuckle.Sim(knuckle.load("painleve-rod"))
    d = knuckle.diagnose(sim)  # slides with mu above the critical value: no rigid force exists
    assert d.verdict.kind == knuckle.VerdictKind.NONE and d.verdict.exists == knuckle.Answer.NO and d.verdict.failing_minor == (0,)
    assert "no solution" in str(d)
    several = knuckle.diagnose(knuckle.Sim(knuckle.load("painleve-rod", mu=1.6, rate=6.5)))
    assert several.verdict.kind in (knuckle.VerdictKind.SEVERAL, knuckle.VerdictKind.MOTION_UNIQUE)


def test_certificates(command):
    W = knuckle.rod_compliance([-0.45, 0.45])
    # a uniform rod: W_ij = 1/m + 12 x_i x_j / (m l²)
    assert np.allclose(W, 1 + 12 * np.outer([-0.45, 0.45], [-0.45, 0.45]), rtol=1e-14)
    c = knuckle.certify(W, [1.0, 0.0])
    said = json.loads(command("certify", "rod", "--contacts", "-0.45,0.45", "--e", "1,0", "--json", "-o", "none"))
    assert not c.consistent and c.rho == said["rho"] and "1 J" in str(c)
    phi = np.asarray(c.velocity)
    Q, E = np.linalg.inv(W), np.diag([1.0, 0.0])
    assert abs(phi @ E @ Q @ E @ phi / (phi @ Q @ phi) - c.rho) < 1e-12
    assert knuckle.certify(W, c.e_repaired * (1 - 1e-9)).consistent and knuckle.certify(W, [0.5, 0.5], repair="mean").consistent
    impact = knuckle.certify_impact(knuckle.Sim(knuckle.load("newton-cradle")))
    assert impact.W.shape == (len(impact.e),) * 2 and len(impact.names) == len(impact.e)
    with pytest.raises(knuckle.BadArgumentError):
        knuckle.certify(W, [1.0, 2.0])
    with pytest.raises(knuckle.NotFoundError):
        knuckle.certify_impact(knuckle.Sim(knuckle.load("pendulum-2014")), seconds=0.01)


def test_complementarity_problems(tmp_path):
    rng = np.random.default_rng(1)
    for n in (1, 3, 8):
        B = rng.normal(size=(n, n))
        M, q = B @ B.T + 0.1 * np.eye(n), rng.normal(size=n)
        s = knuckle.solve_lcp(M, q)
        assert s.solved and s.verdict.kind == knuckle.VerdictKind.UNIQUE and s.determinate.all()
        # judged here once more: 0 <= z ⊥ w >= 0
        assert (s.z >= -1e-12).all() and (s.w >= -1e-9).all() and abs(s.z @ s.w) < 1e-8 and s.residual < 1e-10
        assert knuckle.is_p_matrix(M) and len(knuckle.enumerate_lcp(M, q)) == 1
        for solver in knuckle.lcp_solvers():
            other = knuckle.solve_lcp(M, q, solver=solver)
            assert not other.solved or np.allclose(other.z, s.z, atol=1e-6 * (1 + np.abs(s.z).max()))
    none = knuckle.solve_lcp([[0.0]], [-1.0])
    assert none.status == knuckle.Status.NO_SOLUTION and none.verdict.kind == knuckle.VerdictKind.NONE
    several = knuckle.enumerate_lcp([[1, 2], [2, 1]], [-1, -1])
    assert len(several) == 3 and several.complete and not knuckle.is_p_matrix([[1, 2], [2, 1]])
    box = knuckle.solve_lcp(np.eye(2), [-5.0, 0.2], lo=[0, -1], hi=[1, 1])
    assert np.allclose(box.z, [1.0, -0.2])
    slide = knuckle.solve_cone(np.eye(3), [-1.0, 0.5, 0.0], 0.3)
    assert slide.solved and np.allclose(slide.z, [1.0, -0.3, 0.0]) and np.allclose(slide.w, [0.0, 0.2, 0.0])
    stick = knuckle.solve_cone(np.eye(2), [-1.0, 0.5], [0.8], dimension=2)
    assert np.allclose(stick.z, [1.0, -0.5]) and np.allclose(stick.w, 0.0)
    for solver in knuckle.choices("solver"):
        r = knuckle.solve_cone(np.eye(3), [-1.0, 0.5, 0.0], 0.3, solver=solver)
        assert not r.solved or np.allclose(r.z, slide.z, atol=1e-8)
    with pytest.raises(knuckle.NotFoundError):
        knuckle.solve_lcp([[1.0]], [1.0], solver="magic")
    path = tmp_path / "p.json"
    path.write_text('{"M": [[2, 1], [1, 2]], "q": [-1, -1]}')
    assert knuckle.read_lcp(str(path)).M.tolist() == [[2, 1], [1, 2]]


def test_recordings_as_tables(tmp_path, sim):
    with knuckle.record(sim, tmp_path / "a.mcap", every=2) as rec:
        rec.run(0.1)
        assert rec.bytes_written >= 0
    r = knuckle.read(tmp_path / "a.mcap")
    assert len(r) == 25 and r["t"].shape == (25,) and r["v.float.2"].shape == (25,) and r.settings["stepper"] == "time"
    assert [s.step for s in r[:3]] == sorted(s.step for s in r[:3]) and r[-1].q["elbow"] == r["q.elbow"][-1]
    with pytest.raises(knuckle.NotFoundError, match="energy"):
        r["energi"]
    pandas = pytest.importorskip("pandas")
    frame = r.pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == r.names[1:]
    pytest.importorskip("xarray")
    assert float(r.xarray()["energy"][-1]) == r["energy"][-1]
    pytest.importorskip("matplotlib")
    r.plot("energy", "q.elbow").savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_readme_snippets_run(tmp_path, capsys):
    for page in ("bindings/python/README.md", "README.md"):
        text = (ROOT / page).read_text()
        blocks = [b.split("```")[0] for b in text.split("```python\n")[1:]]
        assert blocks, f"{page} has no Python"
        for block in blocks:
            ast.parse(block)
            exec(block, {})
    assert "hash" in capsys.readouterr().out


def test_features_and_choices():
    assert set(knuckle.features()) >= {"qhull", "record", "zstd", "fyaml", "hdf5"} and knuckle.features()["record"]
    assert "os" in knuckle.choices("formulation") and "time" in knuckle.choices("stepper") and "poisson" in knuckle.choices("law")
    with pytest.raises(knuckle.BadArgumentError):
        knuckle.choices("colour")
