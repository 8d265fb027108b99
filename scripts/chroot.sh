#!/usr/bin/env bash
# The wheel of scripts/wheel.sh in a fresh Debian 12 without a compiler (debootstrap, as root): installs and runs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install.sh debootstrap
root=$(mktemp -d)
trap 'umount "$root/proc" 2> /dev/null || true; rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" > "$root.log" 2>&1 ||
  { tail -5 "$root.log"; exit 1; }
mount -t proc proc "$root/proc" || true
cp /etc/resolv.conf "$root/etc/" 2> /dev/null || true
[ -f /etc/pip.conf ] && cp /etc/pip.conf "$root/etc/"
mkdir "$root/work"
cp build-wheel/dist/*.whl "$root/work/"
cp -r bindings/python/README.md "$root/work/"
mkdir "$root/work/tests" && cp bindings/python/tests/fresh.sh "$root/work/tests/"
! chroot "$root" sh -c 'command -v cc || command -v gcc' || { echo "there is a compiler"; exit 1; }
chroot "$root" env PIP_INDEX_URL="${PIP_INDEX_URL:-}" sh -c '[ -n "$PIP_INDEX_URL" ] || unset PIP_INDEX_URL
  python3 -m venv /work/venv && /work/venv/bin/pip install -q /work/*.whl && cd /work && bash tests/fresh.sh /work/venv/bin/python'
