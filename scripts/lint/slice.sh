#!/usr/bin/env bash
# slice.sh FILE LIBRARY...: the object files listed in FILE (one per line) need nothing beyond the libraries given.
set -euo pipefail
list="$1"; shift
out=$(mktemp --suffix=.so)
trap 'rm -f "$out" "$out.log"' EXIT
mapfile -t objects < <(grep . "$list")
if ! "${CC:-cc}" -shared -o "$out" "${objects[@]}" -Wl,-z,defs -Wl,--as-needed "$@" > "$out.log" 2>&1; then
  grep -E 'undefined|error|cannot' "$out.log" | sed 's|.*/src/||' | sort -u | head -20
  exit 1
fi
echo "${#objects[@]} object files link alone"
