#!/usr/bin/env bash
# The main job: the pendulum of the papers swings onto floor and wall; leaves demo/index.html to look at. That is the
# viewer's page with the engine inside, where the viewer is built or can be built soon (its tools here, or installed
# within KN_DEMO_PATIENCE seconds); otherwise a plain page with the animation and the curves. Both pages show the run
# whose audit is printed.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
patience="${KN_DEMO_PATIENCE:-90}"

viewer() {
  timeout "$patience" scripts/viewer-tools.sh && timeout $((patience + 180)) viewer/engine/build.sh && timeout "$patience" scripts/viewer.sh
}

build/knuckle demo -o demo/plain.html | grep -v '^look at it'
[ "$patience" = 0 ] || [ -f viewer/dist/view.html ] || echo "building the viewer, once (two minutes; KN_DEMO_PATIENCE=0 does without)"
if [ "$patience" != 0 ] && viewer > "$log" 2>&1 && build/knuckle view pendulum-2014 --html demo/index.html --quiet > /dev/null 2>> "$log"; then
  rm demo/plain.html
else
  mv demo/plain.html demo/index.html
  why=$(grep -v -e '^$' -e 'complete log of this run' "$log" | tail -1 || true) # npm ends with where its log is
  echo "a plain page, not the viewer's${why:+ ($why)}"
fi
echo "look at it: demo/index.html"
