#!/usr/bin/env bash
# python.sh PRESET: a virtual environment in the preset's build folder with what the package's tests need (PyPI, by name), and
# the package built against the library that is there. Silent when there is nothing to do; says so and leaves it out when
# there is no Python with venv or no PyPI.
set -uo pipefail
cd "$(dirname "$0")/.."
preset="$1"
dir="build-$preset"; [ "$preset" = release ] && dir=build
wanted=scripts/pins/tests.txt # versions and hashes
venv="$dir/venv"
if ! cmp -s "$wanted" "$venv/requirements.txt"; then
  echo "installing $(tr '\n' ' ' < scripts/pins/tests.in)into $venv"
  python3 -m venv "$venv" > /dev/null 2>&1 && "$venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$wanted" &&
    cp "$wanted" "$venv/requirements.txt" || { echo "python: no virtual environment, its tests are left out"; exit 0; }
fi
grep -q "KN_PYTHON:FILEPATH=$PWD/$venv/bin/python" "$dir/CMakeCache.txt" ||
  cmake "$dir" -DKN_PYTHON="$PWD/$venv/bin/python" > /dev/null
ninja -C "$dir" --quiet knuckle_python | { grep -v "no work to do\|^generating" || true; }
