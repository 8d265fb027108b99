#!/usr/bin/env bash
# docs_commands.sh BUILD_DIR: every command shown in a block of README.md, CONTRIBUTING.md and docs/*.md runs as printed, after a
# plain `make`, in an empty folder. Commands that need a file of the reader's get one written here: a robot with an elbow, its URDF,
# a recording of it, problem files. Benches are counted and left out (minutes each; `make bench` runs them), and so is
# `knuckle view` (it serves until it is stopped, and its page is built apart; `make viewer-test`). Every page is in the index.
set -uo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$(cd "$1" && pwd)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin build home && ln -s "$build/knuckle" bin/knuckle && ln -s "$build/knuckle" build/knuckle
export PATH="$work/bin:$PATH" HOME="$work/home"
mkdir -p home/.local/share/bash-completion/completions

ln -s "$root/examples" examples
cp examples/robot.xml robot.xml; cp examples/robot.xml arm.xml; cp examples/robot.urdf robot.urdf
cases=$(seq -s, 1 18 | sed 's/\([0-9]*\)/\1e-4/g')
for study in drop pendulum; do
  printf 'scene: stack\nduration: 0.004\nsweep: {vary: {dt: [%s]}, outputs: {n: contacts}}\n' "$cases" > $study.yaml
done
echo '{"M": [[2, 1], [1, 2]], "q": [-1, -1]}' > problem.json
knuckle run robot.xml --time 1 -o run.mcap > log 2>&1 && mkdir keep && cp run.mcap keep/run.mcap && cp run.mcap robot.mcap && knuckle run stack --time .01 --problems fclib >> log 2>&1 &&
  cp "$(ls fclib/*.hdf5 | head -1)" Rover1039.hdf5 || { echo "the files of the test could not be made"; cat log; exit 1; }

passed=0 failed=0 skipped=0
run() { # page line
  local command="${2%%   #*}" ok=0
  command="${command%%  # *}"
  case "$command" in
    *"knuckle bench "[a-z]* | *"| man -l"* | *"knuckle view "*) skipped=$((skipped + 1)); return ;;
  esac
  rm -rf demo robot.yaml
  [[ "$command" == *"robot.yaml"* && "$command" != *"study init"* ]] && knuckle study init robot.xml > /dev/null
  (eval "timeout 60 true; $command") > out 2> err < /dev/null || ok=$?
  # 1 is an answer too: a violation found
  if [ "$ok" -le 1 ]; then passed=$((passed + 1)); else
    failed=$((failed + 1)); echo "FAILED ($ok): $1: $command"; tail -3 err
  fi
}
for page in "$root"/README.md "$root"/CONTRIBUTING.md "$root"/docs/*.md; do
  cp keep/run.mcap run.mcap
  while read -r line; do run "$(basename "$page")" "$line"; done < <(
    awk '/^```/ {inside = !inside; next} inside || /^    / {sub(/^ */, ""); print}' "$page" | grep -E '^(build/)?knuckle ')
done
[ "$passed" -ge 40 ] || { echo "found only $passed commands"; failed=$((failed + 1)); }
for page in "$root"/docs/*.md; do
  name=$(basename "$page")
  [ "$name" = README.md ] || grep -q "($name)" "$root/docs/README.md" || { echo "docs/README.md does not list $name"; failed=$((failed + 1)); }
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
