#!/usr/bin/env bash
# summary.sh BUILD_DIR...: what the last ctest runs in these folders came to. A test program counts with the cases
# inside it (its own last line "N passed, N failed, N skipped"), anything else as one case.
set -euo pipefail
cat "${@/%//Testing/Temporary/LastTest.log}" | awk '
  function close_test() {
    if (name == "") return
    programs++
    if (!counted) { p = 0; f = 0; s = 0 }
    if (!counted && good) p = 1
    if (!good && f == 0) f = 1 # crashed, timed out, not run
    if (!good) bad = bad "  " name "\n"
    passed += p; failed += f; skipped += s
  }
  / Testing: /      { close_test(); name = $NF; counted = 0; good = 0 }
  /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p = $1; f = $3; s = $5; counted = 1 }
  /^Test Passed\.$|^Test Pass Reason:/ { good = 1 }
  /^Test Skipped\.$|SKIP_RETURN_CODE/ { good = 1 }
  END {
    close_test()
    if (bad != "") printf "failed:\n%s", bad
    printf "%d test programs and lints\n", programs
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
  }'
