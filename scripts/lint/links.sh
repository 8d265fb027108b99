#!/usr/bin/env bash
# links.sh LIBRARY NAME...: the library asks the loader for no other shared object than those named.
set -euo pipefail
library="$1"; shift
extra=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxF "$(printf '%s\n' "$@" ld-linux-x86-64.so.2)" || true)
[ -z "$extra" ] || { printf 'needs more than %s:\n%s\n' "$*" "$extra"; exit 1; }
