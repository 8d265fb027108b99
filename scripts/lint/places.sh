#!/usr/bin/env bash
# A failure with a place in a text file is made by kn_fail_at, which keeps file, line and column for kn_last_error_info();
# a place written into the sentence of kn_fail would be lost.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=$(find src -name '*.c' -print0 | xargs -0 perl -0ne 'while (/kn_fail\([^;]*?"%s:(?:%d|1):(?:%d|1): [^;]*;/gs) { my $n = 1 + (substr($_, 0, $-[0]) =~ tr/\n//); print "$ARGV:$n: kn_fail with file:line:column, expected kn_fail_at\n" }')
[ -z "$bad" ] || { echo "$bad"; exit 1; }
