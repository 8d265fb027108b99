#!/usr/bin/env bash
# callgrind-shares.sh [BUILD [SCENE …]]: instructions of a step of bench/step and the shares of its parts, as
# docs/performance.md has them (valgrind; inclusive, so a part that another part calls is in both).
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
shift || true
[ $# -gt 0 ] || set -- quadruped humanoid contact-3 jam-12 pendulum-30
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
parts="kn_stage_free_motion kn_detect kn_stage_gather kn_contact_begin kn_contact_solve kn_stage_project kn_end_arrive kn_end_corrected
  kn_ledger_flight kn_stage_keep_energy kn_report_rows kn_report_end kn_warm_save kn_anchor_update"
for scene; do
  valgrind --tool=callgrind --callgrind-out-file="$out/$scene" --toggle-collect=kn_counted_steps "$build/bench/step" --count "$scene" \
    > /dev/null 2>&1
  callgrind_annotate --inclusive=yes --threshold=100 "$out/$scene" > "$out/$scene.txt"
done
count() { # SCENE FUNCTION: instructions inside the function, 0 where it is not called
  sed -n "s/^ *\([0-9,]*\) (.*[: ]$2\( .*\)\?$/\1/p" "$out/$1.txt" | head -1 | tr -d ',' | grep . || echo 0
}
echo "| part | $(echo "$@" | sed 's/ / | /g') |"
echo "|---|$(echo "$@" | sed 's/[^ ]* */---:|/g')"
for part in $parts; do
  line="| \`$part\` |"
  for scene; do line+=" $(awk "BEGIN { printf \"%.0f %%\", 100 * $(count "$scene" "$part") / $(count "$scene" kn_counted_steps) }") |"; done
  echo "$line"
done
