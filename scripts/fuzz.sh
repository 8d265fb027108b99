#!/usr/bin/env bash
# fuzz.sh SECONDS [NAME …]: every fuzz target (or those named) for so much processor time, clang with the address and undefined-behaviour sanitizers,
# from the committed seeds; KN_FUZZ_JOBS (2) at a time. Inputs that crash are left in build-fuzz/crashes. Exit status 1 when there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="$1"; shift
scripts/install.sh clang libclang-rt-14-dev
scripts/build.sh fuzz
names=("$@"); [ ${#names[@]} -eq 0 ] && for f in test/fuzz/*.c; do n=$(basename "$f" .c); names+=("$n"); done
mkdir -p build-fuzz/crashes build-fuzz/corpus
one() { # name, seconds: libFuzzer knows the clock only, so it is started again until the processor has worked so long
  local left=$2 runs=0 TIMEFORMAT='%U %S'
  mkdir -p "build-fuzz/corpus/$1"
  : > "build-fuzz/$1.log"
  while [ "$left" -gt 2 ]; do
    { time build-fuzz/fuzz/"$1" "build-fuzz/corpus/$1" "test/fuzz/seeds/$1" -max_total_time="$left" -rss_limit_mb=1024 -timeout=20 \
      -artifact_prefix="build-fuzz/crashes/$1-" >> "build-fuzz/$1.log" 2>&1; } 2> "build-fuzz/$1.time" ||
      { echo "$1: FAILED, see build-fuzz/$1.log and build-fuzz/crashes"; return 1; }
    left=$(awk -v l="$left" '{ printf "%d", l - $1 - $2 }' "build-fuzz/$1.time")
    runs=$(grep -oE 'Done [0-9]+ runs' "build-fuzz/$1.log" | awk '{ n += $2 } END { printf "%d", n }')
  done
  echo "$1: clean, $runs runs in $2 s of processor time"
}
export -f one
printf '%s\n' "${names[@]}" | xargs -P "${KN_FUZZ_JOBS:-2}" -I NAME bash -c "one NAME $seconds"
