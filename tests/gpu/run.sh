#!/usr/bin/env bash
# Tests on a real GPU, and what a training step loses there by loading.
#
#   bash tests/gpu/run.sh [--folder PICTURES] [BENCHMARK-ARGUMENT…]
#
# Needs a LibTorch for the GPU: python3's torch, or the one of $WICK_TORCH_VENV. Where Torch sees no GPU the programs say
# so, and the script ends with 0. Where that Python has the package wick (pip install .), the package is tested, too;
# --folder, a folder a class, measures it against PyTorch's DataLoader, which needs torchvision.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh

folder=''
if [[ ${1:-} == --folder ]]; then
  [[ -d ${2:-} ]] || wick_die "tests/gpu: --folder wants a folder of pictures"
  folder=$2
  shift 2
fi
wick_require build tests jpeg torch
python=$(command -v "${WICK_TORCH_VENV:+$WICK_TORCH_VENV/bin/}python3")
wick_step gpu-configure cmake --preset release -B build/gpu -D LibTorch_PYTHON="$python" \
  -D WICK_TESTS=all -D WICK_BUILD_EXAMPLES=OFF -D WICK_ARROW=OFF
wick_step gpu-build cmake --build build/gpu --parallel "$(nproc)" --target wick_test_gpu bench_gpu
build/gpu/tests/gpu/wick_test_gpu --no-version
if (cd / && "$python" -c 'import torch, wick') >/dev/null 2>&1; then
  "$python" tests/gpu/device.py || [[ $? == 77 ]]
  [[ -z $folder ]] || "$python" bench/gpu/training.py "$folder"
else
  wick_say "without device=\"cuda\": $python has no packages torch and wick (pip install torch .)"
fi
build/gpu/bench/bench_gpu --workers "$(nproc)" "$@"
