#!/usr/bin/env bash
# callgrind.sh [BUILD] [SCENE…]: instructions per step of the fixed scenes of bench/step, counted by valgrind.
# Prints the lines of bench/results/callgrind.txt, against which test/bench/instructions.c compares. A count
# that may grow gets a new line there and a note in its third column that says why.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
shift || true
out=$(mktemp)
trap 'rm -f "$out"' EXIT
[ $# -gt 0 ] || set -- quadruped humanoid humanoid-shaken pendulum-3 pendulum-30 contact-3 pile-64 \
  booster_t1 talos toddlerbot g1 anymal_c softfoot cassie xarm7 robotiq shadow_hand
for scene in "$@"; do
  bench=step
  grep -q "{\"$scene\", \"[a-z0-9_]*/" bench/robots/stages.c && bench=robots # ten robots of ../shared/data/models
  valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect=kn_counted_steps \
    "$build/bench/$bench" --count "$scene" 2>&1 | sed -n "s/^.*Collected : \([0-9]*\)$/$scene \1/p"
done
