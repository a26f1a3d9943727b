#!/usr/bin/env bash
# Photographs into batches of 64 against libjpeg-turbo alone, torch::data and the Python loaders that there are:
#
#   bash bench/run.sh images [--photos DIR] [--svg FILE] [--no-pixels] [--case rrc|val|large|full] [--quick] [--rounds N] …
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
python=python3
python3 -c 'import PIL' 2>/dev/null || python=/usr/bin/python3

work=$root/build/images
set=$work/set${photos:+-$(printf %s "$photos" | cksum | cut -d ' ' -f 1)}
if [[ ! -e $set/complete ]]; then
  mkdir -p "$work"
  rm -rf "$set"
  if [[ -n $photos ]]; then
    wick_say "making the pictures from $photos, in $set" >&2
    "$python" "$here/make_set.py" "$set" --from "$photos" >&2
  else
    packages=(mate-backgrounds plasma-workspace-wallpapers)  # gnome's, ukui's and lomiri's are drawn
    debian=$work/debian
    if [[ ! -e $debian/complete ]]; then
      wick_say "fetching ${packages[*]} (140 MB) into $work, without installing them" >&2
      (
        cd "$work"
        apt-get -q download "${packages[@]}" >"$work/apt.log" 2>&1 ||
          { wick_update_apt && apt-get -q download "${packages[@]}" >"$work/apt.log" 2>&1; } ||
          wick_die "apt-get download failed, see $work/apt.log; or name a folder of your own with --photos DIR"
        for package in *.deb; do dpkg-deb -x "$package" "$debian"; done
        rm -f ./*.deb
        touch "$debian/complete"
      )
    fi
    wick_say "making the pictures, in $set" >&2
    "$python" "$here/make_set.py" "$set" --debian "$debian" >&2
  fi
  touch "$set/complete"
fi

peers=()
if [[ -n ${WICK_PEERS:-} ]]; then
  [[ -x $WICK_PEERS/bin/python ]] || wick_die "bench/images: WICK_PEERS=$WICK_PEERS is no virtual environment (bash bench/peers.sh makes one)"
  peers=(--peers "$WICK_PEERS")
else
  wick_say "without Python's loaders: bash bench/peers.sh installs them, WICK_PEERS=DIR names them" >&2
fi

export WICK_BENCH_CMAKE="-DWICK_JPEG=turbo"
results=$work/results.txt
bash "$root/bench/run.sh" images --folder "$set" "${peers[@]}" "${arguments[@]}" | tee "$results"
# A profile or a part of it has no pixels to compare.
if [[ $pixels == yes && " ${arguments[*]} " != *" --only "* && " ${arguments[*]} " != *" --help "* ]]; then
  dump=$(mktemp -d "${TMPDIR:-/tmp}/wick-images-XXXXXX")
  trap 'rm -rf "$dump"' EXIT
  bash "$root/bench/run.sh" images --folder "$set" "${peers[@]}" "${arguments[@]}" --pixels "$dump" >/dev/null 2>&1
  "$python" "$here/pillow.py" "$dump" | tee -a "$results"
fi
if [[ -n $svg ]]; then
  "$python" "$here/chart.py" "$results" >"$svg"
  wick_say "wrote $svg" >&2
fi
