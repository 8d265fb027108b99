"""Environments for gymnasium (`pip install knuckle[gym]`): a hopper, a quadruped, a pinch. Importing registers them.

    import gymnasium, knuckle.envs
    env = gymnasium.make("knuckle/Hopper-v0")
    many = gymnasium.make_vec("knuckle/Quadruped-v0", num_envs=256, vectorization_mode="vector_entry_point")

`make_vec` with the vector entry point steps all environments in one `knuckle.Pool`, on all cores.

Rewards are plain: forward speed, or the height of what is held, less the effort. `info` has the time, the solver's
residual and the kinds of troubles so far; a step that fails ends the episode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from .errors import KnuckleError
from .model import Material, Model, load
from .pool import Pool, Ranges
from .sim import Sim
from .spec import Spec

Obs = npt.NDArray[np.float64]
Action = npt.NDArray[np.float32]


class ContactEnv(gymnasium.Env[Obs, Action]):
    """One simulator as an environment: actions in [-1, 1] become controls, an action lasts `skip` steps.

    Subclasses say what is observed (`observe`), what is good (`reward`) and when it is over (`over`).
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, model: Model, *, skip: int, centre: npt.ArrayLike, reach: npt.ArrayLike, noise: float, **settings: Any) -> None:
        self.sim: Sim = Sim(model, **settings)
        self.skip = skip
        self._centre = np.broadcast_to(np.asarray(centre, dtype=np.float64), (model.nu,))
        self._reach = np.broadcast_to(np.asarray(reach, dtype=np.float64), (model.nu,))
        self._noise = noise
        self.action_space: gymnasium.Space[Action] = gymnasium.spaces.Box(-1.0, 1.0, (model.nu,), np.float32)
        size = len(self.observe())
        self.observation_space: gymnasium.Space[Obs] = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)

    def observe(self) -> Obs:
        """What the agent sees."""
        return np.concatenate([self.sim.q, self.sim.v])

    def reward(self, before: Obs, action: Action) -> float:
        """How good the last action was; `before`: q before it."""
        raise NotImplementedError

    def over(self) -> bool:
        """Has the robot failed?"""
        return False

    def _scatter(self) -> None:
        """Small random changes of the scalar joints at the start."""
        for j in self.sim.model.joints:
            if j.q.stop - j.q.start == 1:
                self.sim.q[j.q] += self.np_random.uniform(-self._noise, self._noise)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """Back to the start, with a little noise of the seed."""
        super().reset(seed=seed)
        settings = self.sim.settings
        self.sim.close()
        self.sim = Sim(self.sim.model, settings=settings)  # a new one: what the last episode did is not part of this one's record
        self._scatter()
        return self.observe(), self._info(None)

    def _info(self, error: KnuckleError | None) -> dict[str, Any]:
        run = self.sim.summary
        info: dict[str, Any] = {"t": self.sim.time, "residual": run.residual, "troubles": [t.kind for t in run.troubles]}
        if error is not None:
            info["error"] = error.text
        return info

    def step(self, action: Action) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """One action; a step that fails ends the episode with `info["error"]`."""
        u = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        before = np.array(self.sim.q)
        self.sim.ctrl = self._centre + self._reach * u
        error = None
        try:
            self.sim.step(self.skip)
        except KnuckleError as e:
            error = e
        over = error is not None or self.over()
        return self.observe(), self.reward(before, action), over, False, self._info(error)

    def close(self) -> None:
        """Gives the simulator back."""
        self.sim.close()


def _hopper() -> Model:
    """One leg in a plane: sizes and masses as in the well-known hopper."""
    s = Spec("hopper")
    rubber = Material(mu=0.9)
    s.geom("floor", type="plane", material=rubber)
    parent, z = "world", 1.25
    for name, length, radius in (("torso", 0.4, 0.05), ("thigh", 0.45, 0.05), ("leg", 0.5, 0.04)):
        s.body(name, parent, pos=[0, 0, z])
        if name == "torso":
            s.joint("x", body=name, type="slide", axis=[1, 0, 0])
            s.joint("z", body=name, type="slide", axis=[0, 0, 1])
            s.joint("pitch", body=name, axis=[0, 1, 0])
        else:
            s.joint(name, body=name, axis=[0, 1, 0], pos=[0, 0, length / 2], range=[-2.6, 0.1], armature=1.0, damping=1.0)
        s.geom(name, body=name, type="capsule", size=[radius, length / 2], density=1000, contype=0, conaffinity=0)
        parent, z = name, {"torso": -0.425, "thigh": -0.475, "leg": -0.25}[name]
    s.body("foot", "leg", pos=[0.065, 0, z])
    s.joint("foot", body="foot", axis=[0, 1, 0], pos=[-0.065, 0, 0], range=[-0.78, 0.78], armature=1.0, damping=1.0)
    s.geom("foot", body="foot", type="capsule", size=[0.06, 0.195], quat=[0.7071067811865476, 0, 0.7071067811865476, 0], density=1000, material=rubber)
    for name in ("thigh", "leg", "foot"):
        s.actuator(name, joint=name, gear=200.0 if name != "foot" else 100.0, ctrl_range=[-1, 1])
    return s.compile()


class HopperEnv(ContactEnv):
    """A hopper in a plane: reward is forward speed (m/s) plus 1 for staying up, less 0.001 effort²."""

    def __init__(self) -> None:
        super().__init__(_hopper(), skip=8, centre=0.0, reach=1.0, noise=5e-3)

    def observe(self) -> Obs:
        """All but the distance travelled; velocities cut to ±10."""
        return np.concatenate([self.sim.q[1:], np.clip(self.sim.v, -10.0, 10.0)])

    def reward(self, before: Obs, action: Action) -> float:
        """Speed, 1 for being alive, effort."""
        speed = (self.sim.q["x"] - before[0]) / (self.skip * self.sim.settings.dt)
        return float(speed + 1.0 - 1e-3 * np.square(action).sum())

    def over(self) -> bool:
        """Fallen: the torso below 0.7 m or tilted by more than 0.4 rad."""
        return 1.25 + self.sim.q["z"] < 0.7 or abs(self.sim.q["pitch"]) > 0.4


class QuadrupedEnv(ContactEnv):
    """The scene "quadruped": actions are offsets of the servos' targets (rad); reward is forward speed, less effort and tilt."""

    def __init__(self) -> None:
        model = load("quadruped")
        start = np.array(Sim(model).ctrl)
        super().__init__(model, skip=20, centre=start, reach=0.5, noise=0.02)

    def observe(self) -> Obs:
        """All but the place in the plane."""
        return np.concatenate([self.sim.q[2:], self.sim.v])

    def reward(self, before: Obs, action: Action) -> float:
        """Forward speed, effort."""
        speed = (self.sim.q[0] - before[0]) / (self.skip * self.sim.settings.dt)
        return float(speed - 0.005 * np.square(action).sum())

    def over(self) -> bool:
        """The trunk has fallen or turned over."""
        w, x, y, z = self.sim.q[3:7]
        up = 1.0 - 2.0 * (x * x + y * y) / (w * w + x * x + y * y + z * z)
        return bool(self.sim.q[2] < 0.1 or up < 0.3)


def _pinch() -> Model:
    """Two fingers on a hand that moves up and down, and a cube on the floor between them."""
    s = Spec("pinch")
    rubber = Material(mu=0.8)
    s.geom("floor", type="plane", material=rubber)
    s.body("hand", pos=[0, 0, 0.1])
    s.joint("lift", body="hand", type="slide", axis=[0, 0, 1], range=[-0.06, 0.3], damping=5.0)
    s.geom("palm", body="hand", type="box", size=[0.1, 0.02, 0.01], pos=[0, 0, 0.06], density=500, contype=0, conaffinity=0)
    for name, side in (("left", -1.0), ("right", 1.0)):
        s.body(name, "hand", pos=[0.07 * side, 0, 0])
        s.joint(name, body=name, type="slide", axis=[-side, 0, 0], range=[-0.02, 0.06], damping=2.0)
        s.geom(name, body=name, type="box", size=[0.01, 0.02, 0.05], density=800, material=rubber)
        s.actuator(name, joint=name, kind="position", kp=400.0, kv=20.0, force_range=[-20, 20])
    s.actuator("lift", joint="lift", kind="position", kp=800.0, kv=60.0, force_range=[-60, 60])
    s.body("cube", pos=[0, 0, 0.025])
    s.joint("cube", body="cube", type="free")
    s.geom("cube", body="cube", type="box", size=[0.025, 0.025, 0.025], density=800, material=rubber)
    return s.compile()


class PinchEnv(ContactEnv):
    """Two fingers pinch a cube and lift it: reward is its height above the floor (decimetres), less effort."""

    def __init__(self) -> None:
        super().__init__(_pinch(), skip=10, centre=[0.02, 0.02, 0.1], reach=[0.04, 0.04, 0.16], noise=2e-3)

    def reward(self, before: Obs, action: Action) -> float:
        """Height of the cube, effort."""
        return float(10.0 * (self.sim.q["cube"][2] - 0.025) - 0.01 * np.square(action).sum())


class PoolEnv(gymnasium.vector.VectorEnv[Obs, Action, Any]):
    """Many environments in one `Pool`: actions in [-1, 1] (worlds x nu), an action lasts `skip` steps, on all cores.

    Subclasses say the same as those of `ContactEnv`, for all worlds at once: q (worlds x nq) and v (worlds x nv) in, a row or a
    number for each world out. A world that is over begins again in the same step (`info["final_obs"]` has where it ended), with
    differences drawn from `ranges`. A world whose step failed ends its episode with `info["error"]`.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}

    def __init__(self, model: Model, num_envs: int, *, skip: int, centre: npt.ArrayLike, reach: npt.ArrayLike, noise: float,
                 max_episode_steps: int | None = None, threads: int = 0, ranges: Ranges | None = None, **settings: Any) -> None:
        self.pool: Pool = Pool(model, num_envs, threads, **settings)
        self.num_envs = num_envs
        self.skip: int = skip
        self._limit = max_episode_steps
        self._centre = np.broadcast_to(np.asarray(centre, dtype=np.float64), (model.nu,))
        self._reach = np.broadcast_to(np.asarray(reach, dtype=np.float64), (model.nu,))
        self._ranges = ranges if ranges is not None else Ranges(q=(-noise, noise))
        self._elapsed = np.zeros(num_envs, np.int64)
        size = self.observe(self.pool.q, self.pool.v).shape[1]
        self.single_action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1.0, 1.0, (model.nu,), np.float32)
        self.single_observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space: gymnasium.Space[Any] = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space: gymnasium.Space[Any] = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)

    def observe(self, q: Obs, v: Obs) -> Obs:
        """What the agents see."""
        return np.concatenate([q, v], axis=1)

    def rewards(self, before: Obs, q: Obs, v: Obs, action: Obs) -> Obs:
        """How good the last actions were; `before`: q before them."""
        raise NotImplementedError

    def over(self, q: Obs, v: Obs) -> npt.NDArray[np.bool_]:
        """Which robots have failed?"""
        return np.zeros(len(q), np.bool_)

    def _begin(self, mask: npt.NDArray[np.bool_], recount: bool = False) -> None:
        self.pool.reset(mask, ranges=self._ranges, recount=recount)
        self._elapsed[mask] = 0

    def reset(self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """All worlds from their starts, with differences of the seed."""
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        if seed is not None or self._ranges.seed == 0:
            self._ranges = replace(self._ranges, seed=int(self.np_random.integers(1, 2**63)))
        self._begin(np.ones(self.num_envs, np.bool_), seed is not None)
        return self.observe(self.pool.q, self.pool.v), {"t": self.pool.t.copy()}

    def step(self, actions: Action) -> tuple[Obs, Obs, npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]]:
        """One action of every world; those that are over begin again."""
        u = np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        before = self.pool.q.copy()
        run = self.pool.step(self.skip, self._centre + self._reach * u)
        q, v = self.pool.q, self.pool.v
        failed = self.pool.done.copy()
        self._elapsed += 1
        over = failed | self.over(q, v)
        cut = ~over & (self._elapsed >= self._limit) if self._limit is not None else np.zeros_like(over)
        reward = self.rewards(before, q, v, np.asarray(actions, dtype=np.float64))
        obs = self.observe(q, v)
        info: dict[str, Any] = {"t": self.pool.t.copy(), "residual": run.residual}
        ended = over | cut
        if ended.any():
            if failed.any():
                info["error"] = self.pool.failures
            info["final_obs"], info["_final_obs"] = obs, ended.copy()
            self._begin(ended)
            obs = self.observe(self.pool.q, self.pool.v)
        return obs, reward, over, cut, info

    def close_extras(self, **kwargs: Any) -> None:
        """Gives the worlds back."""
        self.pool.close()


class HopperPoolEnv(PoolEnv):
    """Many hoppers: as `HopperEnv`."""

    def __init__(self, num_envs: int = 1, **more: Any) -> None:
        choices: dict[str, Any] = {"skip": 8, "centre": 0.0, "reach": 1.0, "noise": 5e-3, "max_episode_steps": 1000, **more}
        super().__init__(_hopper(), num_envs, **choices)

    def observe(self, q: Obs, v: Obs) -> Obs:
        """All but the distance travelled; velocities cut to ±10."""
        return np.concatenate([q[:, 1:], np.clip(v, -10.0, 10.0)], axis=1)

    def rewards(self, before: Obs, q: Obs, v: Obs, action: Obs) -> Obs:
        """Speed, 1 for being alive, effort."""
        speed = (q[:, 0] - before[:, 0]) / (self.skip * self.pool.settings.dt)
        return speed + 1.0 - 1e-3 * np.square(action).sum(axis=1)

    def over(self, q: Obs, v: Obs) -> npt.NDArray[np.bool_]:
        """Fallen: the torso below 0.7 m or tilted by more than 0.4 rad."""
        return (1.25 + q[:, 1] < 0.7) | (np.abs(q[:, 2]) > 0.4)


class QuadrupedPoolEnv(PoolEnv):
    """Many quadrupeds: as `QuadrupedEnv`."""

    def __init__(self, num_envs: int = 1, **more: Any) -> None:
        model = load("quadruped")
        start = np.array(Sim(model).ctrl)
        choices: dict[str, Any] = {"skip": 20, "centre": start, "reach": 0.5, "noise": 0.02, "max_episode_steps": 500, **more}
        super().__init__(model, num_envs, **choices)

    def observe(self, q: Obs, v: Obs) -> Obs:
        """All but the place in the plane."""
        return np.concatenate([q[:, 2:], v], axis=1)

    def rewards(self, before: Obs, q: Obs, v: Obs, action: Obs) -> Obs:
        """Forward speed, effort."""
        speed = (q[:, 0] - before[:, 0]) / (self.skip * self.pool.settings.dt)
        return speed - 0.005 * np.square(action).sum(axis=1)

    def over(self, q: Obs, v: Obs) -> npt.NDArray[np.bool_]:
        """The trunk has fallen or turned over."""
        w, x, y, z = q[:, 3:7].T
        up = 1.0 - 2.0 * (x * x + y * y) / (w * w + x * x + y * y + z * z)
        return (q[:, 2] < 0.1) | (up < 0.3)


for _name, _steps, _many in (("Hopper", 1000, True), ("Quadruped", 500, True), ("Pinch", 300, False)):
    if f"knuckle/{_name}-v0" not in gymnasium.registry:
        gymnasium.register(f"knuckle/{_name}-v0", f"knuckle.envs:{_name}Env", max_episode_steps=_steps,  # pyright: ignore[reportUnknownMemberType]
                           vector_entry_point=f"knuckle.envs:{_name}PoolEnv" if _many else None)
