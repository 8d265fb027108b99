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

model() {
  cat << 'XML'
<mujoco model="arm"><option timestep="0.001"/><worldbody><geom name="floor" type="plane" size="2 2 .1"/>
<body name="upper" pos="0 0 0.45"><joint name="shoulder" axis="0 1 0"/><geom name="arm" type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
<body name="fore" pos=".35 0 0"><joint name="elbow" axis="0 1 0"/><geom name="hand" type="capsule" fromto=".05 0 0 .3 0 0" size=".04"/></body></body>
</worldbody><actuator><position name="servo" joint="elbow" kp="1"/></actuator></mujoco>
XML
}
model > robot.xml; model > arm.xml
cat > robot.urdf << 'XML'
<robot name="robot"><link name="base"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size=".2 .2 .2"/></geometry></collision></link>
<link name="fore"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius=".1"/></geometry></collision></link>
<joint name="elbow" type="continuous"><parent link="base"/><child link="fore"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/></joint></robot>
XML
printf 'scene: stack\nduration: 0.002\nsweep: {vary: {dt: {from: 1e-4, to: 1e-3, count: 20}}, outputs: {n: contacts}}\n' > drop.yaml
cp drop.yaml pendulum.yaml
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
