#!/usr/bin/env bash
# rerun.sh KNUCKLE [--if-there]: a recording goes through Rerun (PyPI, 800 MB, in a virtual environment of its own): its MCAP checker and converter find transforms
# and numbers to plot; scripts/to_rerun.py gives it meshes that move, and force arrows with names and newtons.
set -euo pipefail
knuckle="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
here="$(cd "$(dirname "$0")" && pwd)"
venv="${KN_RERUN:-/opt/knuckle-rerun}"
if [ "${2:-}" = --if-there ] && [ ! -x "$venv/bin/rerun" ]; then
  echo "0 passed, 0 failed, 1 skipped (no Rerun in $venv: make nightly)"
  exit 77
fi
if ! "$venv/bin/python" -c 'import rerun, mcap_protobuf' 2> /dev/null; then
  echo "installing rerun-sdk into $venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$here/pins/rerun.txt"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/cube.xml" << 'XML'
<mujoco><asset><mesh name="tetra" vertex="0 0 0  .2 0 0  0 .2 0  0 0 .2"/></asset><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
<body name="my box" pos="0 0 .1"><freejoint/><geom name="cube" type="box" size=".1 .1 .1" mass="2"/>
<body name="arm" pos="0 0 .15"><joint name="elbow" axis="0 0 1"/><geom type="mesh" mesh="tetra" mass=".1"/></body></body></worldbody></mujoco>
XML
"$knuckle" run "$work/cube.xml" --time 0.5 -q -o "$work/q.mcap" > /dev/null
run() { "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
run "$venv/bin/rerun" mcap check "$work/q.mcap"
! grep -q -i error "$work/log" || { cat "$work/log"; exit 1; }
run "$venv/bin/rerun" mcap convert "$work/q.mcap" -o "$work/q.rrd"
run "$venv/bin/python" "$here/to_rerun.py" "$work/q.mcap" -o "$work/scene.rrd"
"$venv/bin/rerun" rrd print "$work/q.rrd" > "$work/printed" 2>&1
"$venv/bin/rerun" rrd print -vvv "$work/scene.rrd" > "$work/scene" 2>&1
has() { grep -q -- "$2" "$1" || { echo "Rerun: no $3"; exit 1; }; }
has "$work/printed" ' - /tf - data columns: .*Transform3D:child_frame.*Transform3D:translation' 'transforms in the recording itself'
has "$work/printed" ' - /force_on/my\\ box - data columns: \[knuckle.BodyForce:message' 'forces to plot in the recording itself'
has "$work/printed" ' - /energy - data columns: \[knuckle.Energy:message' 'energy to plot in the recording itself'
has "$work/scene" '/world/arm/mesh0' 'mesh on its body'
has "$work/scene" 'Mesh3D:vertex_positions' 'mesh'
has "$work/scene" '/world/my\\ box' 'moving body'
has "$work/scene" 'Arrows3D:labels' 'labels of arrows'
has "$work/scene" 'floor on cube: ' 'names of forces'
has "$work/scene" '/plots/force_on/my\\ box/normal' 'plotted force'
has "$work/scene" '20.60' 'plotted force of 2.1 kg, 20.601 N'
echo "Rerun $("$venv/bin/rerun" --version 2> /dev/null | head -1 | cut -d' ' -f2): transforms, meshes, force arrows with names, plotted forces and energies found"
echo "1 passed, 0 failed, 0 skipped"
