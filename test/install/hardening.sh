#!/usr/bin/env bash
# hardening.sh BUILD: what the built program and library are protected by, read from the files themselves.
set -u
build=$1
failed=0
fail() { echo "hardening.sh: $1" >&2; failed=1; }
for file in "$build/knuckle" "$build"/libknuckle.so; do
  dynamic=$(readelf -dW "$file") headers=$(readelf -lW "$file") symbols=$(readelf -sW "$file")
  path=$(sed -n 's/.*R\(UN\)\{0,1\}PATH.*\[\(.*\)\]/\2/p' <<< "$dynamic")
  case ":$path:" in
  ::) ;;                                     # no path at all
  *::*) fail "$file: an empty element in the search path \"$path\" is the current folder" ;;
  esac
  for element in ${path//:/ }; do
    case $element in /* | '$ORIGIN'*) ;; *) fail "$file: \"$element\" in the search path is relative" ;; esac
  done
  grep -q 'BIND_NOW\|Flags:.*NOW' <<< "$dynamic" || fail "$file: not bound at start (-z now)"
  grep -q GNU_RELRO <<< "$headers" || fail "$file: no read-only relocations (-z relro)"
  grep 'GNU_STACK' <<< "$headers" | grep -q 'RWE' && fail "$file: the stack is executable"
  grep -q '__stack_chk_fail' <<< "$symbols" || fail "$file: no stack protector"
  grep -q '_chk' <<< "$(grep -v stack_chk <<< "$symbols")" || fail "$file: not built with FORTIFY"
done
readelf -hW "$build/knuckle" | grep -q 'DYN (Position-Independent Executable\|DYN' || fail "knuckle is not position-independent"
readelf -dW "$build/knuckle" | grep -q 'PIE' || fail "knuckle is not a PIE"
# A library that lies about in the current folder is not loaded.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include <stdlib.h>\n__attribute__((constructor)) static void loaded(void) { _Exit(66); }\n' > "$work/evil.c"
"${CC:-cc}" -shared -fPIC -o "$work/evil.so" "$work/evil.c" || fail "cannot build the bait"
for name in $(readelf -dW "$build/knuckle" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do cp "$work/evil.so" "$work/$name"; done
program=$(realpath "$build/knuckle")
(cd "$work" && "$program" list > /dev/null)
[ $? -eq 66 ] && fail "knuckle loads libraries from the current folder"
[ $failed -eq 0 ] && echo "hardening.sh: search path, stack protector, FORTIFY, RELRO, BIND_NOW and PIE are in place"
exit $failed
