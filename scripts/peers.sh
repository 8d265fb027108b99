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
