#!/usr/bin/env bash
# Installs the Debian packages the build and the tests need; says which; silent when all are there.
exec "$(dirname "$0")/install.sh" gcc g++ make cmake ninja-build pkg-config clang-format libexpat1-dev libqhull-dev \
  liblapacke-dev libopenblas-dev libdsdp-dev libsundials-dev libzstd-dev zlib1g-dev libcivetweb-dev libhdf5-dev libfyaml-dev libassimp-dev libopenmpi-dev openmpi-bin \
  libjansson-dev libfclib-dev librsvg2-bin valgrind python3-dev python3-venv doxygen dpkg-dev file
