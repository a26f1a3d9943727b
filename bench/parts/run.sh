#!/usr/bin/env bash
# Pictures with masks, and with boxes, against the pictures alone, the masks' decoding, and torchvision's transforms v2:
#
#   bash bench/run.sh parts [--photos DIR] [--case segmentation|detection] [--quick] [--rounds N] …
#
# The pictures are those of bench/images, made once. WICK_PEERS names a virtual environment with torchvision;
# WICK_PEERS_SKIP="…" bash bench/peers.sh makes one.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/install_deps.sh"
source "$root/bench/support/photographs.sh"

photos='' arguments=()
while (($#)); do
  if [[ $1 == --photos ]]; then
    (($# > 1)) || wick_die "bench/parts: --photos wants a path"
    photos=$(cd "$2" 2>/dev/null && pwd) || wick_die "bench/parts: no folder $2"
    shift
  else
    arguments+=("$1")
  fi
  shift
done
wick_require build torch jpeg png pillow >&2
wick_photographs "$photos"
parts=$wick_set/parts
if [[ ! -e $parts/complete ]]; then
  rm -rf "$parts"
  "$wick_pillow" "$root/bench/parts/make_parts.py" "$wick_set" "$parts" >&2
  touch "$parts/complete"
fi
peers=()
if [[ -n ${WICK_PEERS:-} ]]; then
  [[ -x $WICK_PEERS/bin/python ]] || wick_die "bench/parts: WICK_PEERS=$WICK_PEERS is no virtual environment (bash bench/peers.sh makes one)"
  peers=(--peers "$WICK_PEERS")
else
  wick_say "without torchvision: bash bench/peers.sh installs it, WICK_PEERS=DIR names where it is" >&2
fi
export WICK_BENCH_CMAKE="-DWICK_JPEG=turbo
-DWICK_PNG=libdeflate"
bash "$root/bench/run.sh" parts --folder "$parts" "${peers[@]}" "${arguments[@]}"
