#!/usr/bin/env bash
# figures.sh [PRESET]   the curves in the pages about physics, from runs made now (docs/pictures/*.svg); quick
# figures.sh learn [PRESET]   the curve of the learning example (docs/pictures/learning.svg): three minutes of two cores, after scripts/python.sh PRESET
set -euo pipefail
cd "$(dirname "$0")/.."
what=curves; [ "${1:-}" = learn ] && { what=learn; shift; }
preset="${1:-release}"
dir="$PWD/build-$preset"; [ "$preset" = release ] && dir="$PWD/build"
if [ "$what" = learn ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  PYTHONPATH="$dir/bindings/python" "$dir/venv/bin/python" bindings/python/examples/learn.py --seconds 180 --out "$work/learning"
  cp "$work/learning.svg" docs/pictures/learning.svg
  exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curves() { # picture, run's words, quantities
  local picture=$1 words=$2; shift 2
  # shellcheck disable=SC2086
  "$dir/knuckle" run $words -q -o "$work/$picture.mcap" > /dev/null
  "$dir/knuckle" plot "$work/$picture.mcap" "$@" -q -o "docs/pictures/$picture.svg"
}
curves events-bounce "bouncing-ball --stepper event --dt 0.01 --time 5" q.ball.z energy.kinetic,energy.potential,energy.total
curves contact-slide "sliding-block --dt 0.01 --time 2" v.joint0.vx energy.total
curves contact-rock "rocking-block --dt 0.002 --time 2" v.joint0.wy energy.total
