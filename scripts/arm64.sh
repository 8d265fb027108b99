#!/usr/bin/env bash
# arm64.sh FOLDER: the command line for 64-bit ARM in FOLDER, with Debian's cross compiler, and FOLDER/run that runs it by emulation
# (qemu-user). The libraries it needs are Debian's packages for arm64, unpacked into a folder outside the tree: the machine's
# own packages and settings stay as they are. Says what it installs; silent when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."
out="$1"
cache="${KN_ARM64_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/knuckle-arm64}"
root="$cache/root"
scripts/install.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
if [ ! -e "$root/.complete" ]; then
  echo "unpacking Debian's libraries for arm64 into $root"
  mkdir -p "$cache"/lists/partial "$cache"/cache/archives/partial "$root"
  options=(-qq -o APT::Architecture=arm64 -o "APT::Architectures::=arm64" -o "Dir::State::Lists=$cache/lists" -o "Dir::Cache=$cache/cache"
    -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install -y --no-install-recommends --download-only libexpat1-dev libzstd-dev zlib1g-dev libqhull-dev libfyaml-dev libassimp-dev > "$cache/log"
  for p in "$cache"/cache/archives/*.deb; do dpkg -x "$p" "$root"; done
  touch "$root/.complete"
fi
mkdir -p "$out"
cat > "$out/toolchain.cmake" << EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH $root)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "\${CMAKE_EXE_LINKER_FLAGS_INIT}")
EOF
export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig"
launcher=()
command -v ccache > /dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
log="$out/log"
if ! { cmake -S . -B "$out" -G Ninja --toolchain "$PWD/$out/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DKN_TESTS=OFF -DKN_BENCH=OFF -DKN_HDF5=OFF \
         -DKN_SUNDIALS=OFF -DKN_DSDP_CHECK=OFF -DMPI_C_FOUND=OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON "${launcher[@]}" &&
       ninja -C "$out" knuckle; } > "$log" 2>&1
then tail -n 20 "$log" >&2; exit 1; fi
printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s" "$@"\n' "$root" "$PWD/$out/knuckle" > "$out/run"
chmod +x "$out/run"
