#!/usr/bin/env bash
# Every relative link in the Markdown pages leads to a file, and every `path` of a source file they name is there
# (decisions and the changelog tell of what was; NAME and X stand for names).
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
  case "$page" in *decisions/*|CHANGELOG.md) continue ;; esac
  while read -r path; do
    case "$path" in *NAME*|*_X.*) continue ;; esac
    [ -e "$path" ] || { echo "$page: no such file: $path"; bad=1; }
  done < <(grep -oE '`(src|include|test|scripts|cmake|bench|scenes|examples)/[A-Za-z0-9_/.-]+`' "$page" | tr -d '`' || true)
done < <(files '*.md')
echo "$n pages"
exit $bad
