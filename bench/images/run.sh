#!/usr/bin/env bash
# Photographs into batches of 64 against libjpeg-turbo alone, torch::data and the Python loaders that there are:
#
#   bash bench/run.sh images [--photos DIR] [--svg FILE] [--no-pixels] [--case rrc|val|large|full|crops] [--quick] [--rounds N] …
#
# The pictures are made once, in build/images/set: from the photographs among Debian's wallpapers, which are fetched with
# apt-get into build/images and not installed, or from the JPEGs below DIR (2000 x 1500 px or larger ones are wanted).
# WICK_PEERS names a virtual environment with the Python loaders; bash bench/peers.sh makes one. --svg writes the
# figures as a picture.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/bench/images
source "$root/tools/install_deps.sh"

photos='' svg='' pixels=yes arguments=()
while (($#)); do
  case $1 in
    --photos | --svg)
      (($# > 1)) || wick_die "bench/images: $1 wants a path"
      if [[ $1 == --photos ]]; then
        photos=$(cd "$2" 2>/dev/null && pwd) || wick_die "bench/images: no folder $2"
      else
        svg=$(realpath "$2")
      fi
      shift 2
      ;;
    --no-pixels)
      pixels=no
      shift
      ;;
    *)
      arguments+=("$1")
      shift
      ;;
  esac
done

wick_require build torch jpeg pillow >&2
source "$root/bench/support/photographs.sh"
wick_photographs "$photos"

peers=()
if [[ -n ${WICK_PEERS:-} ]]; then
  [[ -x $WICK_PEERS/bin/python ]] || wick_die "bench/images: WICK_PEERS=$WICK_PEERS is no virtual environment (bash bench/peers.sh makes one)"
  peers=(--peers "$WICK_PEERS")
else
  wick_say "without Python's loaders: bash bench/peers.sh installs them, WICK_PEERS=DIR names them" >&2
fi

export WICK_BENCH_CMAKE="-DWICK_JPEG=turbo"
results=$wick_work/results.txt
bash "$root/bench/run.sh" images --folder "$wick_set" "${peers[@]}" "${arguments[@]}" | tee "$results"
# A profile or a part of it has no pixels to compare.
if [[ $pixels == yes && " ${arguments[*]} " != *" --only "* && " ${arguments[*]} " != *" --help "* ]]; then
  dump=$(mktemp -d "${TMPDIR:-/tmp}/wick-images-XXXXXX")
  trap 'rm -rf "$dump"' EXIT
  bash "$root/bench/run.sh" images --folder "$wick_set" "${peers[@]}" "${arguments[@]}" --pixels "$dump" >"$wick_logs/images-pixels.log" 2>&1 || {
    tail -n 20 "$wick_logs/images-pixels.log" >&2
    wick_die "bench/images: writing the pixels failed"
  }
  "$wick_pillow" "$here/pillow.py" "$dump" | tee -a "$results"
fi
if [[ -n $svg ]]; then
  "$wick_pillow" "$here/chart.py" "$results" >"$svg"
  wick_say "wrote $svg" >&2
fi
