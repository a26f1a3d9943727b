#!/usr/bin/env bash
# Installs what is missing, builds wick's tests without optimization, and runs them.
#
#   bash tests/run.sh [--no-install] [ROOM…] [-- CTEST-ARGUMENT…]
#
#   ROOM          only the tests of these folders of tests/: batch, loader, misuse, …
#   --no-install  only name what is missing, and stop with 1
#
# Without a room: format, spelling and structure, then the tests of a landing, without its sanitizers and without what compiles
# wick again (allocations/failing) or programs of users: misuse, pairs, consume, guides, and all examples but three. As rooms
# they are compiled and run, too.
# tests/landing.sh runs all of it, tests/nightly.sh what takes longer.
# The build is in build/debug; ccache is used where it is installed. The same with CMake alone:
# cmake --preset debug && cmake --build --preset debug && ctest --preset debug -LE compiles.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh
source tests/parts.sh

rooms=()
ctest_arguments=()
while (($#)); do
  case $1 in
    --no-install) export WICK_INSTALL=no ;;
    --)
      shift
      ctest_arguments=("$@")
      break
      ;;
    -h | --help) wick_usage "${BASH_SOURCE[0]}" && exit ;;
    -*) wick_die "tests/run.sh: no option $1; --help lists them" ;;
    *)
      [[ -n $(find "tests/$1" -maxdepth 1 \( -name '*.cpp' -o -name CMakeLists.txt \) 2>/dev/null) ]] ||
        wick_die "tests/run.sh: no tests in tests/$1; the rooms are the folders of tests/"
      rooms+=("$1")
      ;;
  esac
  shift
done

needs=(build tests jpeg png lmdb curl torch data venv python)
((${#rooms[@]})) || needs+=(structure format spelling)
wick_require "${needs[@]}"
wick_get_arrow
wick_get_nanobind
wick_get_s3

if ((${#rooms[@]} == 0)); then
  wick_part style bash tests/style.sh structure format spelling
  wick_part build wick_build_preset debug
  # The programs of a build that failed may be older ones. One test more than processors runs: some wait for servers.
  [[ " ${wick_failed_parts[*]-} " == *" build "* ]] || wick_part test wick_test_preset debug -j "$((wick_jobs + 1))" -LE "^compiles$" "${ctest_arguments[@]}"
  wick_finish_parts tests/run.sh
  exit
fi

targets=()
for room in "${rooms[@]}"; do
  if [[ $room == examples ]]; then
    targets+=(examples/all tools/all)
    wick_configure_options=(-D WICK_EXAMPLE_TESTS=)
  elif [[ $room == guides ]]; then
    targets+=(wick_guides)
  elif [[ $room == allocations ]]; then
    targets+=(tests/allocations/all wick_test_failing_allocations)
  elif [[ -e tests/$room/CMakeLists.txt ]]; then
    targets+=("tests/$room/all")
  else
    targets+=("wick_test_$room")
  fi
done
wick_build_preset debug "${targets[@]}"
wick_test_preset debug -R "^($(IFS='|' && echo "${rooms[*]}"))/" "${ctest_arguments[@]}"
