#!/usr/bin/env bash
# Includes point down the layers only (docs/pipeline.md, README): each folder of src may include itself and what
# is listed for it here. The command line, the scenes and the output library see the public headers only.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lint/files.sh
core="base math spatial model"
declare -A may=(
  [base]="" [math]="base" [spatial]="base math" [comp]="base math" [law]="base math"
  [model]="base math spatial"
  [load]="$core" [dynamics]="$core" [collide]="$core"
  [contact]="$core dynamics collide comp law"
  [step]="$core dynamics collide comp law contact"
  [pool]="$core dynamics collide comp law contact step"
  [record]="$core dynamics collide comp law contact step"
  [api]="$core dynamics collide comp law contact step record load"
)
# The layer a public header belongs to, where a lower layer must not see it.
declare -A header=([comp]=comp [law]=law [dynamics]=dynamics [collide]=collide [contact]=contact [step]=step [pool]=pool [record]=record)
bad=0
complain() { echo "$1: $2"; bad=1; }
check_source() { # file layer
  local file="$1" layer="$2" line name folder
  [ -n "${may[$layer]+x}" ] || { complain "$file" "unknown layer $layer: list it in scripts/lint/layers.sh"; return; }
  while IFS=: read -r line name; do
    folder="${name%%/*}"
    if [ "$folder" = knuckle ]; then
      name="${name#knuckle/}"; folder="${header[${name%.h}]:-}"
      [ -z "$folder" ] && continue
    elif [ "$folder" = "$name" ] || [ -z "${may[$folder]+x}" ]; then
      continue # a file of the same folder
    fi
    case " ${may[$layer]} $layer " in *" $folder "*) ;; *) complain "$file:$line" "$layer may not include $folder ($name)" ;; esac
  done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]+"/{=;s/.*"([^"]+)".*/\1/p}' "$file" | paste -d: - -)
}
n=0
while read -r file; do
  layer="${file#src/}"; check_source "$file" "${layer%%/*}"; n=$((n + 1))
done < <(files '*.c' '*.h' | grep '^src/')
while read -r hit; do
  complain "${hit%%:#*}" "only public headers (knuckle/…) may be included here: ${hit##*:}"
done < <(files '*.c' '*.h' | grep -E '^(cli|scenes|output|examples)/' |
         xargs -r grep -nE "^#include \"($(IFS='|'; echo "${!may[*]}"))/" || true)
echo "$n files"
exit $bad
