#!/usr/bin/env bash
# Installs what is missing, builds wick and runs its tests.
#
#   bash tests/run.sh [--quick] [--sanitizers] [--clang] [--arm64] [--no-install] [-- CTEST-ARGUMENT…]
#
# Structure, format, spelling and clang-tidy come first (tests/style.sh).
#
#   --quick       leave out clang-tidy, the consumer projects, the compilation of each header alone, the stress program,
#                 the fuzzing, and what is tried with every compiler there is
#   --sanitizers  afterwards also the tests that need no LibTorch under ThreadSanitizer, and under AddressSanitizer with
#                 UndefinedBehaviorSanitizer, where a minute of fuzzing is among them
#   --clang       afterwards also the tests that need no LibTorch, built by clang
#   --arm64       afterwards also the core's tests for 64-bit ARM, run by qemu; left out where the compiler can't be had
#   --no-install  only name what is missing, and stop with 1
#
# The same without this script: cmake --workflow --preset default (tsan, asan, clang, arm64).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh

presets=(default)
needs=(build tests jpeg png torch data)
style=(structure format spelling tidy)
quick=()
skipped=()
arm64=
ctest_arguments=()
while (($#)); do
  case $1 in
    --quick)
      quick=(-LE slow)
      style=(structure format spelling)
      ;;
    --sanitizers)
      presets+=(tsan asan)
      needs+=(clang)
      ;;
    --clang)
      presets+=(clang)
      needs+=(clang)
      ;;
    --arm64) arm64=yes ;;
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

# What takes tools of its own is left out where they can't be had, with a word here and at the end.
wanted() { # wanted GROUP: its tools are there, or will be
  wick_available "$1" && return
  wick_say "left out: $1, which needs $(wick_missing "$1" | tr '\n' ' ')"
  skipped+=("$1")
  return 1
}

checks=()
for check in "${style[@]}"; do
  wanted "$check" && checks+=("$check")
done
if [[ $arm64 && $(uname -m) == aarch64 ]]; then
  wick_say "left out: arm64: this machine is one"
elif [[ $arm64 ]] && wanted arm64; then
  needs+=(arm64)
  presets+=(arm64)
fi

wick_require $(printf '%s\n' "${needs[@]}" "${checks[@]}" | sort -u)
jobs=$(nproc)

if ((${#checks[@]})); then
  printf '\n== style\n'
  bash tests/style.sh "${checks[@]}"
fi
passed=()
for preset in "${presets[@]}"; do
  printf '\n== %s\n' "$preset"
  prefix=()
  if [[ $preset == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    # ThreadSanitizer before clang 18 can't live with as much address randomization as newer kernels have.
    prefix=(setarch "$(uname -m)" -R)
  fi
  if [[ $preset == arm64 ]] && ! wick_unpack_arm64_packages; then
    wick_say "left out: arm64, which needs Debian's packages for it; log: build/logs/arm64-packages.log"
    skipped+=(arm64)
    continue
  fi
  if [[ $preset != default && $preset != arm64 ]]; then
    WICK_CXX=$(wick_sanitizing_clang)
    export WICK_CXX
  fi
  wick_step "$preset-configure" cmake --preset "$preset"
  wick_step "$preset-build" cmake --build --preset "$preset" --parallel "$jobs"
  "${prefix[@]}" ctest --preset "$preset" -j "$jobs" --output-log "$wick_logs/$preset-test.log" \
    "${quick[@]}" "${ctest_arguments[@]}" || wick_die "tests of preset $preset failed; log: build/logs/$preset-test.log"
  passed+=("$preset")
done
printf '\n'
((${#skipped[@]})) && wick_say "left out: ${skipped[*]}"
wick_say "passed: ${checks[*]} ${passed[*]}"
