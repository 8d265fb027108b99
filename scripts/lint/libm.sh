#!/usr/bin/env bash
# libm.sh LIST: no object of the list (one path a line) asks the mathematical library for a function that is not exactly
# rounded: sin, log, pow, hypot and the like return other bits on another processor or system. src/math has our own.
# src/record/verify may: it shares nothing with the engine, and compares within tolerances.
set -euo pipefail
exact='^(sqrt|fabs|floor|ceil|trunc|round|rint|nearbyint|l?lround|l?lrint|copysign|fmin|fmax|fdim|ldexp|frexp|scalbln|scalbn|modf|logb|ilogb|nextafter|fmod|remainder|fma)[fl]?$|^(__)?(isnan|isinf|finite|signbit|fpclassify)[fl]?$'
libm=$("${CC:-cc}" -print-file-name=libm.so.6)
inexact=$(nm -D --defined-only "$libm" | awk '$2 ~ /[TWi]/ {sub(/@.*/, "", $3); print $3}' | grep -vE "$exact" | sort -u)
bad=$({ grep -vE '/src/(math|record/verify)/' "$1" || true; } | sed "/^$/d" | xargs -r nm -A -u |
  awk 'NR == FNR {inexact[$1]; next} {sub(/@.*/, "", $NF)} $NF in inexact {print $1, $NF}' <(echo "$inexact") -)
[ -z "$bad" ] || { printf 'from libm (src/math has kn_sincos, kn_atan2, kn_log, kn_exp, kn_pow):\n%s\n' "$bad"; exit 1; }
echo "$(wc -l < "$1") objects"
