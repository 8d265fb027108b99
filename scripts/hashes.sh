#!/usr/bin/env bash
# hashes.sh [COLUMN …]: the runs of test/golden/hashes.txt in many ways to build and to run the engine, each hash compared with the
# one written there (make hashes). Without columns all of them, and the table goes to docs/hashes.md as well. A build for each
# compiler and level of optimisation, in build-hashes; one at a time. Exit status 1 when a hash differs: each is named.
# KN_HASHES=TEXT takes only the lines that contain TEXT.
set -euo pipefail
cd "$(dirname "$0")/.."
all=(gcc-O0 gcc-O1 gcc-O2 gcc-O3 clang-O0 clang-O1 clang-O2 clang-O3 isa-base isa-avx2 isa-avx512 threads-4 locale-de aarch64 wasm python python-de)
columns=("$@"); [ ${#columns[@]} -eq 0 ] && columns=("${all[@]}")
data=$(cd ../shared/data 2> /dev/null && pwd || true)
here=build-hashes
mkdir -p "$here"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table="$work/lines" # hash, run
grep -E '^[0-9a-f]{16}  ' test/golden/hashes.txt | { grep -F -- "${KN_HASHES:-}" || true; } > "$table"
[ -n "$data" ] || { echo "without ../shared/data: the runs of scenes only"; sed -i '/DATA\//d' "$table"; }
sed -i "s|DATA/|$data/|" "$table"

# ---- every way prints a line for each run: hash, steps, the run; "-" for a hash where this build cannot read the model
by_command() { # program, more options …
  local program=$1 run out
  shift
  while read -r _ run; do
    # shellcheck disable=SC2086 # a run is words
    out=$("$program" run $run "$@" --json --quiet 2> /dev/null < /dev/null) || true
    if grep -q 'need assimp' <<< "$out"; then echo "- - $run"; continue; fi
    echo "$(grep -oE '"state_hash":"[0-9a-f]{16}' <<< "$out" | cut -d'"' -f4 || true) $(grep -oE '"steps":[0-9]+' <<< "$out" | head -n 1 | cut -d: -f2 || true) $run"
  done < "$table"
}
built() { # compiler, level: the program
  local dir="$here/$1-$2" launcher=()
  command -v "$1" > /dev/null || scripts/install.sh "$1" >&2
  command -v ccache > /dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
  { cmake -S . -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$1" -DCMAKE_C_FLAGS_RELEASE="-$2 -DNDEBUG" \
      -DKN_BENCH=OFF -DKN_TESTS=OFF "${launcher[@]}" && ninja -C "$dir" knuckle; } > "$dir.log" 2>&1 || { tail -n 20 "$dir.log" >&2; return 1; }
  echo "$dir/knuckle"
}
release() { scripts/build.sh release >&2; echo build/knuckle; }
german() { # a locale that writes a comma for the point, made here: the machine's settings stay as they are
  [ -d "$here/locale/de_DE.UTF-8" ] && return
  scripts/install.sh locales >&2
  mkdir -p "$here/locale"
  localedef -i de_DE -f UTF-8 "$here/locale/de_DE.UTF-8" >&2 || true # its warnings have a status
}
by_wasm() { # steps of the runs come from the native program
  viewer/engine/build.sh >&2
  [ -s "$work/steps" ] || by_command "$(release)" > "$work/steps"
  PATH="$(scripts/viewer-tools.sh path)/bin:$PATH" node --no-warnings viewer/test/hashes.ts < "$work/steps"
}
by_python() { # locale
  scripts/python.sh release >&2
  PYTHONPATH=build/bindings/python LOCPATH="$PWD/$here/locale" build/venv/bin/python bindings/python/tests/hashes.py "$1" < "$table"
}
way() { # column
  case $1 in
    gcc-O?|clang-O?) by_command "$(built "${1%-*}" "${1#*-}")" ;;
    isa-*) KN_ISA="${1#isa-}" by_command "$(release)" ;;
    threads-*) by_command "$(release)" --step-threads "${1#threads-}" ;;
    locale-de) german; export LOCPATH="$PWD/$here/locale"; export LC_ALL=de_DE.UTF-8; by_command "$(release)" ;;
    aarch64) scripts/arm64.sh "$here/aarch64" >&2; by_command "$here/aarch64/run" ;;
    wasm) by_wasm ;;
    python) by_python "" ;;
    python-de) german; by_python de_DE.UTF-8 ;;
    *) echo "no column $1; there are: ${all[*]}" >&2; return 2 ;;
  esac
}

# ---- the table
status=0
{ echo '| build or run | equal | different | left out |'; echo '|---|---|---|---|'; } | tee "$work/table"
for column in "${columns[@]}"; do
  if [[ $column == isa-avx* ]] && ! grep -q "${column#isa-}" /proc/cpuinfo; then echo "| $column | not on this machine | | |" | tee -a "$work/table"; continue; fi
  (way "$column") > "$work/$column.out"
  [[ $column == gcc-O2 || $column == isa-* ]] && cp "$work/$column.out" "$work/steps"
  awk -v column="$column" 'NR == FNR { was[NR] = $1; next }
    { if ($1 == "-") left++; else if ($1 == was[FNR]) equal++; else { different++; print column ": " was[FNR] " was " $0 > "/dev/stderr" } n++ }
    END { printf "| %s | %d | %d | %d |\n", column, equal, different + length(was) - n, left }' "$table" "$work/$column.out" | tee -a "$work/table"
  tail -n 1 "$work/table" | grep -q '| 0 | [0-9]* |$' || status=1
done
if [ $# -eq 0 ] && [ -n "$data" ] && [ -z "${KN_HASHES:-}" ]; then
  { sed '/^|/,$d' docs/hashes.md; cat "$work/table"; } > "$work/page" && cp "$work/page" docs/hashes.md
fi
exit $status
