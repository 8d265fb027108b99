"""What Python costs: a step's overhead, rollouts on two threads, import to first step. Each is a best or middle value of many short
measurements, so that other programs on the machine do not matter."""

import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

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


WORK = """import time

def clocks():  # the wall, and of this thread: on a processor, and ready but waiting for one (other programs' doing)
    run, wait, _ = open("/proc/thread-self/schedstat").read().split()
    return time.perf_counter(), 1e-9 * int(run), 1e-9 * int(wait)

def rollout(sim, steps):
    sim.reset()
    before = clocks()
    sim.rollout(steps=steps)
    wall, run, wait = (b - a for a, b in zip(before, clocks()))
    return run + max(wall - run - wait, 0.0)  # what it takes where a processor is free: working, and waiting for anything else (a lock)
"""
CHILD = WORK + """
import sys, knuckle
sim = knuckle.Sim(knuckle.load("quadruped"))
for line in sys.stdin:
    print(rollout(sim, int(line)), flush=True)
"""


def test_two_threads_of_rollouts():
    """Two threads take as long as two processes for the same steps: neither waits for the other's lock. Threads that waited for each other
    would take twice as long. The time that a thread is ready and gets no processor does not count; the least of 5 to 25 rounds, in turn."""
    model, n = knuckle.load("quadruped"), 4000
    names: dict[str, Any] = {}
    exec(WORK, names)
    sims = [knuckle.Sim(model) for _ in range(2)]
    children = [subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    def processes() -> float:
        for c in children:
            c.stdin.write(f"{n}\n")
            c.stdin.flush()
        return max(float(c.stdout.readline()) for c in children)

    def threads(several: list[knuckle.Sim]) -> float:
        took: list[float] = []
        work = [threading.Thread(target=lambda s=s: took.append(names["rollout"](s, n))) for s in several]
        for w in work:
            w.start()
        for w in work:
            w.join()
        assert len(took) == len(several)
        return max(took)

    try:
        processes()  # both have started
        rounds: list[tuple[float, float, float]] = []
        good = False
        while not good and len(rounds) < 25:
            rounds.append((threads(sims), processes(), threads(sims[:1])))
            two, apart, one = (min(column) for column in zip(*rounds))
            good = len(rounds) >= 5 and (2 * one / two >= 1.8 or apart / two >= 0.95)
        print(f"two threads: {2 * one / two:.2f} times one, {apart / two:.2f} of two processes, {len(rounds)} rounds")
        assert good
    finally:
        for c in children:
            c.stdin.close()
            c.wait()
            c.stdout.close()


def test_import_to_first_step(tmp_path):
    """Processor time of a new process, the least of seven, with compiled modules as an installed package has them: at most 0.3 s. On a machine
    (or at a moment) where NumPy alone takes more than half of that, at most twice NumPy, measured in turn with it. It was 1.6 times NumPy when
    this was written (the wheel, which loads no HDF5 and no OpenBLAS, less), and 2.3 when every module was loaded at once."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    codes = ("import numpy", "import knuckle; knuckle.Sim(knuckle.load('pendulum-2014')).step()")

    def took(code: str) -> float:
        code += "; import time; print(time.process_time())"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout)

    rounds = [[took(code) for code in codes] for _ in range(7)]
    numpy, ours = (min(column) for column in zip(*rounds))
    print(f"import to first step: {ours:.2f} s of processor time, NumPy alone {numpy:.2f} s")
    assert ours <= max(0.3, 2.0 * numpy)


def test_a_first_step_loads_little():
    """Of the package the modules that a step needs, and beside NumPy's own of the standard library only what dataclasses need."""
    code = """import sys, numpy
before = set(sys.modules)
import knuckle
knuckle.Sim(knuckle.load("pendulum-2014")).step()
print(*sorted({m.removeprefix("knuckle.") for m in set(sys.modules) - before if m.startswith("knuckle.")}))
print(*[m for m in ("json", "html", "subprocess", "tempfile", "argparse", "difflib", "logging", "asyncio", "matplotlib", "pandas") if m in set(sys.modules) - before])
for name in knuckle.__all__:
    assert getattr(knuckle, name) is getattr(knuckle, name) and name in dir(knuckle)
print(callable(knuckle.fit), callable(knuckle.record))
"""
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == ["_kn _kn.lib arrays errors model poses report run sim state", "", "True True"]
