#!/usr/bin/env bash
# Builds and runs one benchmark; without a name, says which there are.
#
#   bash bench/run.sh NAME [ARGUMENT…]
#
# A benchmark is a folder bench/NAME with *.cpp, or with a run.sh that does more (peers, data to be made first). It ends
# with a line: RESULT NAME key=value …
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tools/install_deps.sh"

if (($# == 0)) || [[ $1 == -* ]]; then
  echo "bash bench/run.sh NAME [ARGUMENT…], where NAME is one of:"
  for folder in "$root"/bench/*/; do
    name=$(basename "$folder")
    compgen -G "$folder*.cpp" >/dev/null || [[ -e $folder/run.sh ]] || continue
    # The first line of the comment at the top says what it measures.
    sources=()
    for source in "$folder$name.cpp" "$folder"*.cpp "$folder"run.sh; do
      [[ -e $source ]] && sources+=("$source")
    done
    about=$(awk '/^(\/\/|#)/ { sub(/^(\/\/+|#+) */, ""); if ($0 !~ /^(!|include|$)/) { print; exit } }' "${sources[@]}")
    printf '  %-14s %s\n' "$name" "$about"
  done
  exit
fi
name=$1
shift
[[ -d $root/bench/$name ]] || wick_die "bench: no folder bench/$name; without arguments bench/run.sh says which there are"
if [[ -e $root/bench/$name/run.sh && -z ${WICK_BENCH_DELEGATED:-} ]]; then
  # It may call `bash bench/run.sh NAME …` in its turn to build and run the program.
  WICK_BENCH_DELEGATED=1 exec bash "$root/bench/$name/run.sh" "$@"
fi

cd "$root"
wick_require build torch >&2
mapfile -t settings <<<"${WICK_BENCH_CMAKE:-}"  # of a run.sh that called this one, one a line
[[ -n ${settings[0]} ]] || settings=()
{
  # Those of an earlier benchmark would stay.
  wick_step bench-configure cmake --preset release -B build/bench -DWICK_BUILD_TESTS=OFF -DWICK_BUILD_EXAMPLES=OFF \
    -DWICK_JPEG=auto -DWICK_PNG=auto -DWICK_ARROW=auto -UArrowParquet_PYTHON "${settings[@]}"
  wick_step "bench-$name" cmake --build build/bench --parallel "$(nproc)" --target "bench_$name"
} >&2
exec "build/bench/bench/bench_$name" "$@"
