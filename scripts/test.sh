#!/usr/bin/env bash
# Builds with warnings as errors, runs every test and lint, then a part of the tests under the address and
# undefined-behaviour sanitizers, and ends with "N passed, N failed, N skipped". KN_EFFORT multiplies the counts
# of the random tests (make soak).
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
limit=300; [ -n "${KN_EFFORT:-}" ] && limit=7200 # seconds for one test program
scripts/build.sh dev || exit 1
scripts/python.sh dev || exit 1
ctest --test-dir build-dev --output-on-failure --no-tests=error -j2 --timeout $limit || status=1

# The sanitized tests: all but the long ones.
long='^(lint|install|self)/|/(soak|long)_'
echo "building with the address and undefined-behaviour sanitizers …"
scripts/build.sh asan-ubsan || exit 1
KN_EFFORT=1 ctest --test-dir build-asan-ubsan --output-on-failure --no-tests=error -j2 --timeout 300 -E "$long" || status=1

echo
scripts/summary.sh build-dev build-asan-ubsan || status=1
exit $status
