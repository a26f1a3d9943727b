#!/usr/bin/env bash
# Padding of packed rows beside Grain's best fit on the same lengths, where WICK_PEERS is a Python environment that has it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lengths=$(mktemp -d)
trap 'rm -rf "$lengths"' EXIT
output=$(bash "$root/bench/run.sh" packing --folder "$lengths" "$@")
grep -v '^RESULT' <<<"$output"
result=$(grep '^RESULT' <<<"$output")
python=${WICK_PEERS:+$WICK_PEERS/bin/python}
if [[ -n $python ]] && "$python" -c 'import grain' 2>/dev/null; then
  printf '%-10s %10s %8s\n' grain padding seconds
  while read -r kind padding seconds; do
    printf '%-10s %9s%% %8s\n' "$kind" "$padding" "$seconds"
    result+=" grain_$kind=$padding"
  done < <("$python" "$root/bench/packing/grain_best_fit.py" 2048 64 "$lengths"/{lognormal,uniform,bimodal} 2>/dev/null)
else
  echo "no Grain: WICK_PEERS=… names an environment that has it (pip install grain)"
fi
echo "$result"
