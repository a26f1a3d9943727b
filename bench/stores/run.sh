#!/usr/bin/env bash
# Gets what the benchmark of servers needs (libcurl, OpenSSL, pugixml and nginx), then builds and runs it:
#
#   bash bench/run.sh stores [--quick] [--rounds N] …
#
# WICK_PEERS names a virtual environment with the Python peers; bash bench/peers.sh makes one.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"
wick_require build torch curl >&2
exec bash "$root/bench/run.sh" stores "$@"
