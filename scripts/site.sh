#!/usr/bin/env bash
# site.sh [PRESET]: the documents as a site in build-site/html, to be opened from the disk: tutorial, Python and C API, physics, gallery, and
# the viewer as a playground where `make viewer` has built it. MkDocs comes from PyPI; the site itself loads nothing from elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
preset="${1:-release}"
dir="$PWD/build-$preset"; [ "$preset" = release ] && dir="$PWD/build"
out="$PWD/build-site"
scripts/python.sh "$preset"
python="$dir/venv/bin/python"
"$python" -c 'import mkdocs, pygments' 2> /dev/null || "$dir/venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r scripts/pins/site.txt
rm -rf "$out"
mkdir -p "$out/pages"
scripts/api.sh "$out/pages/c"
PYTHONPATH="$dir/bindings/python" KNUCKLE="$dir/knuckle" PYTHONDONTWRITEBYTECODE=1 "$python" scripts/site.py . "$out"
