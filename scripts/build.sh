#!/usr/bin/env bash
# build.sh PRESET: configures when needed and builds; silent when there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="$1"
dir="build-$preset"; [ "$preset" = release ] && dir=build
if [ ! -f "$dir/build.ninja" ]; then
  echo "building in $dir (the first build takes a few minutes)"
  launcher=()
  command -v ccache > /dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  cmake --preset "$preset" "${launcher[@]}" > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
fi
ninja -C "$dir" --quiet | { grep -v -e "no work to do" -e "^-- " || true; }
