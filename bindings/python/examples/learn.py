"""A hopper learns to hop, in minutes on two cores, with NumPy alone.

    python learn.py [--task hopper|quadruped] [--seconds 180] [--out learning]

Augmented random search (Mania, Guy, Recht 2018, arXiv:1803.07055): a linear policy on normalised observations is pushed along the
random directions whose two sides differ most in reward. All directions are tried at once, each in its own world of a
`knuckle.Pool`; the worlds have hard contact and every run with the same seed is the same, bit for bit, on any number of cores.
Writes OUT.csv (wall time, steps, mean reward of the policy itself) and, with matplotlib, OUT.svg.
"""

import argparse
import time

import numpy as np

from knuckle import envs


class Learner:
    """Policy `action = M (obs - mean) / deviation`, and what its statistics need."""

    def __init__(self, env, seed):
        self.env, self.rng = env, np.random.default_rng(seed)
        size = env.single_observation_space.shape[0]
        self.M = np.zeros((env.single_action_space.shape[0], size))
        self.count, self.mean, self.square = 1.0, np.zeros(size), np.ones(size)

    def see(self, obs):
        self.count += len(obs)
        step = obs - self.mean
        self.mean += step.sum(axis=0) / self.count
        self.square += (step * (obs - self.mean)).sum(axis=0)

    def normal(self, obs):
        return (obs - self.mean) / np.sqrt(self.square / self.count + 1e-8)

    def episodes(self, M, seed, length, learn):
        """Reward of each world until it first ends; M: worlds x actions x observations."""
        obs, _ = self.env.reset(seed=seed)
        alive, total, steps = np.ones(len(M), bool), np.zeros(len(M)), 0
        for _ in range(length):
            if learn:
                self.see(obs[alive])
            action = np.clip(np.einsum("wij,wj->wi", M, self.normal(obs)), -1.0, 1.0)
            obs, reward, over, cut, _ = self.env.step(action)
            total[alive] += reward[alive]
            steps += len(M) * self.env.skip
            alive &= ~(over | cut)
            if not alive.any():
                break
        return total, steps

    def improve(self, seed, *, noise, rate, best, length):
        half = self.env.num_envs // 2
        d = self.rng.standard_normal((half, *self.M.shape))
        total, steps = self.episodes(np.concatenate([self.M + noise * d, self.M - noise * d]), seed, length, True)
        plus, minus = total[:half], total[half:]
        top = np.argsort(-np.maximum(plus, minus))[:best]
        spread = np.concatenate([plus[top], minus[top]]).std() + 1e-8
        self.M += rate / (best * spread) * np.einsum("d,dij->ij", (plus - minus)[top], d[top])
        return steps


def learn(task="hopper", seconds=np.inf, rounds=10**9, worlds=64, threads=0, seed=1, say=print):
    """The curve: rows (wall seconds, steps of all worlds, mean reward of the policy in `worlds` starts)."""
    hopper = task == "hopper"
    kind = envs.HopperPoolEnv if hopper else envs.QuadrupedPoolEnv
    length = 250 if hopper else 200
    env = kind(worlds, threads=threads, max_episode_steps=length)
    learner, steps, curve = Learner(env, seed), 0, []
    choice = dict(noise=0.05, rate=0.04, best=worlds // 4, length=length)
    start = time.perf_counter()
    for k in range(rounds + 1):
        if k % 10 == 0:
            total, _ = learner.episodes(np.broadcast_to(learner.M, (worlds, *learner.M.shape)), 7, length, False)
            curve.append((time.perf_counter() - start, steps, total.mean()))
            say(f"{curve[-1][0]:6.1f} s  {steps:10d} steps  reward {total.mean():8.2f}")
            if curve[-1][0] > seconds:
                break
        steps += learner.improve(1000 + k, **choice)
    env.close()
    return np.array(curve), learner.M


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--task", choices=["hopper", "quadruped"], default="hopper")
    p.add_argument("--seconds", type=float, default=180.0)
    p.add_argument("--worlds", type=int, default=64)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="learning")
    a = p.parse_args()
    curve, _ = learn(a.task, a.seconds, worlds=a.worlds, threads=a.threads, seed=a.seed)
    np.savetxt(f"{a.out}.csv", curve, delimiter=",", header="seconds,steps,reward", comments="", fmt=["%.2f", "%d", "%.4f"])
    try:
        import matplotlib

        matplotlib.use("svg")
        import matplotlib.pyplot as plt
    except ImportError:
        return
    fig, ax = plt.subplots(figsize=(6, 3.2))
    ax.plot(curve[:, 1] / 1e6, curve[:, 2])
    ax.set_xlabel("steps of all worlds, millions")
    ax.set_ylabel("reward of an episode")
    ax.set_title(f"{a.task}: {a.worlds} worlds, {curve[-1, 0]:.0f} s")
    ax.grid(alpha=0.3)
    fig.tight_layout()
    fig.savefig(f"{a.out}.svg")


if __name__ == "__main__":
    main()
