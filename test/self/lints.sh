#!/usr/bin/env bash
# The lints can fail: each is given a small tree with one fault and must find it, and the same tree without the
# fault and must be content.
set -uo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
fresh() {
  rm -rf "$work/t"; mkdir -p "$work/t/src/base" "$work/t/src/comp" "$work/t/cli" "$work/t/include/knuckle" "$work/t/scripts"
  cp -r "$root/scripts/lint" "$work/t/scripts/"; cp "$root/.clang-format" "$work/t/"
  printf '#include "comp/x.h"\nint kn_f(void) { return 1; }\n' > "$work/t/src/comp/a.c"
  printf 'int kn_b(void);\n' > "$work/t/src/base/b.h"
  printf '#include "knuckle/a.h"\n' > "$work/t/cli/c.c"
  printf '__attribute__((visibility("default"))) int kn_f(void);\n#define KN_API\nKN_API int kn_f(void);\n' > "$work/t/include/knuckle/a.h"
}
must() { # good|bad NAME COMMAND...
  local want="$1" name="$2"; shift 2
  if (cd "$work/t" && "$@") > "$work/log" 2>&1; then got=good; else got=bad; fi
  if [ "$got" = "$want" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name: expected $want"; cat "$work/log"; fi
}
library() { # TEXT: a shared and a static library of one function
  echo "$1" | cc -shared -fPIC -x c - -o "$work/t/l.so" && echo "$1" | cc -c -x c - -o "$work/t/l.o" && ar rc "$work/t/l.a" "$work/t/l.o"
}

fresh; must good layers scripts/lint/layers.sh
echo '#include "comp/a.h"' >> "$work/t/src/base/b.h"; must bad "layers: base includes comp" scripts/lint/layers.sh
fresh; echo '#include "knuckle/step.h"' >> "$work/t/src/comp/a.c"; must bad "layers: comp includes a public header above it" scripts/lint/layers.sh
fresh; echo '#include "base/b.h"' >> "$work/t/cli/c.c"; must bad "layers: the command line includes src" scripts/lint/layers.sh
fresh; mkdir "$work/t/src/odd"; touch "$work/t/src/odd/a.c"; must bad "layers: an unknown folder" scripts/lint/layers.sh
if command -v clang-format > /dev/null; then
  fresh; must good format scripts/lint/format.sh
  echo 'int   kn_g( void ) ;' >> "$work/t/src/comp/a.c"; must bad format scripts/lint/format.sh
  must good "format --fix" scripts/lint/format.sh --fix; must good "format after --fix" scripts/lint/format.sh
fi
fresh; must good headers scripts/lint/headers.sh
echo 'size_t kn_n(void);' >> "$work/t/include/knuckle/a.h"; must bad "headers: size_t without its header" scripts/lint/headers.sh
fresh; echo 'int kn_new(int new);' >> "$work/t/include/knuckle/a.h"; must bad "headers: not C++" scripts/lint/headers.sh
fresh; must good words scripts/lint/words.sh
echo 'see http''://registry.example.org/x' >> "$work/t/cli/c.c"; must bad words scripts/lint/words.sh
fresh; mkdir "$work/t/test"; printf 'int kn_t(void);\n#ifdef HAVE_X\nstatic int f(void) { return 1; }\nint kn_t(void) { return f(); }\n#endif\n' > "$work/t/test/p.c"
must good peers scripts/lint/peers.sh
printf 'static int f(void) { return 1; }\nint kn_t(void);\n#ifdef HAVE_X\nint kn_t(void) { return f(); }\n#endif\n' > "$work/t/test/p.c"
must bad "peers: a function unused without the peer" scripts/lint/peers.sh
fresh; printf '[a](cli/c.c) [b](https://example.org/x)\n' > "$work/t/a.md"; must good docs scripts/lint/docs.sh
echo '[c](nowhere.md#x)' >> "$work/t/a.md"; must bad "docs: a dead link" scripts/lint/docs.sh
fresh; library 'int kn_f(void) { return 0; }'; must good symbols scripts/lint/symbols.sh "$work/t/l.so" "$work/t/l.a"
library 'int kn_f(void) { return 0; } int stray(void) { return 1; }'; must bad "symbols: no prefix" scripts/lint/symbols.sh "$work/t/l.so" "$work/t/l.a"
library 'int kn_f(void) { return 0; } int kn_secret(void) { return 1; }'; must bad "symbols: exported, not public" scripts/lint/symbols.sh "$work/t/l.so" "$work/t/l.a"
library 'int kn_g(void) { return 0; }'; must bad "symbols: declared, not defined" scripts/lint/symbols.sh "$work/t/l.so" "$work/t/l.a"
library 'int kn_f(void) { return 0; }'; echo "$work/t/l.o" > "$work/t/list"; must good slice scripts/lint/slice.sh list
echo 'int kn_up(void); int kn_f(void) { return kn_up(); }' | cc -c -fPIC -x c - -o "$work/t/l.o"; must bad "slice: needs a higher layer" scripts/lint/slice.sh list
mkdir -p "$work/t/src/comp" "$work/t/src/math" "$work/t/src/record/verify"
object() { echo "#include <math.h>
double kn_f(double x); double kn_f(double x) { return $2; }" | cc -c -O2 -fno-math-errno -x c - -o "$work/t/src/$1/a.o"; echo "$work/t/src/$1/a.o" > "$work/t/list"; }
object comp 'sqrt(x) + floor(x) + fmod(x, 3.0) + ldexp(x, 3)'; must good libm scripts/lint/libm.sh list
object comp 'sin(x)'; must bad "libm: sine outside math" scripts/lint/libm.sh list
object comp 'hypot(x, 1.0)'; must bad "libm: hypot outside math" scripts/lint/libm.sh list
object math 'sin(x)'; must good "libm: math itself" scripts/lint/libm.sh list
object record/verify 'sin(x)'; must good "libm: verify" scripts/lint/libm.sh list
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
