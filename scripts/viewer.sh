#!/usr/bin/env bash
# viewer.sh        builds viewer/dist/view.html (the engine must be there: make wasm); packages of npm with pinned versions
# viewer.sh test   its tests: types, node, and a real Chromium
# viewer.sh quick KNUCKLE   the part of them that is in `make test`; builds engine and page first; 77 where the tools
#                  cannot be installed
# viewer.sh playground FOLDER   the playground page as FOLDER/index.html, for a site
# viewer.sh shots  the pictures of docs/viewer.md and of the README
set -euo pipefail
unset KN_FAST # the page has no environment: what it is compared with takes all fast paths too
from=$PWD
cd "$(dirname "$0")/.."
skip() { echo "the viewer's tools cannot be installed: ${1}"; echo "0 passed, 0 failed, 1 skipped"; exit 77; }
if [ "${1:-}" = quick ]; then
  KN_KNUCKLE="$(cd "$(dirname "$2")" && pwd)/$(basename "$2")"
  export KN_KNUCKLE
  timeout 240 scripts/viewer-tools.sh || skip "zig, Node, sources of three libraries"
  timeout 240 scripts/install.sh chromium || skip "chromium"
  viewer/engine/build.sh
fi
scripts/viewer-tools.sh
PATH="$(scripts/viewer-tools.sh path)/bin:$PATH"
export PATH
cd viewer
stamp=node_modules/.knuckle-lock
if ! cmp -s package-lock.json "$stamp"; then
  echo "installing npm packages into viewer/node_modules"
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error || { [ "${1:-}" != quick ] || skip "packages of npm"; exit 1; }
  cp package-lock.json "$stamp"
fi
# Nothing to do when the page is newer than all it is made of.
page() {
  [ -f dist/view.html ] && [ -z "$(find src engine build.mjs playground.json package-lock.json -newer dist/view.html -type f -print -quit)" ] && return
  node_modules/.bin/tsc --noEmit
  node build.mjs
}
case "${1:-build}" in
  build) page ;;
  quick)
    page
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    status=0
    node --test --test-concurrency=1 test/quick.test.ts test/engine.test.ts test/run.test.ts > "$log" 2>&1 || status=1
    [ $status = 0 ] || cat "$log"
    awk '/^ℹ pass /{p=$3} /^ℹ fail /{f=$3} /^ℹ skipped /{s=$3} END{printf "%d passed, %d failed, %d skipped\n", p, f, s}' "$log"
    exit $status ;;
  playground)
    page
    to="${2:?a folder}"
    [ "${to#/}" = "$to" ] && to="$from/$to"
    mkdir -p "$to"
    cp dist/playground/index.html "$to/" ;;
  test)
    ../scripts/install.sh chromium
    ../scripts/install.sh ffmpeg || true # films: a counted skip without it
    node_modules/.bin/tsc --noEmit
    node --test "test/*.test.ts" ;;
  shots)
    ../scripts/install.sh chromium pngquant
    engine/build.sh
    page
    node test/shots.mjs "${@:2}" ;;
  *) echo "viewer.sh [build|test|quick KNUCKLE|playground FOLDER|shots]" >&2; exit 2 ;;
esac
