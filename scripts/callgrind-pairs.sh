#!/usr/bin/env bash
# callgrind-pairs.sh [BUILD] [ROW…]: instructions per pair of rows of `bench/collision`, counted by valgrind.
# bench/results/pairs.txt keeps some of them.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
shift || true
out=$(mktemp)
trap 'rm -f "$out"' EXIT
if [ $# -eq 0 ]; then
  for where in "apart cold" "apart warm" "shallow cold" "shallow warm" "deep cold" "deep warm" "at rest warm"; do
    set -- "$@" "hull-20 $where" "hull-100 $where" "hull-1000 $where"
  done
  for pair in ellipsoid-ellipsoid cylinder-cylinder cylinder-box cylinder-hull ellipsoid-hull capsule-hull; do
    set -- "$@" "$pair at rest warm"
  done
fi
for row in "$@"; do
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect=kn_counted_pairs \
    "$build/bench/collision" --count "$row" 2>&1 | sed -n "s/^.*Collected : \([0-9]*\)$/\1/p" |
    awk -v row="$row" '{ printf "%-34s %8.0f\n", row, $1 / 1024 }'
done
