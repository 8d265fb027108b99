#!/usr/bin/env bash
# Every folder of src has a README.md that names each of its source files, and no others. Names stand in backquotes;
# `name.{c,h}` is both. Where a README lists in backquotes what its files may include, they include nothing else of src. A source file
# of more than 60 lines starts with a comment that says what it is. In the table "Where is …?" of src/README.md every file exists,
# and every function stands in a file of its row.
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
while read -r page; do
  folder=$(dirname "$page")
  may=$(grep -oE 'May include: `.*' "src/$page" | grep -oE '`[a-z_./]+`' | tr -d '`' | paste -sd' ' || true)
  [ -n "$may" ] || continue
  while IFS=: read -r file name; do
    room="${name%/*}"
    [ "$room" = "${folder%%/*}" ] && continue # what the rooms of a layer share
    case " $may $folder knuckle " in *" $name "*|*" $room "*|*" ${room%%/*} "*) ;; *) echo "src/$file includes $name, which src/$page does not allow"; bad=1 ;; esac
  done < <(cd src && grep -HoE '^#include "[^"]+"' "$folder"/*.[ch] | sed -E 's/#include "(.*)"/\1/')
done < <(cd src && ls */README.md */*/README.md)
while read -r row; do
  mapfile -t tokens < <(grep -oE '`[a-zA-Z0-9_/.]+`' <<< "$row" | tr -d '`')
  paths=()
  for t in "${tokens[@]}"; do
    case $t in */*.[ch]) found=""
      for top in src . include; do [ -f "$top/$t" ] && found="$top/$t"; done
      if [ -n "$found" ]; then paths+=("$found"); else echo "src/README.md: $t is not there"; bad=1; fi ;;
    esac
  done
  for t in "${tokens[@]}"; do
    case $t in kn_*|KN_*) [ ${#paths[@]} -eq 0 ] || grep -qE "${t/kn_/kn_(dyn_)?}\b" "${paths[@]}" || { echo "src/README.md: $t stands in no file of its row"; bad=1; } ;; esac
  done
done < <(sed -n '/^## Where is/,$p' src/README.md | grep '^|')
echo "$n folders"
exit $bad
