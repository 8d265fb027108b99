#!/usr/bin/env bash
# pins.sh: writes scripts/pins/NAME.txt anew from NAME.in: exact versions and hashes of everything pip installs for one purpose, with all they
# depend on, by pip-tools (minutes). The scripts that install take nothing else. The files name no server. "# alone" at the head of NAME.in:
# without what it depends on.
set -euo pipefail
cd "$(dirname "$0")/pins"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/pip" install -q --disable-pip-version-check pip-tools
names=("$@"); [ ${#names[@]} -eq 0 ] && names=(tests site wheel peers mujoco3 viewer rerun ray)
for n in "${names[@]}"; do
  "$tools/bin/pip-compile" -q --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate --no-emit-options \
    -o "$n.txt" "$n.in" 2> "$tools/log" || { cat "$tools/log" >&2; exit 1; }
  if [ "$(head -n 1 "$n.in")" = '# alone' ]; then
    awk -v one="$(sed -n 2p "$n.in") " '/^[^ ]/ { on = index($0, one) == 1 } on' "$n.txt" > "$tools/one" && cp "$tools/one" "$n.txt"
  fi
  echo "$n.txt: $(grep -c '==' "$n.txt") packages"
done
