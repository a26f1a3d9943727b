#!/usr/bin/env bash
# What the constants that were chosen by measurement cost when they are off by two: each is halved and doubled in a copy.
#
#   bash bench/run.sh constants [--rounds N] [--only TEXT] [--build-only]
#
# Prints, for each, the speed with half and with twice the value as a multiple of what it is now. Takes about two minutes a constant.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"
wick_require build torch tbb >&2
exec python3 "$root/bench/constants/constants.py" "$root" "$@"
