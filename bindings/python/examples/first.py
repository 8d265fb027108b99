"""A first script: load, run, ask, look. Type checkers find nothing unknown in it (`python/types` reads it in strict mode).

    python first.py
"""

import numpy as np

import knuckle

model = knuckle.load("stack")
sim = knuckle.Sim(model, dt=1e-3)
run = sim.run(0.5)
print(run)
print("heaviest:", max(model.bodies, key=lambda b: b.mass).name)

weight = model.mass * np.linalg.norm(model.gravity)
loads = sim.contacts.force[:, 0]
on_floor = [load for load, pair in zip(loads, sim.contacts.names) if "floor" in pair]
print(f"the floor carries {sum(on_floor):.6f} N of {weight:.6f} N")
assert abs(sum(on_floor) - weight) < 1e-6 * weight

kind = knuckle.diagnose(sim).verdict.kind
print("forces are", "unique" if kind == knuckle.VerdictKind.UNIQUE else "not unique: " + kind.name.lower())

sim.v[2] = 0.5  # live: the next step starts with it
pool = knuckle.Pool(model, 4)
pool.v[:, 2] = np.linspace(0.0, 1.0, 4)
print(pool.step(100), pool.q[:, 2])
