#!/usr/bin/env bash
# run.sh BUILD_DIR: installs the build into a fresh prefix and uses it from outside: find_package and pkg-config,
# shared and static, and the installed command line.
set -euo pipefail
build="$1"
here="$(cd "$(dirname "$0")" && pwd)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake -S "$here" -B "$work/outside" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/log" 2>&1 &&
  cmake --build "$work/outside" >> "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/outside/outside_shared"
"$work/outside/outside_static"
case "$(ldd "$work/outside/outside_static")" in *libknuckle*) echo "the static program needs the shared library"; exit 1 ;; esac
case "$(ldd "$work/outside/outside_shared")" in *"$work/prefix"*libknuckle*) ;; *) echo "not the installed library"; exit 1 ;; esac

pc=$(dirname "$(find "$work/prefix" -name knuckle.pc)")
export PKG_CONFIG_LIBDIR="$pc" # nothing else is known: who links the shared library needs no headers of what it uses
libdir=$(pkg-config --variable=libdir knuckle)
cc -o "$work/by_pkgconfig" "$here/outside.c" $(pkg-config --cflags --libs knuckle)
LD_LIBRARY_PATH="$libdir" "$work/by_pkgconfig"
for example in "$here"/../../examples/*.c; do # as the README says
  cc -o "$work/example" "$example" $(pkg-config --cflags --libs knuckle)
  (cd "$here/../.." && LD_LIBRARY_PATH="$libdir" "$work/example" > "$work/log" 2>&1) || { echo "$example"; cat "$work/log"; exit 1; }
done
cc -o "$work/by_pkgconfig_static" "$here/outside.c" $(pkg-config --cflags knuckle) "$libdir/libknuckle.a" \
  $(pkg-config --static --libs knuckle | sed 's/-lknuckle//')
"$work/by_pkgconfig_static"
"$work/prefix/bin/knuckle" --version

# Manual pages and completions are there, one page per command; uninstalling leaves no file behind.
share="$work/prefix/share"
for command in $("$work/prefix/bin/knuckle" list commands | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
  [ -s "$share/man/man1/knuckle-$command.1" ] || { echo "no manual page of $command"; exit 1; }
done
bash -n "$share/bash-completion/completions/knuckle"
answer=$(bash -c 'source "$1"; COMP_WORDS=(knuckle run pendulum-20); COMP_CWORD=2; _knuckle; echo "${COMPREPLY[@]}"' x "$share/bash-completion/completions/knuckle")
[ "$answer" = "pendulum-2012 pendulum-2014" ] || { echo "completion says: $answer"; exit 1; }
[ -s "$share/zsh/site-functions/_knuckle" ]
DESTDIR="$work/staged" cmake --install "$build" --prefix /usr/local > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[ -x "$work/staged/usr/local/bin/knuckle" ]
DESTDIR="$work/staged" "$here/../../scripts/uninstall.sh" "$(cd "$build" && pwd)" > /dev/null
left=$(find "$work/staged" -type f -o -type l | head -3)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }

# The Debian package: what it needs is found, and it holds the command line, the library and its header.
(cd "$build" && cpack --config CPackConfig.cmake -B "$work/package" > "$work/log" 2>&1) || { cat "$work/log"; exit 1; }
package=$(echo "$work"/package/*.deb)
dpkg-deb --field "$package" Depends | grep -q libc6 || { echo "the package depends on nothing"; exit 1; }
held=$(dpkg-deb --contents "$package")
for file in usr/bin/knuckle usr/lib/libknuckle.so usr/include/knuckle/step.h usr/share/man/man1/knuckle.1; do
  case "$held" in *"$file"*) ;; *) echo "not in the package: $file"; exit 1 ;; esac
done
