#!/usr/bin/env bash
# Installs what is missing, builds wick and runs its tests.
#
#   bash tests/run.sh [--quick] [--sanitizers] [--clang] [--no-install] [-- CTEST-ARGUMENT…]
#
#   --quick       leave out the consumer projects, the compilation of each header alone, the stress program, the fuzzing,
#                 and what is tried with every compiler there is
#   --sanitizers  afterwards also the tests that need no LibTorch under ThreadSanitizer, and under AddressSanitizer with
#                 UndefinedBehaviorSanitizer, where a minute of fuzzing is among them
#   --clang       afterwards also the tests that need no LibTorch, built by clang
#   --no-install  only name what is missing, and stop with 1
#
# The same without this script: cmake --workflow --preset default (tsan, asan, clang).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh

presets=(default)
needs=(build tests jpeg torch data)
quick=()
ctest_arguments=()
while (($#)); do
  case $1 in
    --quick) quick=(-LE slow) ;;
    --sanitizers)
      presets+=(tsan asan)
      needs+=(clang)
      ;;
    --clang)
      presets+=(clang)
      needs+=(clang)
      ;;
    --no-install) WICK_INSTALL=no ;;
    --)
      shift
      ctest_arguments=("$@")
      break
      ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit
      ;;
    *) wick_die "tests/run.sh: no option $1; --help says which there are" ;;
  esac
  shift
done

wick_require $(printf '%s\n' "${needs[@]}" | sort -u)
jobs=$(nproc)

for preset in "${presets[@]}"; do
  printf '\n== %s\n' "$preset"
  prefix=()
  if [[ $preset == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    # ThreadSanitizer before clang 18 can't live with as much address randomisation as newer kernels have.
    prefix=(setarch "$(uname -m)" -R)
  fi
  if [[ $preset != default ]]; then
    WICK_CXX=$(wick_sanitizing_clang)
    export WICK_CXX
  fi
  wick_step "$preset-configure" cmake --preset "$preset"
  wick_step "$preset-build" cmake --build --preset "$preset" --parallel "$jobs"
  "${prefix[@]}" ctest --preset "$preset" -j "$jobs" --output-log "$wick_logs/$preset-test.log" \
    "${quick[@]}" "${ctest_arguments[@]}" || wick_die "tests of preset $preset failed; log: build/logs/$preset-test.log"
done
printf '\n'
wick_say "passed: ${presets[*]}"
