"""What Python costs: a step's overhead, rollouts on two threads, import to first step. Each is a best or middle value of many short
measurements, so that other programs on the machine do not matter."""

import os
import statistics
import subprocess
import sys
import threading
import time

import knuckle

STEPS = 100


def test_overhead_of_a_step():
    """sim.step() beside the same steps in one call, in blocks of some 30 µs, which mostly fit between two interruptions."""
    spec = knuckle.Spec("pendulum")
    spec.body("bob", mass=1.0, inertia=[1, 1, 1])
    spec.joint("pin", body="bob", axis=[0, 1, 0])
    sim = knuckle.Sim(spec.compile())
    rows, clock, step, many = [None] * STEPS, time.perf_counter_ns, sim.step, sim._many
    single, joined, empty = [], [], []
    for _ in range(2000):
        a = clock()
        for _ in rows:
            step()
        b = clock()
        many(STEPS)
        c = clock()
        for _ in rows:
            pass
        single.append(b - a)
        joined.append(c - b)
        empty.append(clock() - c)
    middle = (statistics.median(single) - statistics.median(joined) - statistics.median(empty)) / STEPS
    best = (min(single) - min(joined) - min(empty)) / STEPS
    print(f"sim.step(): {best:.0f} ns over C at best, {middle:.0f} ns in the middle")
    assert best <= 300.0


CHILD = """import sys, knuckle
sim = knuckle.Sim(knuckle.load("quadruped"))
sim.rollout(steps=20)
for line in sys.stdin:
    sim.reset()
    sim.rollout(steps=int(line))
    print("done", flush=True)
"""


def test_two_threads_of_rollouts():
    """Two threads take as long as two processes for the same steps: neither waits for the other's lock. Threads that waited for each
    other would reach half of it. Middle values of 3 to 15 rounds: a busy machine spoils single ones."""
    model, n = knuckle.load("quadruped"), 1500
    sims = [knuckle.Sim(model) for _ in range(2)]
    children = [subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    def processes() -> float:
        start = time.perf_counter()
        for c in children:
            c.stdin.write(f"{n}\n")
            c.stdin.flush()
        for c in children:
            assert c.stdout.readline() == "done\n"
        return time.perf_counter() - start

    def threads(several: list[knuckle.Sim]) -> float:
        work = [threading.Thread(target=s.rollout, kwargs={"steps": n}) for s in several]
        start = time.perf_counter()
        for w in work:
            w.start()
        for w in work:
            w.join()
        return time.perf_counter() - start

    try:
        processes()  # both have started
        rounds: list[tuple[float, float]] = []
        good = False
        while not good and len(rounds) < 15:
            for s in sims:
                s.reset()
            two, apart = threads(sims), processes()
            sims[0].reset()
            rounds.append((2 * threads(sims[:1]) / two, apart / two))
            faster, share = (statistics.median(column) for column in zip(*rounds))
            good = len(rounds) >= 3 and (faster >= 1.8 or share >= 0.95)
        print(f"two threads: {faster:.2f} times one, {share:.2f} of two processes")
        assert good
    finally:
        for c in children:
            c.stdin.close()
            c.wait()
            c.stdout.close()


def test_import_to_first_step(tmp_path):
    """Of processor time, at best of five, with compiled modules as an installed package has them; NumPy's own import is two thirds of it."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    code = "import time, knuckle; knuckle.Sim(knuckle.load('pendulum-2014')).step(); print(time.process_time())"
    took = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout) for _ in range(5))
    print(f"import to first step: {took:.2f} s of processor time")
    assert took <= 0.3
