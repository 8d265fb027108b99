#!/usr/bin/env bash
# clang-format agrees with every C and C++ file. `scripts/lint/format.sh --fix` formats them. A file that has not
# changed since it was found good is not looked at again (its hash is kept in the build folder given by KN_CACHE).
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lint/files.sh
mapfile -t all < <(files '*.c' '*.h' '*.cpp' '*.hpp')
if [ "${1:-}" = --fix ]; then
  printf '%s\n' "${all[@]}" | xargs -r -P2 -n20 clang-format -i
  exit
fi
cache="${KN_CACHE:-/dev/null}"
good=$(mktemp)
trap 'rm -f "$good"' EXIT
salt=$({ clang-format --version; cat .clang-format; } | sha1sum | cut -c1-8)
sha1sum "${all[@]}" | sed "s/^/$salt/" > "$good"
mapfile -t changed < <(if [ -f "$cache" ]; then grep -vxFf "$cache" "$good" || true; else cat "$good"; fi | sed 's/^[^ ]*  //')
if [ ${#changed[@]} -gt 0 ]; then
  faults=$(printf '%s\n' "${changed[@]}" | xargs -P2 -n20 clang-format --dry-run -Werror 2>&1 | grep -E 'error:' | head -20 || true)
  if [ -n "$faults" ]; then
    printf '%s\n' "$faults" "format them with: scripts/lint/format.sh --fix"
    exit 1
  fi
fi
[ "$cache" = /dev/null ] || cp "$good" "$cache"
echo "${#all[@]} files"
