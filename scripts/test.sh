#!/usr/bin/env bash
# Builds with warnings as errors and runs every test.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev > /dev/null
cmake --build build-dev
ctest --test-dir build-dev --output-on-failure -j2
