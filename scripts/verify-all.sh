#!/usr/bin/env bash
# verify-all.sh [STEPPER …]: every scene, and every MJCF and URDF file of ../shared/data/models, simulated with every stepper (or those named), recorded,
# and each recording verified: a table of violations by check (docs/verified.md when all steppers were run), 1 if a check was left out, a
# recording could not be verified, or a run that reported no trouble itself was found to violate something. KN_VERIFY_TIME: seconds of each run (0.2).
set -uo pipefail
cd "$(dirname "$0")/.."
all=(time theta event compliant hybrid)
steppers=("$@"); [ ${#steppers[@]} -eq 0 ] && steppers=("${all[@]}")
scripts/build.sh release || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs() { # name, options of `knuckle run`
  build/knuckle list scenes | awk '/^  [a-z]/ { print $1 "\t" $1 }'
  find ../shared/data/models -type f \( -name '*.xml' -o -name '*.urdf' \) 2> /dev/null | LC_ALL=C sort | while read -r model; do
    grep -qE '<(mujoco|robot)[ >]' "$model" || continue # package.xml and the like
    case $model in *.urdf) base=" --base floating" ;; *) base="" ;; esac
    printf '%s\t%s\n' "${model#../shared/data/models/}" "$model --drop 0.02 --passive$base"
  done
}
judge() { # exit status of the run, recording: said of it, and status 1 where it counts
  python3 -c '
import collections, json, sys
try: d = json.load(sys.stdin)
except ValueError: print("| no answer"); sys.exit(1)
if "error" in d: print("| not verified: " + d["error"]["text"]); sys.exit(1)
count = collections.Counter(v["check"] for v in d["violations"])
said = ", ".join(f"{k} {n}" for k, n in count.items()) or "none"
left = [s if isinstance(s, str) else s.get("check", "?") for s in d["skipped"]]
print("| " + said + (f"; left out: {len(left)}" if left else "") + (" (the run says so: trouble)" if count and sys.argv[1] != "0" else ""))
sys.exit(bool(left) or (bool(count) and sys.argv[1] == "0"))' "$1"
}
runs=0 bad=0
{
  echo '| model | stepper | violations |'; echo '|---|---|---|'
  while IFS=$'\t' read -r name run; do
    for stepper in "${steppers[@]}"; do
      rm -f "$work/run.mcap"
      # shellcheck disable=SC2086 # a run is words
      timeout 120 build/knuckle run $run --stepper "$stepper" --time "${KN_VERIFY_TIME:-0.2}" -o "$work/run.mcap" --force --quiet > "$work/said" 2>&1 < /dev/null
      ran=$?
      runs=$((runs + 1))
      note=""
      if grep -q 'torsion: 0, roll: 0' "$work/said"; then # steppers that know one coefficient only: as the sentence says
        printf 'model: %s\nmaterials: [{geom: "*", torsion: 0, roll: 0}]\n' "$(realpath "${run%% *}")" > "$work/plain.yaml"
        # shellcheck disable=SC2086
        timeout 120 build/knuckle run "$work/plain.yaml" ${run#* } --stepper "$stepper" --time "${KN_VERIFY_TIME:-0.2}" -o "$work/run.mcap" --force --quiet > "$work/said" 2>&1 < /dev/null
        ran=$? note=" (without torsion and rolling)"
      fi
      if [ ! -s "$work/run.mcap" ]; then echo "| $name | $stepper | not run: exit status $ran |"; continue; fi
      timeout 300 build/knuckle verify "$work/run.mcap" --json > "$work/verified" 2> /dev/null < /dev/null # 1 also where the run had trouble
      said=$(judge "$ran" < "$work/verified") || bad=$((bad + 1))
      [ "$said" = "| none" ] || echo "| $name | $stepper$note $said |"
    done
  done < <(runs)
  echo; echo "$runs runs; $bad with a violation that the run itself does not speak of, not verified, or with a check left out."
} | tee "$work/table"
status=0
grep -q '; 0 with a violation' "$work/table" || status=1 # the loop was a part of a pipe
if [ $# -eq 0 ] && [ -d ../shared/data/models ]; then { sed '/^|/,$d' docs/verified.md; cat "$work/table"; } > "$work/page" && cp "$work/page" docs/verified.md; fi
exit $status
