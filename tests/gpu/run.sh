#!/usr/bin/env bash
# Tests on a real GPU, and what a training step loses there by loading.
#
#   bash tests/gpu/run.sh [BENCHMARK-ARGUMENT…]
#
# Needs a LibTorch for the GPU: python3's torch, or the one of $WICK_TORCH_VENV. Where Torch sees no GPU both programs say
# so, and the script ends with 0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh

wick_require build tests jpeg torch
python=${WICK_TORCH_VENV:+$WICK_TORCH_VENV/bin/}python3
wick_step gpu-configure cmake --preset release -B build/gpu -D LibTorch_PYTHON="$(command -v "$python")" \
  -D WICK_TESTS=all -D WICK_BUILD_EXAMPLES=OFF -D WICK_ARROW=OFF
wick_step gpu-build cmake --build build/gpu --parallel "$(nproc)" --target wick_test_gpu bench_gpu
build/gpu/tests/gpu/wick_test_gpu --no-version
build/gpu/bench/bench_gpu --workers "$(nproc)" "$@"
