"""The gymnasium environments: the checker's rules, repeatable episodes, and that the physics is there."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
envs = pytest.importorskip("knuckle.envs")
NAMES = ["Hopper", "Quadruped", "Pinch"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_checker_is_content(name):
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(f"knuckle/{name}-v0").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_episodes_repeat(name):
    def episode(seed):
        env = gymnasium.make(f"knuckle/{name}-v0")
        rng = np.random.default_rng(3)
        seen = [env.reset(seed=seed)[0]]
        for _ in range(30):
            obs, reward, over, cut, info = env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32))
            assert np.isfinite(obs).all() and np.isfinite(reward) and "error" not in info
            seen.append(obs)
            if over or cut:
                break
        env.close()
        return np.concatenate(seen)

    assert np.array_equal(episode(1), episode(1)) and not np.array_equal(episode(1), episode(2))


def test_vector_of_environments():
    many = gymnasium.make_vec("knuckle/Hopper-v0", num_envs=3, vectorization_mode="sync")
    obs, _ = many.reset(seed=0)
    obs, reward, *_ = many.step(many.action_space.sample())
    assert obs.shape[0] == 3 and reward.shape == (3,)
    many.close()


def test_pinch_lifts_the_cube():
    env = envs.PinchEnv()
    env.reset(seed=0)
    for k in range(300):
        closed = min(1.0, k / 40)
        height = -1.0 + 1.4 * min(1.0, max(0.0, (k - 60) / 120))
        *_, info = env.step(np.array([closed, closed, height], dtype=np.float32))
    assert env.sim.q["cube"][2] > 0.1 and abs(env.sim.v["cube"][2]) < 1e-3  # it hangs between the fingers, without creep
    fingers = {n for pair in env.sim.contacts.names for n in pair}
    assert {"left", "right", "cube"} <= fingers and "floor" not in {n for p in env.sim.contacts.names if "cube" in p for n in p}
