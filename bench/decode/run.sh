#!/usr/bin/env bash
# Decoding by stb_image: a folder of JPEGs into batches, against bare stb_image on as many threads.
#
#   bash bench/run.sh decode [ARGUMENT…]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export WICK_BENCH_CMAKE="-DWICK_JPEG=stb"
exec bash "$root/bench/run.sh" decode "$@"
