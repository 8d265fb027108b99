#!/usr/bin/env bash
# fuzz.sh SECONDS [NAME …]: every fuzz target (or those named) for so long, clang with the address and undefined-behaviour sanitizers, from the
# committed seeds; two at a time. Inputs that crash are left in build-fuzz/crashes. Exit status 1 when there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="$1"; shift
scripts/install.sh clang
scripts/build.sh fuzz
names=("$@"); [ ${#names[@]} -eq 0 ] && for f in test/fuzz/*.c; do n=$(basename "$f" .c); names+=("$n"); done
mkdir -p build-fuzz/crashes build-fuzz/corpus
one() { # name, seconds
  mkdir -p "build-fuzz/corpus/$1"
  if build-fuzz/fuzz/"$1" "build-fuzz/corpus/$1" "test/fuzz/seeds/$1" -max_total_time="$2" -rss_limit_mb=1024 -timeout=20 \
    -artifact_prefix="build-fuzz/crashes/$1-" > "build-fuzz/$1.log" 2>&1
  then echo "$1: clean, $(grep -oE 'Done [0-9]+ runs' "build-fuzz/$1.log" || echo 'no count') in $2 s"
  else echo "$1: FAILED, see build-fuzz/$1.log and build-fuzz/crashes"; return 1; fi
}
export -f one
printf '%s\n' "${names[@]}" | xargs -P 2 -I NAME bash -c "one NAME $seconds"
