#!/usr/bin/env bash
# Finds the libraries that the engine is compared with, then builds and runs the benchmark:
#
#   bash bench/run.sh engine [--libfork DIR] [--taskflow DIR] [--quick] [--only LIBRARY] [--case NAME] [--rounds N] …
#
# oneTBB is always one of them. DIR is a checkout of libfork or Taskflow, whose headers are taken from there.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"

libfork='' taskflow='' arguments=()
folder() { (cd "$1" 2>/dev/null && pwd) || wick_die "bench/engine: no folder $1"; }
while (($#)); do
  case $1 in
    --libfork | --taskflow)
      (($# > 1)) || wick_die "bench/engine: $1 wants a folder"
      if [[ $1 == --libfork ]]; then libfork=$(folder "$2"); else taskflow=$(folder "$2"); fi
      shift 2
      ;;
    *)
      arguments+=("$1")
      shift
      ;;
  esac
done
wick_require tbb >&2
export WICK_BENCH_CMAKE="-DWICK_BENCH_LIBFORK=$libfork
-DWICK_BENCH_TASKFLOW=$taskflow"
exec bash "$root/bench/run.sh" engine "${arguments[@]}"
