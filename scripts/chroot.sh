#!/usr/bin/env bash
# The wheel of scripts/wheel.sh in a fresh Debian 12 without a compiler (debootstrap, as root): installs and runs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh debootstrap
root=$(mktemp -d)
trap 'umount "$root/proc" 2> /dev/null || true; rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" > "$root.log" 2>&1 ||
  { tail -5 "$root.log"; exit 1; }
mount -t proc proc "$root/proc" || true
mkdir "$root/work"
build-wheel/venv/bin/pip download -q --disable-pip-version-check -d "$root/work" build-wheel/dist/*.whl # and what it depends on
cp -r bindings/python/README.md "$root/work/"
mkdir "$root/work/tests" && cp bindings/python/tests/fresh.sh "$root/work/tests/"
! chroot "$root" sh -c 'command -v cc || command -v gcc' || { echo "there is a compiler"; exit 1; }
chroot "$root" sh -c 'unset PIP_CERT PIP_FIND_LINKS
  python3 -m venv /work/venv && /work/venv/bin/pip install -q --no-index --find-links /work knuckle &&
  cd /work && bash tests/fresh.sh /work/venv/bin/python'
