#!/usr/bin/env bash
# readme.sh BUILD_DIR: the commands of the README's tour work as printed (those that need a file of the reader's excepted).
set -uo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
build="$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
passed=0 failed=0
while read -r line; do
  command="${line%%#*}"
  case "$command" in *robot.xml*) continue ;; esac
  if (eval "${command//build\/knuckle/$build/knuckle}") > "$work/out" 2> "$work/err"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1)); echo "FAILED: $command"; tail -5 "$work/err"
  fi
done < <(grep -hE '^build/knuckle ' "$root/README.md")
[ "$passed" -ge 5 ] || { echo "found only $passed commands in README.md"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
