#!/usr/bin/env bash
# viewer.sh        builds viewer/dist/view.html (the engine must be there: make wasm); packages of npm with pinned versions
# viewer.sh test   its tests: types, node, and a real Chromium
# viewer.sh shots  the pictures of docs/viewer.md and of the README
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/viewer-tools.sh
PATH="$(scripts/viewer-tools.sh path)/bin:$PATH"
export PATH
cd viewer
stamp=node_modules/.knuckle-lock
if ! cmp -s package-lock.json "$stamp"; then
  echo "installing npm packages into viewer/node_modules"
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error
  cp package-lock.json "$stamp"
fi
case "${1:-build}" in
  build)
    # Nothing to do when the page is newer than all it is made of.
    if [ ! -f dist/view.html ] || [ -n "$(find src engine build.mjs package-lock.json -newer dist/view.html -type f -print -quit)" ]; then
      node_modules/.bin/tsc --noEmit
      node build.mjs
    fi ;;
  test)
    ../scripts/install.sh chromium
    node_modules/.bin/tsc --noEmit
    node --test "test/*.test.ts" ;;
  shots)
    ../scripts/install.sh chromium pngquant
    node test/shots.mjs "${@:2}" ;;
  *) echo "viewer.sh [build|test|shots]" >&2; exit 2 ;;
esac
