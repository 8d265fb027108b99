#!/usr/bin/env bash
# coverage.sh [--report]: branches of the core's layers that the tests take, counted by gcov: a table by layer, and exit status 1 when one falls
# below the gate written here (make coverage; --report: from the counts of the run before). A build without optimisation, in build-coverage.
set -euo pipefail
cd "$(dirname "$0")/.."
# Percent of branches. 90 are wanted; these are what the tests reach.
declare -A gate=([comp]=92 [law]=86 [contact]=91 [step]=87 [record]=85)
if [ "${1:-}" != --report ]; then
  scripts/build.sh coverage
  find build-coverage -name '*.gcda' -delete
  # the kernels' base copies: those that are counted. cli/files: its full disk is too small for the counters
  KN_ISA=base ctest --test-dir build-coverage -j2 --timeout 1800 -E '^(lint|install|self|viewer|bench)/|/(soak|long)_|campaign|cli/files' > build-coverage/tests.log 2>&1 ||
    { grep -E "Failed|Timeout" build-coverage/tests.log | head -n 20; echo "some tests failed; the counts are of what they ran"; }
fi
status=0
printf '| layer | branches | taken | gate |\n|---|---|---|---|\n'
for layer in comp law contact step record; do
  # of a kernel that is compiled for several instruction sets the base one counts: the others have the same source
  mapfile -t objects < <(find build-coverage/CMakeFiles/kn_"$layer".dir build-coverage/CMakeFiles/kn_"$layer"_base.dir -name '*.gcda' 2> /dev/null)
  read -r all taken < <(gcov --branch-probabilities --stdout --json-format "${objects[@]}" 2> /dev/null | scripts/branches.py "src/$layer/")
  percent=$(awk -v a="$all" -v t="$taken" 'BEGIN { printf "%.1f", a ? 100 * t / a : 0 }')
  echo "| $layer | $all | $percent % | ${gate[$layer]} % |"
  awk -v p="$percent" -v g="${gate[$layer]}" 'BEGIN { exit p >= g }' && status=1
done
exit $status
