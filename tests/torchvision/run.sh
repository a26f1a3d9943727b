#!/usr/bin/env bash
# Compares wick with torchvision, by each program NAME.cpp of this folder that has a NAME.py.
#
#   bash tests/torchvision/run.sh FOLDER [NAME…]
#
# FOLDER holds the programs as CMake built them, wick_torchvision_NAME. WICK_TORCHVISION_VENV is a Python environment that has
# torchvision; without it nothing is compared, and the last line says so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${1:?a folder with programs}
shift
if [[ -z ${WICK_TORCHVISION_VENV:-} ]]; then
  echo "skipped: WICK_TORCHVISION_VENV names no Python environment that has torchvision"
  exit 0
fi
names=("$@")
if ((${#names[@]} == 0)); then
  for script in "$here"/*.py; do names+=("$(basename "$script" .py)"); done
fi
for name in "${names[@]}"; do
  "$WICK_TORCHVISION_VENV/bin/python" "$here/$name.py" "$programs/wick_torchvision_$name" "$programs/$name"
done
