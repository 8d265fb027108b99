#!/usr/bin/env bash
# The main job, and something to look at.
set -euo pipefail
cd "$(dirname "$0")/.."
build/knuckle --version
