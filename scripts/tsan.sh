#!/usr/bin/env bash
# The tests that use threads under the thread sanitizer: make tsan. A third build of the library, so not part of make test.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset tsan > /dev/null
ninja -C build-tsan test_base_crew test_pool_bits test_pool_worlds test_pool_linearize test_comp_pairs test_step_threads | { grep -v "^\[\|no work to do" || true; }
ctest --test-dir build-tsan -R '^(base/crew|pool/|comp/pairs|step/threads)' --output-on-failure --timeout 900
