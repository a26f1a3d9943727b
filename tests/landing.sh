#!/usr/bin/env bash
# What every change must pass before it lands: each test once, built the way that finds the most in it. CI runs it.
#
#   bash tests/landing.sh [--no-install] [PART…]
#
#   style    structure, format and spelling (tests/style.sh)
#   threads  what has threads, under ThreadSanitizer, with 20 s of the stress program
#   memory   what parses, or computes on memory, under AddressSanitizer and UndefinedBehaviorSanitizer
#   rest     what uses LibTorch, Arrow or Python, interleavings, misuse, the examples and the guides' code
#            (all compile, three examples run), a consumer project
#   sharing  the cache lines that 16 workers move, counted (bench/run.sh sharing)
#
#   --no-install  only name what is missing, and stop with 1
#
# Without a part, all of them. At the end, the time of each. tests/nightly.sh runs what takes longer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh
source tests/parts.sh

parts=()
while (($#)); do
  case $1 in
    --no-install) export WICK_INSTALL=no ;;
    style | threads | memory | rest | sharing) parts+=("$1") ;;
    -h | --help) wick_usage "${BASH_SOURCE[0]}" && exit ;;
    *) wick_die "tests/landing.sh: no part or option $1; --help lists them" ;;
  esac
  shift
done
((${#parts[@]})) || parts=(style threads memory rest sharing)

install() { wick_require build tests jpeg png lmdb curl torch data clang venv python structure format spelling && wick_get_arrow && wick_get_nanobind && wick_get_s3; }
part_style() { bash tests/style.sh structure format spelling; }
part_threads() { wick_build_preset landing-threads && wick_test_preset landing-threads; }
part_memory() { wick_build_preset landing-memory && wick_test_preset landing-memory; }
part_sharing() { bash bench/run.sh sharing --check --workers 16; }
part_rest() { wick_build_preset landing-rest && wick_test_preset landing-rest; }

start=$SECONDS
install  # in this shell, since it sets PATH and CXX
wick_part_rows+=("$(printf '%-12s %-7s %6d s' install passed $((SECONDS - start)))")
for part in "${parts[@]}"; do
  wick_part "$part" "part_$part"
done
wick_finish_parts landing
