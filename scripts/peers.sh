#!/usr/bin/env bash
# Installs the engines and libraries Knuckle is measured against (tests and benches only; the library never
# links them): Debian packages, and wheels with pinned versions in a virtual environment. Says what it
# installs; silent when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."
venv="${KN_PEERS:-/opt/knuckle-peers}"
scripts/install.sh g++ python3-venv libeigen3-dev libbullet-dev libdart-dev libdart-external-ikfast-dev libode-dev libfcl-dev libccd-dev \
  libsiconos-numerics-dev libfclib-dev libassimp-dev
sudo=""; [ -w "$(dirname "$venv")" ] || [ -w "$venv" ] || sudo="sudo"
if [ ! -x "$venv/bin/pip" ]; then
  echo "creating the virtual environment $venv"
  $sudo python3 -m venv "$venv"
fi
wanted=$(grep -v '^#' bench/peers.txt | sort)
have=$("$venv/bin/pip" list --format=freeze --disable-pip-version-check 2>/dev/null | sort)
missing=$(comm -23 <(echo "$wanted") <(echo "$have"))
if [ -n "$missing" ]; then
  echo "installing into $venv:" $missing
  $sudo "$venv/bin/pip" install --quiet --disable-pip-version-check $missing
fi
mujoco3=$(sed -n 's/^# beside it, in a folder of its own: //p' bench/peers.txt)
if [ -n "$mujoco3" ] && [ ! -d "$venv/mujoco3/mujoco-${mujoco3#*==}.dist-info" ]; then
  echo "installing into $venv/mujoco3: $mujoco3"
  $sudo rm -rf "$venv/mujoco3"
  $sudo "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$venv/mujoco3" "$mujoco3"
fi
# What `knuckle bench …` loads: the peers' side of the benches, where the project is built already.
if [ -f build/build.ninja ]; then
  cmake build > /dev/null
  ninja -C build --quiet bench_peers
fi
