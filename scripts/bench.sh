#!/usr/bin/env bash
# bench.sh [ARGUMENT...]: runs every bench in build/bench with the arguments given; tables on the terminal,
# results in bench/results.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
echo "building the peers' side of the benches (minutes the first time)" >&2
ninja -C build --quiet bench_peers >&2 || exit 1
for bench in build/bench/*; do
  [ -f "$bench" ] && [ -x "$bench" ] || continue
  "$bench" "$@" > /dev/null || { echo "bench $(basename "$bench") failed" >&2; status=1; }
  echo >&2
done
exit $status
