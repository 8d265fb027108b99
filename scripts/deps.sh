#!/usr/bin/env bash
# Installs the Debian packages the build needs; says which; silent when all are there.
set -euo pipefail
packages=(gcc g++ make cmake ninja-build pkg-config clang-format libexpat1-dev libqhull-dev liblapacke-dev libopenblas-dev
  libdsdp-dev libsundials-dev libzstd-dev libhdf5-dev libfyaml-dev libjansson-dev)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
sudo=""; [ "$(id -u)" -eq 0 ] || sudo="sudo"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
