#!/usr/bin/env bash
# build.sh PRESET: configures when needed and builds; quiet when nothing is to be done.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="$1"
dir="build-$preset"; [ "$preset" = release ] && dir=build
if [ ! -f "$dir/build.ninja" ]; then
  launcher=()
  command -v ccache > /dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  log=$(mktemp)
  if ! cmake --preset "$preset" "${launcher[@]}" > "$log" 2>&1; then
    cat "$log" >&2; rm -f "$log"; exit 1
  fi
  rm -f "$log"
fi
cmake --build "$dir" -- --quiet
