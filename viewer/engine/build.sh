#!/usr/bin/env bash
# The engine as WebAssembly: viewer/engine/dist/knuckle.wasm. Compiles src/, scenes/ and the parts of cli/ and output/
# that open a subject, with zig, and links them with qhull, expat and the decoder of zstd. What needs another library
# (HDF5, SUNDIALS, libfyaml, threads) answers "built without …", as in any build without it (cmake/depends.cmake).
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/viewer-tools.sh
cache=$(scripts/viewer-tools.sh path)
out=build-wasm
mkdir -p "$out" viewer/engine/dist

# Every argument that contains a folder of a library: the one unpacked there, whatever its version.
library() { local d; for d in "$cache/src/$1"-*/; do echo "${d%/}"; return; done; }
qhull=$(library qhull)/src expat=$(library expat)/expat/lib zstd=$(library libzstd)/lib

mapfile -t own < <({
  find src -name '*.c'
  find scenes -name '*.c' -not -path '*/gallery/*'
  printf '%s\n' cli/{args,complain,help,words,subject,drop,study,overlaps,start,edit,ignored}.c output/{json,text}.c
  find viewer/engine -name '*.c'
} | sort)

ninja="$out/build.ninja"
{
  cat << EOF
builddir = $out
zig = $cache/venv/bin/python -m ziglang cc -target wasm32-wasi -mcpu=generic+simd128+bulk_memory
common = -O2 -ffunction-sections -fno-sanitize=undefined -ffp-contract=off -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL
own = -std=gnu17 -fno-math-errno -fno-trapping-math -Wall -Wextra -Werror -Wno-psabi -DKN_BUILDING -DKN_HAVE_QHULL -DKN_HAVE_ZSTD -DXML_STATIC -Iinclude -Isrc -Iscenes -Icli -I. -Iviewer/engine/shim/nosjlj -isystem $qhull -isystem $expat -isystem $zstd
foreign = -w -DHAVE_EXPAT_CONFIG_H -DXML_STATIC -DHAVE_STDINT_H -DZSTD_LEGACY_SUPPORT=0 -DZSTD_DISABLE_ASM=1 -Iviewer/engine/shim/nosjlj -Iviewer/engine/shim -I$qhull -I$expat -I$zstd
rule own
  command = \$zig \$common \$own \$isa -MD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  deps = gcc
  description = wasm \$in
rule foreign
  command = \$zig \$common \$foreign -c \$in -o \$out
rule link
  command = \$zig -mexec-model=reactor -o \$out @\$out.rsp -Wl,-s -Wl,--gc-sections -Wl,-z,stack-size=1048576 -lwasi-emulated-mman -lwasi-emulated-process-clocks -lwasi-emulated-signal
  rspfile = \$out.rsp
  rspfile_content = \$in
rule pack
  command = gzip -9 -n -c \$in > \$out
EOF
  objects=()
  add() { # rule file
    local o="$out/${2//\//_}.o"; o="${o//[^A-Za-z0-9_.\/-]/_}"
    echo "build $o: $1 ${2//:/\$:}"; objects+=("$o")
    case "$2" in *_kernel.c) echo "  isa = -DKN_ISA=0" ;; esac
  }
  for f in "${own[@]}"; do add own "$f"; done
  for f in geom2 geom global io libqhull mem merge poly2 poly qset random stat user usermem userprintf; do add foreign "$qhull/libqhull_r/${f}_r.c"; done
  for f in xmlparse xmlrole xmltok; do add foreign "$expat/$f.c"; done
  for f in "$zstd"/common/*.c "$zstd"/decompress/*.c; do add foreign "$f"; done
  echo "build viewer/engine/dist/knuckle.wasm: link ${objects[*]}"
  echo "build viewer/engine/dist/knuckle.wasm.gz: pack viewer/engine/dist/knuckle.wasm"
} > "$ninja.new"
cmp -s "$ninja.new" "$ninja" && rm "$ninja.new" || mv "$ninja.new" "$ninja"
ninja -k 0 -f "$ninja" --quiet | { grep -v "no work to do" || true; }
