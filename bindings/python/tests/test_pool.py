"""Pools of worlds from Python: the bits of single simulators, live arrays, failures, resets, linearisation, environments."""

import os
import threading

import knuckle
import numpy as np
import pytest


@pytest.fixture(scope="module")
def quadruped():
    return knuckle.load("quadruped")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_worlds_are_simulators_of_their_own(quadruped, threads):
    pool = knuckle.Pool(quadruped, 5, threads)
    assert (pool.worlds, pool.threads) == (5, threads)
    rng = np.random.default_rng(0)
    push = rng.uniform(-0.3, 0.3, (5, quadruped.nv))
    pool.v[:] = push
    u = pool.ctrl[:, None, :] + 0.1 * rng.standard_normal((5, 4, quadruped.nu))
    run = pool.step(20, u, every=5, contacts=True)
    assert run.steps == 100 and run.failed == 0 and run.residual < 1e-8 and run.q.shape == (5, 4, quadruped.nq)
    for w in range(5):
        sim = knuckle.Sim(quadruped)
        sim.v = push[w]
        for k in range(4):
            sim.ctrl = u[w, k]
            sim.step(5)
            assert np.array_equal(run.q[w, k], sim.q) and np.array_equal(run.v[w, k], sim.v)
            assert run.contact_counts[w, k] == len(sim.contacts)
        assert pool.hash(w) == sim.hash and np.array_equal(pool.q[w], sim.q) and pool.t[w] == sim.time
        assert pool.world(w).hash == sim.hash
    pool.close()
    with pytest.raises(knuckle.ClosedError):
        pool.step()


def test_scenes_with_controllers():
    model = knuckle.load("grasp-1")
    with knuckle.Pool(model, 2, 2) as pool:
        pool.step(30)
        sim = knuckle.Sim(model)
        sim.step(30)
        assert pool.hash(0) == pool.hash(1) == sim.hash


def test_arrays_are_live_and_failures_stay_alone(quadruped):
    with knuckle.Pool(quadruped, 4, 2) as pool:
        pool.q[1, 0] = np.nan
        pool.q[2, 2] += 1.0
        pool.done[3] = True
        run = pool.step(3)
        assert run.failed == 1 and list(run.taken) == [3, 0, 3, 0]
        assert list(pool.failures) == [1] and "NaN" in pool.failures[1]
        assert list(pool.done) == [False, True, False, True]
        assert pool.q[2, 2] > pool.q[0, 2] + 0.9
        pool.reset(pool.done)
        assert not pool.failures and not pool.done.any() and pool.t[1] == 0.0 and pool.t[0] > 0.0
        bad = pool.ctrl.copy()
        bad[0, 0] = np.inf
        assert pool.step(1, bad).failed == 1 and "control 0" in pool.failures[0]


def test_differences_are_those_of_the_seed(quadruped):
    def ends(threads, **ranges):
        with knuckle.Pool(quadruped, 6, threads) as pool:
            pool.reset(ranges=knuckle.Ranges(**ranges))
            pool.step(40)
            return pool.state.copy()

    wild = dict(seed=3, mass=(0.8, 1.2), friction=(0.5, 1.5), size=(0.9, 1.1), gravity=[(0, 0), (0, 0), (-1, 1)], delay=(0, 3), q=(-0.01, 0.01))
    a = ends(1, **wild)
    assert np.array_equal(a, ends(3, **wild)) and not np.array_equal(a, ends(1, **{**wild, "seed": 4}))
    assert len({row.tobytes() for row in a}) == 6
    with knuckle.Pool(quadruped, 2) as pool, pytest.raises(knuckle.BadArgumentError, match="size"):
        pool.reset(ranges={"size": (2.0, 1.0)})


def test_bad_input_is_refused_by_name(quadruped):
    with knuckle.Pool(quadruped, 2, 1) as pool:
        for call, words in [
            (lambda: pool.step(-1), "n is -1"),
            (lambda: pool.step(10, np.zeros((2, 3, quadruped.nu))), "multiple"),
            (lambda: pool.step(1, np.zeros((3, quadruped.nu))), "ctrl"),
            (lambda: pool.step(1, force=np.zeros((2, 1))), "force"),
            (lambda: pool.step(1, every=-1), "every"),
            (lambda: pool.reset([True]), "mask"),
            (lambda: pool.hash(2), "world 2"),
            (lambda: pool.reset(delay=[1]), "delay"),
        ]:
            with pytest.raises(knuckle.BadArgumentError, match=words):
                call()
    for worlds, threads in [(0, 1), (1, -1), (2**40, 1), (1.5, 1)]:
        with pytest.raises(knuckle.BadArgumentError):
            knuckle.Pool(quadruped, worlds, threads)


def test_one_thread_at_a_time(quadruped):
    with knuckle.Pool(quadruped, 64, 2) as pool:
        errors, go = [], threading.Event()

        def other():
            go.wait()
            for _ in range(200):
                try:
                    pool.step(1)
                except knuckle.BusyError as e:
                    errors.append(e)

        thread = threading.Thread(target=other)
        thread.start()
        go.set()
        for _ in range(20):
            try:
                pool.step(20)
            except knuckle.BusyError as e:
                errors.append(e)
        thread.join()
        assert errors and "inside this pool" in str(errors[0])


def test_linearize_predicts(quadruped):
    sim = knuckle.Sim(quadruped)
    sim.step(1000)
    with knuckle.Pool(quadruped, 1, 2) as pool:
        lin = pool.linearize(sim.state, steps=2)
        n = 2 * quadruped.nv
        assert lin.A.shape == (n, n) and lin.B.shape == (n, quadruped.nu) and len(lin.near) == n + quadruped.nu
        use = ~lin.near[n:]
        assert use.any()
        du = np.where(use, 1e-4, 0.0)
        a, b = sim.copy(), sim.copy()
        b.ctrl = b.ctrl + du
        a.step(2), b.step(2)
        # what the solver leaves in a velocity is some 1e-6, whatever du is
        assert np.abs(b.v - a.v - (lin.B @ du)[quadruped.nv:]).max() < 1e-5 and np.abs(b.v - a.v).max() > 5e-4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore")
def test_a_child_process_is_told(quadruped):
    with knuckle.Pool(quadruped, 1, 1) as pool:
        pid = os.fork()
        if pid == 0:
            try:
                pool.step()
            except knuckle.BusyError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("name", ["Hopper", "Quadruped"])
def test_pool_environments_are_those_of_single_ones(name):
    gymnasium = pytest.importorskip("gymnasium")
    envs = pytest.importorskip("knuckle.envs")
    many = gymnasium.make_vec(f"knuckle/{name}-v0", num_envs=3, vectorization_mode="vector_entry_point", threads=2)
    obs, _ = many.reset(seed=5)
    singles = [getattr(envs, f"{name}Env")() for _ in range(3)]
    for k, env in enumerate(singles):
        env.reset(seed=0)
        env.sim.q, env.sim.v = many.unwrapped.pool.q[k], many.unwrapped.pool.v[k]
    rng = np.random.default_rng(1)
    for _ in range(5):
        action = rng.uniform(-0.3, 0.3, many.action_space.shape).astype(np.float32)
        obs, reward, over, cut, info = many.step(action)
        for k, env in enumerate(singles):
            o, r, e, _, _ = env.step(action[k])  # its effort is summed in single precision
            assert np.array_equal(o, obs[k]) and abs(r - reward[k]) < 1e-6 and e == over[k]
    again, _ = many.reset(seed=5)
    first, _ = many.reset(seed=5)
    assert np.array_equal(again, first) and again.shape == many.observation_space.shape
    many.close()


def test_worlds_that_are_over_begin_again():
    pytest.importorskip("gymnasium")
    envs = pytest.importorskip("knuckle.envs")
    env = envs.HopperPoolEnv(4, max_episode_steps=3, threads=1)
    env.reset(seed=1)
    env.pool.q[2, 2] = 1.0  # tilted: fallen
    for k in range(3):
        obs, reward, over, cut, info = env.step(np.zeros((4, 3), np.float32))
        assert list(over) == [False, False, k == 0, False]
        assert list(cut) == [k == 2, k == 2, False, k == 2]
        if k != 1:
            assert list(info["_final_obs"]) == list(over | cut) and np.isfinite(info["final_obs"]).all()
    assert env.pool.t[0] == 0.0 and env.pool.t[2] > 0.0
    env.close()


def test_the_example_learns():
    """A few rounds of it: the reward of the policy rises."""
    pytest.importorskip("gymnasium")
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    import learn

    curve, M = learn.learn("hopper", rounds=30, worlds=16, say=lambda _: None)
    assert len(curve) == 4 and curve[1:, 2].max() > curve[0, 2] and np.isfinite(M).all() and np.abs(M).max() > 0
