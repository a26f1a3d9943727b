#!/usr/bin/env bash
# What workers share: cache lines that move, atomic operations, and locks, with 2, 16, and 64 workers, counted on a simulated machine.
#
#   bash bench/run.sh sharing [OPTION…]
#
#   --check        fails if a count is a tenth higher than in bench/sharing/figures.json, or the hottest line twice as hot
#   --update       writes them there
#   --only NAME    one pipeline; --list names them
#   --workers N    with this number of workers, 1 to 256; may be repeated
#   --quick        with 2 workers
#   --move NS      how long a line takes from one processor to another: 100 within a socket, 250 between two
#   --where        also the lines of wick's code that moved cache lines most often
#
# The counts are the same in each run with the same compiler. Rows of Parquet are counted where Arrow is (pyarrow has it);
# not counted: stores and images. "full at" is the number of workers at which the line that moves most would move all the time.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"
source "$root/tests/parts.sh"
cd "$root"
for argument in "$@"; do
  [[ $argument != -h && $argument != --help ]] || { wick_usage "${BASH_SOURCE[0]}"; exit; }
done
if [[ $(uname -sm) != "Linux x86_64" ]]; then
  echo "bench/sharing: needs Linux on x86-64; not run"
  exit
fi
wick_require build >&2
command -v g++ >/dev/null || wick_die "bench/sharing: needs g++, whose instrumentation it counts by"
arrow=()
[[ ! -e $wick_arrow_venv/complete ]] || arrow=(-D "ArrowParquet_PYTHON=$wick_arrow_venv/bin/python3")
{
  wick_step sharing-configure cmake -S bench/sharing/program -B build/sharing -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS= "${arrow[@]}"
  wick_step sharing-build cmake --build build/sharing --parallel "$(nproc)"
} >&2
exec python3 bench/sharing/table.py build/sharing/wick_sharing "$@"
