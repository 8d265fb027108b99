#!/usr/bin/env bash
# ray.sh [PRESET]: Ray from PyPI into the preset's virtual environment, and a study run on it: the same bytes as from the command line.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="${1:-release}"
dir="$PWD/build-$preset"; [ "$preset" = release ] && dir="$PWD/build"
scripts/python.sh "$preset"
"$dir/venv/bin/python" -c 'import ray' 2> /dev/null || "$dir/venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r scripts/pins/ray.txt
PYTHONPATH="$dir/bindings/python" KN_COMMAND="$dir/knuckle" PYTHONDONTWRITEBYTECODE=1 \
  "$dir/venv/bin/python" -m pytest -p no:cacheprovider bindings/python/tests/test_sweeps.py -k ray
