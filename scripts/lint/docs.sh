#!/usr/bin/env bash
# Every relative link in the Markdown pages leads to a file.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lint/files.sh
bad=0 n=0
while read -r page; do
  n=$((n + 1))
  while read -r link; do
    target="${link%%#*}"
    [ -z "$target" ] || [ -e "$(dirname "$page")/$target" ] || { echo "$page: no such file: $link"; bad=1; }
  done < <(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^)]+\)' | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^(https?|mailto):' || true)
done < <(files '*.md')
echo "$n pages"
exit $bad
