"""Shapes without a model, against closed forms: distances, contact points, rays, times of impact, boxes, masses, meshes, broad phase."""

import math
import pickle

import knuckle
import numpy as np
import pytest

BALL, BOX = knuckle.Shape("sphere", [0.5]), knuckle.Shape("box", [1.0, 2.0, 3.0])
PLANE = knuckle.Shape("plane")
CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
# two triangles a side, counter-clockwise from outside
SIDES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
EXACT = 1e-14  # some roundings of numbers of size 1


def turned(angle: float, p=(0.0, 0.0, 0.0)) -> knuckle.Pose:
    """About z."""
    return knuckle.Pose.of(p, [math.cos(angle / 2), 0, 0, math.sin(angle / 2)])


def test_distance_of_spheres_and_boxes():
    """Two spheres: |d| - r - r. A sphere and a box turned by 45°: along the box's axis, signed through touching."""
    d = knuckle.distance(BALL, [3.0, 4.0, 0.0], BALL, None)
    assert type(d) is knuckle.Distance and abs(d.gap - 4.0) < EXACT and np.allclose(d.normal, [0.6, 0.8, 0], atol=EXACT)
    assert np.allclose(d.on_a - d.on_b, d.gap * d.normal, atol=EXACT)
    for far in (3.0, 1.5, 1.2):
        along = np.array([math.cos(0.7), math.sin(0.7), 0.0])
        d = knuckle.distance(BALL, far * along, BOX, turned(0.7))
        assert abs(d.gap - (far - 1.5)) < 1e-12 and np.allclose(d.normal, along, atol=1e-12)  # GJK ends at 1e-13 of the sizes
    with pytest.raises(knuckle.UnsupportedError):
        knuckle.distance(PLANE, None, PLANE, [0, 0, 1])


def test_contact_points_of_a_box_on_a_plane():
    m = knuckle.manifold_query(BOX, [0, 0, 2.9], PLANE, None)
    assert type(m) is knuckle.Manifold and len(m) == 4 and np.allclose(m.gap, -0.1, atol=EXACT) and len(set(m.key.tolist())) == 4
    assert sorted(map(tuple, np.sign(m.on_a[:, :2]).tolist())) == [(-1, -1), (-1, 1), (1, -1), (1, 1)] and np.allclose(m.normal, [0, 0, 1])
    assert np.allclose(m.on_a - m.on_b, m.gap[:, None] * m.normal, atol=EXACT)
    assert len(knuckle.manifold_query(BOX, [0, 0, 3.5], PLANE, None)) == 0 and len(knuckle.manifold_query(BOX, [0, 0, 3.5], PLANE, None, margin=0.6)) == 4


def test_rays():
    """A sphere: t = (c - sqrt(r² - b²)) / |d| with b the distance of the ray from the centre."""
    hit = knuckle.ray_cast(BALL, [5, 0.3, 0], [0, 0, 0], [2, 0, 0])
    assert type(hit) is knuckle.RayHit and abs(hit.t - (5 - 0.4) / 2) < EXACT and np.allclose(hit.normal, [-0.8, -0.6, 0], atol=EXACT) and not hit.inside
    assert knuckle.ray_cast(BALL, [5, 0.6, 0], [0, 0, 0], [1, 0, 0]) is None and knuckle.ray_cast(BALL, [5, 0, 0], [0, 0, 0], [1, 0, 0], t_max=4.4) is None
    assert knuckle.ray_cast(BALL, None, [0, 0, 0], [1, 0, 0]).inside
    mesh = knuckle.Shape("mesh", points=CUBE, triangles=SIDES)
    hit = knuckle.ray_cast(mesh, None, [0.2, 0.1, 5], [0, 0, -1])
    assert abs(hit.t - 4) < EXACT and np.allclose(hit.normal, [0, 0, 1]) and set(SIDES[hit.feature]) <= {1, 3, 5, 7}


def test_time_of_impact():
    """Two spheres head on: (distance - 2 r) / v. A box that turns by w reaches with its corner, half diagonal h, the wall at
    distance x when h cos(a0 - w t) = x, a0 = 45°."""
    tol = 1e-9
    i = knuckle.time_of_impact(BALL, knuckle.Sweep(v=[2, 0, 0]), BALL, knuckle.Sweep([5, 0, 0], v=[-1, 0, 0]), 10.0, tolerance=tol)
    assert type(i) is knuckle.Impact and i.state == "touch" and 0 <= 4 / 3 - i.t <= tol and 0 < i.distance.gap <= tol and i.steps > 0
    i = knuckle.time_of_impact(BALL, knuckle.Sweep(v=[1, 0, 0]), BALL, knuckle.Sweep([5, 0, 0]), 3.0)
    assert i.state == "separate" and i.t == 3.0
    assert knuckle.time_of_impact(BALL, knuckle.Sweep(), BALL, knuckle.Sweep([0.5, 0, 0]), 1.0).state == "overlap"
    square, w, x = knuckle.Shape("box", [1, 1, 1]), 0.5, 1.2
    wall = knuckle.Shape("box", [1, 9, 9])
    i = knuckle.time_of_impact(square, knuckle.Sweep(w=[0, 0, w]), wall, knuckle.Sweep([x + 1, 0, 0]), 10.0, tolerance=tol)
    expected = (math.pi / 4 - math.acos(x / math.sqrt(2))) / w
    assert i.state == "touch" and 0 <= expected - i.t <= 1e-7  # the corner closes with w sqrt(2 - x²) = 0.37 m/s
    p = knuckle.Sweep(turned(0.2), w=[0, 0, w]).pose(2.0)
    assert np.allclose(p.R, turned(1.2).R, atol=1e-14)
    with pytest.raises(knuckle.UnsupportedError):
        knuckle.time_of_impact(PLANE, knuckle.Sweep(w=[1, 0, 0]), BALL, knuckle.Sweep([0, 0, 3]), 1.0)


def test_support_and_boxes():
    far = knuckle.support(BOX, turned(math.pi / 4), [1, 0, 0])
    assert abs(far[0] - 3 / math.sqrt(2)) < EXACT
    lo, hi = knuckle.shape_box(BOX, turned(math.pi / 4))
    assert abs(hi[0] - 3 / math.sqrt(2)) < EXACT and np.array_equal(lo, -hi)
    assert np.isinf(knuckle.shape_box(PLANE)[0]).any()


def test_masses():
    """Box: m/12 (b² + c²) with whole sides; a rod of two spheres by Steiner's theorem."""
    m = knuckle.shape_massprops(BOX, 2.0)
    assert type(m) is knuckle.MassProps and abs(m.mass - 96) < 1e-12 and np.allclose(m.inertia[:3], 96 / 12 * np.array([16 + 36, 4 + 36, 4 + 16]), rtol=1e-14)
    ball = knuckle.shape_massprops(BALL, 3.0 / (4 * math.pi * 0.125))  # 1 kg
    two = ball.move([2, 0, 0]) + ball.move([-2, 0, 0])
    own = 0.4 * 0.25
    assert abs(two.mass - 2) < EXACT and np.allclose(two.com, 0, atol=EXACT) and np.allclose(two.inertia[:3], [2 * own, 2 * own + 8, 2 * own + 8], rtol=1e-14)
    shell = knuckle.shape_massprops(BALL, 1.0 / (4 * math.pi * 0.25), shell=True)
    assert abs(shell.inertia[0] - 2 / 3 * 0.25) < EXACT
    moments, quat = knuckle.principal_axes([2, 3, 4, 0.5, 0, 0])
    R = knuckle.Pose.of([0, 0, 0], quat).R
    assert np.allclose(R @ np.diag(moments) @ R.T, [[2, 0.5, 0], [0.5, 3, 0], [0, 0, 4]], atol=1e-14) and sorted(moments)[::-1] == list(moments)
    with pytest.raises(knuckle.BadArgumentError):
        knuckle.shape_massprops(PLANE)


def test_meshes(tmp_path):
    cube = knuckle.MeshData.of(CUBE, SIDES)
    info = cube.inspect()
    assert type(info) is knuckle.MeshInfo and info.closed and abs(info.volume - 8) < EXACT and abs(info.area - 24) < EXACT
    moved = cube.scale([1, 2, -1]).transform(turned(math.pi / 2, [1, 0, 0]))
    assert abs(moved.inspect().volume - 16) < 1e-13 and np.allclose(moved.inspect().high, [3, 1, 1], atol=EXACT)
    assert not knuckle.MeshData.of(CUBE, SIDES[1:]).inspect().closed
    loose = knuckle.MeshData.of(np.vstack([CUBE, CUBE + 1e-7]), SIDES[:6] + [[i + 8 for i in t] for t in SIDES[6:]])
    assert loose.weld(1e-6).inspect().closed and not loose.inspect().closed and len(loose.weld(1e-6).vertices) == 8
    for how in ("exact", "convex", "legacy"):
        m = cube.massprops(0.5, how)
        assert abs(m.mass - 4) < 1e-13 and np.allclose(m.inertia, [8 / 3] * 3 + [0] * 3, atol=1e-13), how
    assert abs(cube.massprops(1.0, "shell").mass - 24) < 1e-13
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in SIDES)
    (tmp_path / "cube.obj").write_text(text)
    for again in (knuckle.read_mesh(tmp_path / "cube.obj"), knuckle.read_mesh("x.obj", text.encode()), pickle.loads(pickle.dumps(cube))):
        assert np.array_equal(again.vertices, CUBE) and again.triangles.tolist() == SIDES
    with pytest.raises(knuckle.FileError, match="bad.obj:1"):
        knuckle.read_mesh("bad.obj", b"v 1 2\n")
    mesh = knuckle.Shape("mesh", points=CUBE, triangles=SIDES)
    assert {tuple(SIDES[i]) for i in mesh.overlap([0.9, -0.1, -0.1], [1.1, 0.1, 0.1])} == {(4, 6, 7), (4, 7, 5)}


def test_shapes_of_a_model_are_where_contacts_are(sim, arm):
    sim.q["float"][2] = 0.05
    cube, floor = arm.geoms.index_of("cube"), arm.geoms.index_of("floor")
    poses = sim.geom_poses
    m = knuckle.manifold_query(arm.shape("cube"), poses[cube], arm.shape("floor"), poses[floor])
    near = [c for c in sim.near(0.0) if int(c["geom_a"]) == cube or int(c["geom_b"]) == cube]
    assert len(m) == len(near) > 0 and min(m.gap) == min(float(c["gap"]) for c in near)
    assert abs(knuckle.distance(arm.shape("cube"), poses[cube], arm.shape("floor"), poses[floor]).gap - min(m.gap)) < EXACT
    assert len(poses) == len(arm.geoms) and type(poses[0]) is knuckle.Pose
    hull = knuckle.Shape("hull", points=CUBE)
    for s in (hull, pickle.loads(pickle.dumps(hull)), knuckle.Shape("mesh", points=CUBE, triangles=SIDES), pickle.loads(pickle.dumps(BOX))):
        assert knuckle.distance(s, None, BALL, [3.5, 0, 0]).gap == pytest.approx(2.0, abs=1e-12) and repr(s).startswith("<Shape ")
    assert len(hull.triangles().triangles) == 12 and BOX.type is knuckle.ShapeType.BOX and BOX.size.tolist() == [1, 2, 3]
    assert np.allclose(turned(math.pi / 2, [1, 0, 0]).apply([[1, 0, 0], [0, 0, 2]]), [[1, 1, 0], [1, 0, 2]], atol=EXACT)


def test_a_line_and_an_ellipse():
    """A circle: the line's distance from its centre less the radius."""
    gap, at = knuckle.line_ellipse([0, 0], [0, 1], [3, 2], [0.5, 0.5], 0.3)
    assert abs(gap - 1.5) < EXACT and np.allclose(at, [3, 1.5], atol=EXACT)
    gap, at = knuckle.line_ellipse([0, 0], [0, 1], [3, 2], [1.0, 0.5], math.pi / 2)
    assert abs(gap - 1.0) < EXACT and np.allclose(at, [3, 1], atol=EXACT)


def test_broad_phase_finds_what_overlaps():
    """Against every pair of boxes."""
    rng = np.random.default_rng(5)
    n = 60
    shapes = [knuckle.Shape("sphere", [r]) for r in rng.uniform(0.1, 0.6, n)]
    broad = knuckle.Broad(shapes, exclude=[(0, 1)])
    for _ in range(5):
        p = rng.uniform(-2, 2, (n, 3))
        poses = knuckle.Poses(np.tile(np.eye(3), (n, 1, 1)), p)
        boxes = np.array([np.concatenate(knuckle.shape_box(s, x)) for s, x in zip(shapes, p)])
        pairs = {(i, j) for i in range(n) for j in range(i) if (boxes[i, :3] <= boxes[j, 3:]).all() and (boxes[j, :3] <= boxes[i, 3:]).all()}
        expected = sorted((j, i) for i, j in pairs if {i, j} != {0, 1})
        assert list(map(tuple, broad.update(poses).tolist())) == expected == list(map(tuple, broad.update_boxes(boxes).tolist()))
        inside = [i for i in range(n) if (boxes[i, :3] <= 0.5).all() and (boxes[i, 3:] >= -0.5).all()]
        assert broad.query([-0.5] * 3, [0.5] * 3).tolist() == inside
    swept = broad.update(knuckle.Poses(np.tile(np.eye(3), (n, 1, 1)), np.arange(n)[:, None] * [10.0, 0, 0]),
                         np.array([[0, 0, 0, 11.0, 0, 0]] + [[0.0] * 6] * (n - 1)), 1.0)
    assert swept.tolist() == []  # the first reaches the second, which is excluded
    with pytest.raises(knuckle.BadArgumentError):
        knuckle.Broad([])


def test_mistakes():
    for call in (lambda: knuckle.Shape("cube"), lambda: knuckle.Shape("box", [1, -1, 1]), lambda: knuckle.Shape("sphere", [1], points=CUBE),
                 lambda: knuckle.Shape("hull"), lambda: knuckle.Shape("mesh", points=CUBE), lambda: knuckle.distance(BALL, None, 3, None),
                 lambda: knuckle.distance(BALL, [1, 2], BALL, None), lambda: knuckle.distance(BALL, knuckle.Pose(2 * np.eye(3), np.zeros(3)), BALL, None),
                 lambda: knuckle.MeshData.of(CUBE, [[0, 1, 8]]), lambda: knuckle.MeshData.of(CUBE, [[0, 1, 0.5]]), lambda: knuckle.ray_cast(BALL, None, [0, 0, 0], [0, 0, 0]),
                 lambda: knuckle.time_of_impact(BALL, None, BALL, knuckle.Sweep(), 1.0), lambda: knuckle.Pose.of([0, 0, 0], [0, 0, 0, 0]),
                 lambda: knuckle.Shape(99), lambda: BOX.triangles(), lambda: BOX.overlap([0, 0, 0], [1, 1, 1])):
        with pytest.raises(knuckle.BadArgumentError):
            call()
    with pytest.raises(knuckle.NotFiniteError):
        knuckle.distance(BALL, [math.nan, 0, 0], BALL, None)
