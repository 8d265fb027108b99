#!/usr/bin/env bash
# install.sh PACKAGE...: installs the Debian packages that are missing; says which; silent when all are there.
set -euo pipefail
missing=()
for p in "$@"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing Debian packages: ${missing[*]}"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || { echo "run as root or install sudo, then try again" >&2; exit 1; }
  sudo=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Another program may be installing at the same time: wait for it, some minutes at most.
try() { "${sudo[@]}" apt-get update -qq && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=120 --no-install-recommends "${missing[@]}"; }
for _ in 1 2 3 4 5 6; do
  try > "$log" 2>&1 && exit 0
  grep -q 'Could not get lock\|Unable to lock' "$log" || break
  sleep 15
done
tail -20 "$log" >&2
echo "could not install: ${missing[*]}" >&2
exit 1
