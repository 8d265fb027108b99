"""The runs of test/golden/hashes.txt through the Python package, for scripts/hashes.sh: lines "hash  run" in, "hash steps run" out.

hashes.py LOCALE: the whole program in that locale, numbers of models with its decimal comma would not be read.
"""

import locale
import sys

import knuckle


def run(words: list[str]) -> tuple[str, int]:
    """The options of the command line as arguments of `load`, `Sim` and `run`."""
    name, flags = words[0], dict(passive=True) if "--passive" in words else {}
    pairs = [w for w in words[1:] if w != "--passive"]
    given = dict(zip([p.lstrip("-") for p in pairs[::2]], pairs[1::2], strict=True))
    how = {k: given.pop(k) for k in ("stepper", "formulation", "law") if k in given}
    if "friction" in given:
        how["friction"] = int(given.pop("friction").removeprefix("poly"))
    if "dt" in given:
        how["dt"] = float(given.pop("dt"))
    seconds = float(given.pop("time"))
    model = knuckle.load(name, **flags, **{k: v if k in ("base", "keyframe") else float(v) for k, v in given.items()})
    sim = knuckle.Sim(model, **how)
    ran = sim.run(seconds)
    return sim.hash, ran.steps


if sys.argv[1]:
    locale.setlocale(locale.LC_ALL, sys.argv[1])
    assert f"{1.5:n}" == "1,5"
for line in sys.stdin:
    text = line[18:].strip()
    try:
        found = run(text.split())
    except knuckle.KnuckleError as e:
        found = str(e).replace(" ", "_"), 0
    print(*found, text, flush=True)
