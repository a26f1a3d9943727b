#!/usr/bin/env bash
# What the report, the hang watch and the trace cost where a sample costs nothing:
#
#   bash bench/run.sh overhead [--rounds N] [--quick] [--workers N]
#
# wick as it is, with a trace, and from a copy of its sources without what measures (strip.py), in turns.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$root/bench/overhead
source "$root/tools/install_deps.sh"

rounds=9 arguments=()
while (($#)); do
  case $1 in
    --rounds) rounds=$2 && shift ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" && exit ;;
    --quick) rounds=2 && arguments+=("$1") ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
bare=$root/build/overhead-source
wick_require build >&2
rm -rf "$bare"
mkdir -p "$bare"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$bare")
python3 "$here/strip.py" "$bare"
build() { # build SOURCES FOLDER
  cmake -S "$1" -B "$2" -G Ninja -D CMAKE_BUILD_TYPE=Release -D WICK_TORCH=OFF -D WICK_ARROW=OFF -D WICK_LMDB=OFF \
    -D WICK_BUILD_TESTS=OFF -D WICK_BUILD_EXAMPLES=OFF -D WICK_BUILD_TOOLS=OFF -D WICK_BUILD_BENCH=ON
  cmake --build "$2" --parallel "$(nproc)" --target bench_overhead
}
{
  wick_step overhead-all build "$root" "$root/build/overhead-all"
  wick_step overhead-bare build "$bare" "$root/build/overhead-bare"
} >&2
for ((i = 0; i < rounds; ++i)); do
  for side in all bare trace; do
    program=$root/build/overhead-all/bench/bench_overhead
    [[ $side != bare ]] || program=$root/build/overhead-bare/bench/bench_overhead
    printf '%s %s\n' "$side" "$("$program" --side "$side" "${arguments[@]}")"
  done
done | python3 "$here/summary.py"
