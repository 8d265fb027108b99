#!/usr/bin/env bash
# fresh.sh PYTHON: the package of the wheel as installed there: the README's lines run, a run goes into the viewer's page that
# is inside the package, and import to first step take at most 0.3 s of processor time, or on a slower machine twice NumPy's import.
set -euo pipefail
python="$1"
here="$(cd "$(dirname "$0")/.." && pwd)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
sed -n '/^```python$/,/^```$/p' "$here/README.md" | grep -v '^```' > readme.py
"$python" readme.py > out.txt
grep -q 'hash [0-9a-f]\{16\}' out.txt || { echo "the README's lines print no hash"; exit 1; }
unset KNUCKLE_VIEW_PAGE
"$python" - << 'EOF'
import pathlib, knuckle
inside = pathlib.Path(knuckle.__file__).parent / "view.html"
assert inside.is_file(), f"{inside} is not there"
knuckle.view("stack", 0.1).save("run.html")
page = pathlib.Path("run.html").read_text()
assert '"words": ["stack"' in page and len(page) > 1_000_000, "the run is not in the page, or the engine is not"
EOF
least() { for _ in 1 2 3 4 5 6 7; do "$python" -c "$1; import time; print(time.process_time())"; done | sort -n | head -1; }
awk -v numpy="$(least 'import numpy')" -v ours="$(least 'import knuckle; knuckle.Sim(knuckle.load("pendulum-2014")).step()')" 'BEGIN {
  printf "import to first step: %.2f s of processor time, NumPy alone %.2f s\n", ours, numpy
  exit ours > 0.3 && ours > 2 * numpy }' || { echo "more than 0.3 s, and more than twice NumPy"; exit 1; }
