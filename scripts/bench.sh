#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: runs every bench in build/bench with the arguments given; tables on the terminal,
# results in bench/results.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
for bench in build/bench/*; do
  [ -f "$bench" ] && [ -x "$bench" ] || continue
  "$bench" "$@" > /dev/null || { echo "bench $(basename "$bench") failed" >&2; status=1; }
  echo >&2
done
exit $status
