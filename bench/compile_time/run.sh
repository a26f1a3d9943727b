#!/usr/bin/env bash
# What including wick costs: seconds and memory of the compiler, beside LibTorch's own headers and a program with torch::data.
#
#   bash bench/run.sh compile_time [--rounds N]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"
wick_require build torch >&2
exec python3 "$root/bench/compile_time/compile_time.py" "$root" "$@"
