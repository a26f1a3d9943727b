#!/usr/bin/env bash
# Makes a virtual environment with the Python packages that benchmarks are compared with, from PyPI:
#
#   bash bench/peers.sh [DIR]        build/peers; then WICK_PEERS=DIR bash bench/run.sh images, cache, parts, or stores
#
# Several GB with PyTorch (PyPI's wheel for x86-64 brings CUDA along; WICK_PEERS_SKIP="torch …" leaves packages out).
# FFCV is compiled here, with OpenCV from apt-get. What can't be installed is named, the rest goes on.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tools/install_deps.sh"

venv=${1:-$root/build/peers}
mkdir -p "$wick_logs" "$(dirname "$venv")"
log=$wick_logs/peers.log
: >"$log"
if [[ ! -x $venv/bin/python ]]; then
  python3 -m venv "$venv" >>"$log" 2>&1 || wick_die "python3 -m venv failed (apt-get install python3-venv), see $log"
fi

missing=()
# Each alone: one that can't be built must not take the others along. Both wheels of torch must fit each other.
for packages in "." "mlx-data" "nvidia-dali-cuda120" "turboloader" "torch torchvision pillow" "tensorflow-cpu" "spdl numpy" "obstore" "fsspec aiohttp" "awscrt" "ffcv numba torch pillow"; do
  name=${packages%% *}
  [[ " ${WICK_PEERS_SKIP:-} " == *" $name "* ]] && continue
  start=$SECONDS
  [[ $name == ffcv ]] && (wick_require ffcv)
  [[ $packages == . ]] && packages=$root
  if "$venv/bin/python" -m pip install --quiet $packages >>"$log" 2>&1; then
    wick_say "$packages: $((SECONDS - start)) s"
  else
    missing+=("$name")
    wick_say "not $name: $(grep -E '^ *(ERROR|error)' "$log" | tail -n 1)"
  fi
done
((${#missing[@]})) && wick_say "could not be installed: ${missing[*]}; the whole of it is in $log"
wick_say "WICK_PEERS=$venv bash bench/run.sh images (or cache, parts, stores)"
