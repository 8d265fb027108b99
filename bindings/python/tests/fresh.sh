#!/usr/bin/env bash
# fresh.sh PYTHON: the package of the wheel as installed there: the README's lines run, a run goes into the viewer's page that
# is inside the package, and import to first step take at most 0.3 s of processor time (NumPy's own import is two thirds of it).
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
best=$(for i in 1 2 3 4 5; do
  "$python" -c 'import time, knuckle; knuckle.Sim(knuckle.load("pendulum-2014")).step(); print(time.process_time())'
done | sort -n | head -1)
awk -v t="$best" 'BEGIN { printf "import to first step: %.2f s\n", t; exit t > 0.3 }' || { echo "more than 0.3 s"; exit 1; }
