#!/usr/bin/env bash
# models.sh FOLDER [OPTION…]: every MJCF and URDF file below a folder run for 5 s as the README says (options of `knuckle run`,
# by default --drop 0.1 --passive; URDF with a floating base), as a table: file, exit status, seconds; where the status is
# not 0, what `knuckle run` says to it. Ends with the number of files of each status, and is 1 if one crashed or hung.
set -euo pipefail
folder="${1:?usage: scripts/models.sh FOLDER [OPTION…]}"
shift
[ $# -gt 0 ] || set -- --drop 0.1 --passive
knuckle="$(dirname "$0")/../build/knuckle"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT=%R

find "$folder" -type f \( -name '*.xml' -o -name '*.urdf' \) | LC_ALL=C sort | while read -r model; do
  grep -qE '<(mujoco|robot)[ >]' "$model" || continue # package.xml and the like
  base=()
  [ "${model##*.}" = xml ] || base=(--base floating)
  status=0
  seconds=$({ time timeout 600 "$knuckle" run "$model" --time 5 --quiet "${base[@]}" "$@" > "$work/said" 2>&1; } 2>&1) || status=$?
  echo "$status" >> "$work/statuses"
  printf '%s\t%s\t%s s\n' "${model#"$folder"/}" "$status" "$seconds"
  [ "$status" = 0 ] || awk '/^  [a-z]/ { on = /^  trouble/ } /^knuckle run:/ { on = !/: warning: / } /^[^ ].* steps of / { on = 0 } on { sub(/^ +/, ""); print "    " $0 }' "$work/said"
done
sort -n "$work/statuses" | uniq -c | awk '{ print "exit status " $2 ": " $1 " files" }'
! grep -qvxE '0|1|3' "$work/statuses" # 3: the file is refused, with its line
