#!/usr/bin/env bash
# The main job: the pendulum of the papers swings onto floor and wall; leaves demo/index.html to look at.
set -euo pipefail
cd "$(dirname "$0")/.."
build/knuckle demo -o demo/index.html
