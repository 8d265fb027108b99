#!/usr/bin/env bash
# symbols.sh LIBRARY.so LIBRARY.a: every symbol the libraries define for others starts with kn_, and the shared one
# exports what is marked KN_API only.
set -euo pipefail
bad=$({ nm -D --defined-only "$1"; nm -g --defined-only "$2" 2> /dev/null; } | awk 'NF == 3 && $2 !~ /[Nn]/ && $3 !~ /^kn_/ {print $3}' |
      grep -vE '^(_init|_fini|__bss_start|_edata|_end|__asan.*|__ubsan.*|__odr_asan.*|__gcov.*|__llvm.*|__tsan.*)$' || true)
[ -z "$bad" ] || { printf 'symbols without kn_:\n%s\n' "$bad"; exit 1; }
cd "$(dirname "$0")/../.."
declared=$(cat include/knuckle/*.h | tr '\n' ' ' | grep -oE 'KN_API[^;(]*\(' | grep -oE 'kn_[a-z0-9_]+[[:space:]]*\($' | tr -d '( ' | sort -u)
exported=$(nm -D --defined-only "$1" | awk '$2 == "T" {print $3}' | sort -u)
extra=$(comm -13 <(echo "$declared") <(echo "$exported"))
[ -z "$extra" ] || { printf 'exported, but not in a public header:\n%s\n' "$extra"; exit 1; }
missing=$(comm -23 <(echo "$declared") <(echo "$exported"))
[ -z "$missing" ] || { printf 'declared KN_API, but not in the library:\n%s\n' "$missing"; exit 1; }
echo "$(echo "$exported" | wc -l) functions exported"
