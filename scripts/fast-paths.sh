#!/usr/bin/env bash
# fast-paths.sh [BUILD]: what each fast path buys, as docs/fast-paths.md has it: instructions of the counted steps of
# bench/step with the path off, over those with all paths on, both by a new simulator from the same state (valgrind; the scenes on which a path acts).
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
scenes="quadruped humanoid pendulum-3 pendulum-30 contact-3 jam-12 pile-64"
count() { # PATHS-OFF SCENE
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=kn_counted_steps \
    "$build/bench/step" --count "$2" "$1" 2>&1 | sed -n 's/^.*Collected : \([0-9]*\)$/\1/p'
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
