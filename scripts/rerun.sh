#!/usr/bin/env bash
# rerun.sh KNUCKLE: a recording goes through Rerun's own MCAP checker and converter (PyPI, 800 MB, in a virtual environment of its own).
set -euo pipefail
knuckle="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
venv="${KN_RERUN:-/opt/knuckle-rerun}"
if [ ! -x "$venv/bin/rerun" ]; then
  echo "installing rerun-sdk into $venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check rerun-sdk==0.41.0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$knuckle" run quadruped --time 0.5 -q -o "$work/q.mcap" > /dev/null
"$venv/bin/rerun" mcap check "$work/q.mcap" > "$work/check" 2>&1 || { cat "$work/check"; exit 1; }
"$venv/bin/rerun" mcap convert "$work/q.mcap" -o "$work/q.rrd" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$venv/bin/rerun" rrd print "$work/q.rrd" > "$work/printed" 2>&1
for topic in /tf /scene /joint_states /contacts /energy /report; do
  grep -q " - $topic - data columns: .*McapMessage:data" "$work/printed" || { echo "Rerun does not show $topic"; exit 1; }
done
echo "Rerun $("$venv/bin/rerun" --version 2> /dev/null | head -1 | cut -d' ' -f2): structure sound, every channel converted (JSON messages as text)"
