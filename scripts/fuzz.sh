#!/usr/bin/env bash
# fuzz.sh SECONDS [NAME …]: every fuzz target (or those named) for so much processor time, clang with the address and undefined-behaviour sanitizers,
# from the committed seeds; KN_FUZZ_JOBS (2) at a time. Inputs that crash are left in build-fuzz/crashes. Exit status 1 when there is one.
# Seconds are the processor's: what the fuzzer gave up by the clock, on a machine that did other things, is run once more alone.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="$1"; shift
scripts/install.sh clang libclang-rt-14-dev
scripts/build.sh fuzz
names=("$@"); [ ${#names[@]} -eq 0 ] && for f in test/fuzz/*.c; do n=$(basename "$f" .c); names+=("$n"); done
mkdir -p build-fuzz/crashes build-fuzz/corpus
slow_by_the_clock() { # name: was it a timeout, of an input that takes less than 20 s of processor time?
  local input
  input=$(grep -ao 'build-fuzz/crashes/[^ ]*-timeout-[0-9a-f]*' "build-fuzz/$1.log" | tail -n 1) || return 1
  tail -n 40 "build-fuzz/$1.log" | grep -q 'SUMMARY: libFuzzer: timeout' || return 1
  (ulimit -t 20; build-fuzz/fuzz/"$1" "$input" -timeout=0) >> "build-fuzz/$1.log" 2>&1 && rm -f "$input"
}
one() { # name, seconds: libFuzzer knows the clock only, so it is started again until the processor has worked so long
  local left=$2 runs=0 TIMEFORMAT='%U %S'
  mkdir -p "build-fuzz/corpus/$1"
  : > "build-fuzz/$1.log"
  while [ "$left" -gt 2 ]; do
    { time build-fuzz/fuzz/"$1" "build-fuzz/corpus/$1" "test/fuzz/seeds/$1" -max_total_time="$left" -rss_limit_mb=1024 -timeout=20 -report_slow_units=20 \
      -artifact_prefix="build-fuzz/crashes/$1-" >> "build-fuzz/$1.log" 2>&1; } 2> "build-fuzz/$1.time" ||
      slow_by_the_clock "$1" || { echo "$1: FAILED, see build-fuzz/$1.log and build-fuzz/crashes"; return 1; }
    left=$(awk -v l="$left" '{ printf "%d", l - $1 - $2 }' "build-fuzz/$1.time")
    runs=$(grep -oE 'Done [0-9]+ runs' "build-fuzz/$1.log" | awk '{ n += $2 } END { printf "%d", n }')
  done
  echo "$1: clean, $runs runs in $2 s of processor time"
}
export -f one slow_by_the_clock
printf '%s\n' "${names[@]}" | xargs -P "${KN_FUZZ_JOBS:-2}" -I NAME bash -c "one NAME $seconds"
