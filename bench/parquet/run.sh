#!/usr/bin/env bash
# Two of 20 columns of a Parquet file, 256 floats and a label: wick, and pyarrow in Python.
#
#   bash bench/run.sh parquet [ARGUMENT…]
#
# WICK_PEERS names a virtual environment that has pyarrow and numpy, and torch for its DataLoader; else one without torch is made in
# build/parquet-peers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"

export WICK_PEERS=${WICK_PEERS:-$root/build/parquet-peers}
if [[ ! -x $WICK_PEERS/bin/python ]]; then
  mkdir -p "$(dirname "$WICK_PEERS")"
  {
    wick_step parquet-peers python3 -m venv "$WICK_PEERS"
    wick_step parquet-peers-pip "$WICK_PEERS/bin/pip" install pyarrow numpy
  } >&2
fi
WICK_BENCH_CMAKE=$(printf '%s\n' -DWICK_ARROW=ON "-DArrowParquet_PYTHON=$WICK_PEERS/bin/python")
export WICK_BENCH_CMAKE
WICK_BENCH_DELEGATED=1 exec bash "$root/bench/run.sh" parquet "$@"
