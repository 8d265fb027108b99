#!/usr/bin/env bash
# fast-paths.sh [BUILD]: what each fast path buys, as docs/fast-paths.md has it: instructions of counted steps with the path off, over those
# with all paths on (valgrind). Scenes of bench/step: both by a new simulator from the same state. Robots of bench/robots (../shared/data): whole runs.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
robots="g1 anymal_c xarm7"
scenes="quadruped humanoid $robots wall pile-64 pile-100 pendulum-3 pendulum-30 contact-3 jam-12"
count() { # PATHS-OFF SCENE
  local run=("$build/bench/step" --count "$2" "$1")
  [[ " $robots " = *" $2 "* ]] && run=(env "KN_FAST=$1" "$build/bench/robots" --count "$2")
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=kn_counted_steps --trace-children=yes "${run[@]}" 2>&1 |
    sed -n 's/^.*Collected : \([0-9]*\)$/\1/p' | tail -1
}
echo "| path | $(echo "$scenes" | sed 's/ / | /g') |"
echo "|---|$(echo "$scenes" | sed 's/[^ ]* */---:|/g')"
declare -A with
for s in $scenes; do with[$s]=$(count "" "$s"); done
for path in $("$build/knuckle" list fast-paths | sed -n 's/^  \([a-z]*\) .*/\1/p') none; do
  line="| $path |"
  for s in $scenes; do line+=" $(awk "BEGIN { printf \"%.2f\", $(count "$path" "$s") / ${with[$s]} }") |"; done
  echo "$line"
done
