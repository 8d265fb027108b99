#!/usr/bin/env bash
# Every folder of src has a README.md that names each of its source files, and no others. Names stand in backquotes;
# `name.{c,h}` is both. A source file of more than 60 lines starts with a comment that says what it is.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lint/files.sh
bad=0 n=0
while read -r folder; do
  n=$((n + 1))
  page="$folder/README.md"
  [ -f "$page" ] || { echo "$folder: no README.md"; bad=1; continue; }
  named=$(grep '^|' "$page" | cut -d'|' -f2 | grep -oE '`[a-z0-9_]+\.(c|h|\{c,h\})`' | tr -d '`' |
          sed -E 's/^(.*)\.\{c,h\}$/\1.c\n\1.h/' | sort -u || true)
  there=$(files '*.c' '*.h' | grep -E "^$folder/[^/]+$" | sed 's|.*/||' | sort -u)
  while read -r name; do [ -z "$name" ] || { echo "$page does not name $name"; bad=1; }; done \
    < <(comm -13 <(echo "$named") <(echo "$there"))
  while read -r name; do [ -z "$name" ] || { echo "$page names $name, which is not there"; bad=1; }; done \
    < <(comm -23 <(echo "$named") <(echo "$there"))
done < <(files '*.c' '*.h' | grep '^src/' | sed 's|/[^/]*$||' | sort -u)
while read -r file; do
  [ "$(wc -l < "$file")" -le 60 ] || [ "$(head -c 2 "$file")" = "/*" ] || { echo "$file: no comment at its head"; bad=1; }
done < <(files '*.c' '*.h' | grep '^src/')
echo "$n folders"
exit $bad
