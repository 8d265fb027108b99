#!/usr/bin/env bash
# Tests that may ask a peer (HAVE_…) also compile without warnings where the peer is not installed.
set -uo pipefail
cd "$(dirname "$0")/../.."
. scripts/lint/files.sh
bad=0 n=0
while read -r file; do
  n=$((n + 1))
  "${CC:-cc}" -std=gnu17 -Wall -Wextra -Werror -O0 -c -o /dev/null -I. -Iinclude -Isrc -Itest/support -Iscenes -DKN_SOURCE_DIR='""' \
    -DKN_BINARY_DIR='""' -DKN_SHARED_DATA='""' "$file" 2>&1 | head -5
  [ "${PIPESTATUS[0]}" -eq 0 ] || { echo "$file: not without peers"; bad=1; }
done < <(files '*.c' | grep '^test/' | xargs -r grep -lE 'HAVE_[A-Z]+')
echo "$n files"
exit $bad
