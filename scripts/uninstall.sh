#!/usr/bin/env bash
# uninstall.sh [BUILD_DIR]: removes what the last `make install` put there (install_manifest.txt), and folders of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
manifest="${1:-build}/install_manifest.txt"
[ -f "$manifest" ] || { echo "nothing is installed from this folder ($manifest is not there)"; exit 1; }
n=0
while read -r file || [ -n "$file" ]; do
  [ -e "${DESTDIR:-}$file" ] || [ -L "${DESTDIR:-}$file" ] || continue
  rm -f "${DESTDIR:-}$file"
  n=$((n + 1))
done < "$manifest"
sed "s#^#${DESTDIR:-}#" "$manifest" | grep -E '/knuckle/[^/]*$' | xargs -r -n1 dirname | sort -ru |
  while read -r folder; do rmdir "$folder" 2> /dev/null || true; done
echo "$n files removed"
