#!/usr/bin/env bash
# A wheel that needs no compiler and no Debian package: build-wheel/dist/knuckle-….whl. Built with the library's slim options,
# shared libraries it needs put inside by auditwheel, the stable ABI checked by abi3audit, then installed and run in a
# fresh virtual environment. At most 5 MB. The viewer's page goes inside, so it must be there (make viewer).
set -euo pipefail
cd "$(dirname "$0")/.."
out="$PWD/build-wheel"
[ -f viewer/dist/view.html ] || { echo "viewer/dist/view.html is not there: run \`make viewer\` first"; exit 1; }
mkdir -p "$out"
[ -x "$out/venv/bin/wheel" ] || { python3 -m venv "$out/venv" && "$out/venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r scripts/pins/wheel.txt; }
command -v ccache > /dev/null && export CMAKE_C_COMPILER_LAUNCHER=ccache
rm -rf "$out/raw" "$out/dist" "$out/open"
"$out/venv/bin/pip" wheel -q --disable-pip-version-check --no-deps -w "$out/raw" .
PATH="$out/venv/bin:$PATH" "$out/venv/bin/auditwheel" -v repair -w "$out/dist" "$out"/raw/*.whl > "$out/auditwheel.log" 2>&1 ||
  { tail -20 "$out/auditwheel.log"; exit 1; }
# the licences of the libraries that are inside now
"$out/venv/bin/wheel" unpack -d "$out/open" "$out"/dist/*.whl > /dev/null
for package in libexpat1 libqhull-r8.0 libzstd1 libfyaml0; do
  cp "/usr/share/doc/$package/copyright" "$(echo "$out"/open/knuckle-*/knuckle-*.dist-info/licenses)/$package.txt"
done
rm "$out"/dist/*.whl
"$out/venv/bin/wheel" pack -d "$out/dist" "$out"/open/knuckle-* > /dev/null
rm -rf "$out/open"
wheel=$(ls "$out"/dist/*.whl)
size=$(stat -c %s "$wheel")
[ "$size" -le 5000000 ] || { echo "$wheel has $size bytes, expected at most 5000000"; exit 1; }
"$out/venv/bin/abi3audit" --strict "$wheel"
rm -rf "$out/fresh"
python3 -m venv "$out/fresh"
"$out/fresh/bin/pip" install -q --disable-pip-version-check "$wheel"
bindings/python/tests/fresh.sh "$out/fresh/bin/python"
echo "$wheel: $size bytes"
