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
pins=scripts/pins # versions and hashes
plain() { sed -nE 's/^([A-Za-z0-9._-]+)==([^ ;]+).*/\1 \2/p' | awk '{ gsub(/[_.]/, "-", $1); print tolower($1) "==" $2 }' | sort; }
missing=$(comm -23 <(plain < $pins/peers.txt) <("$venv/bin/pip" list --format=freeze --disable-pip-version-check 2> /dev/null | plain))
if [ -n "$missing" ]; then
  echo "installing into $venv:" $missing
  $sudo "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r $pins/peers.txt
fi
mujoco3=$(plain < $pins/mujoco3.txt)
if [ ! -d "$venv/mujoco3/mujoco-${mujoco3#*==}.dist-info" ]; then
  echo "installing into $venv/mujoco3: $mujoco3"
  $sudo rm -rf "$venv/mujoco3"
  $sudo "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --target "$venv/mujoco3" -r $pins/mujoco3.txt
fi
# What `knuckle bench …` loads: the peers' side of the benches, where the project is built already.
if [ -f build/build.ninja ]; then
  cmake build > /dev/null
  ninja -C build --quiet bench_peers
fi
