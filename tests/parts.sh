# Sourced by tests/run.sh, tests/landing.sh and tests/nightly.sh, after tools/install_deps.sh: builds and tests presets,
# runs the parts of a script, and says how long each part takes.

wick_jobs=$(nproc)

# wick_usage SCRIPT: prints the comment at the top of the script.
wick_usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$1"; }

wick_configure_options=()

# What wick_get_arrow and wick_get_nanobind have installed is found by CMake, and by the tests through it.
wick_wheel_options() {
  [[ -e $wick_arrow_venv/complete ]] && printf '%s\n' -D "ArrowParquet_PYTHON=$wick_arrow_venv/bin/python3"
  [[ -e $wick_python_venv/complete ]] && printf '%s\n' -D "WICK_PYTHON=$wick_python_venv/bin/python3"
  return 0
}

# wick_build_preset PRESET [TARGET…]: configures, with wick_configure_options, and builds; the logs are in build/logs.
wick_build_preset() {
  local preset=$1
  shift
  case $preset in
    tsan | asan | clang | landing-threads | landing-memory)
      WICK_CXX=$(wick_sanitizing_clang) || wick_die "$preset: no clang with a sanitizer runtime"
      export WICK_CXX
      ;;
  esac
  local wheels=()
  mapfile -t wheels < <(wick_wheel_options)
  wick_step "$preset-configure" cmake --preset "$preset" "${wheels[@]}" "${wick_configure_options[@]}"
  wick_step "$preset-build" cmake --build --preset "$preset" --parallel "$wick_jobs" ${@:+--target "$@"}
}

# wick_test_preset PRESET [CTEST-ARGUMENT…]: runs the preset's tests.
wick_test_preset() {
  local preset=$1 prefix=() log=$wick_logs/$1-test.log
  shift
  if [[ $preset == tsan || $preset == landing-threads ]] && setarch "$(uname -m)" -R true 2>/dev/null; then
    # ThreadSanitizer before clang 18 fails with as much address randomization as newer kernels have.
    prefix=(setarch "$(uname -m)" -R)
  fi
  local start=$SECONDS
  wick_watch "$preset-test" "$log" "${prefix[@]}" ctest --preset "$preset" -j "$wick_jobs" "$@" || {
    # What the tests that failed have printed, and their names.
    awk '/^ *[0-9]+\/[0-9]+ Test| +Start +[0-9]+:/ { shown = /\*\*\*/ } /^The following tests FAILED/ { shown = 1 } shown' "$log" |
      tail -n 300 >&2
    wick_say "tests of preset $preset failed; what they printed is in build/logs/$preset-test.log"
    return 1
  }
  grep -E '^[0-9]+% tests passed' "$log" || true
  wick_say "$preset-test: $((SECONDS - start)) s"
}

# wick_make_venv NAME PACKAGE…: a Python environment build/NAME with what PyPI has of these.
wick_make_venv() {
  local folder=$wick_root/build/$1
  [[ -e $folder/complete ]] && return
  wick_step "$1" python3 -m venv "$folder"
  wick_step "$1-pip" "$folder/bin/pip" install "${@:2}"
  touch "$folder/complete"
}

# ---- the parts of a script

wick_part_rows=()
wick_failed_parts=()

# wick_part NAME COMMAND…: runs it in a shell of its own, so that a part that fails does not end the others.
wick_part() {
  local name=$1 start=$SECONDS result=passed
  shift
  printf '\n== %s\n' "$name"
  ("$@") || {
    result=failed
    wick_failed_parts+=("$name")
  }
  wick_part_rows+=("$(printf '%-12s %-7s %6d s' "$name" "$result" $((SECONDS - start)))")
}

# wick_finish_parts SCRIPT: prints the table of the parts; fails where one failed.
wick_finish_parts() {
  printf '\n== time of each part\n'
  printf '%s\n' "${wick_part_rows[@]}" "$(printf '%-12s %-7s %6d s' all '' "$SECONDS")"
  ((${#wick_failed_parts[@]} == 0)) || wick_die "$1: failed: ${wick_failed_parts[*]}"
  wick_say "$1: passed"
}
