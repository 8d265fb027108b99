#!/usr/bin/env bash
# Every public header compiles alone, as C17 and as C++17, without warnings.
set -euo pipefail
cd "$(dirname "$0")/../.."
bad=0 n=0
for h in include/knuckle/*.h; do
  name="knuckle/$(basename "$h")"
  echo "#include \"$name\"" | "${CC:-cc}" -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c - || { echo "$h: not as C"; bad=1; }
  echo "#include \"$name\"" | "${CXX:-c++}" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c++ - || { echo "$h: not as C++"; bad=1; }
  n=$((n + 1))
done
echo "$n headers"
exit $bad
