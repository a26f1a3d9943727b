#!/usr/bin/env bash
# Checks how the code is written, without building it: format, spelling, and what a linter finds in the headers.
#
#   bash tests/style.sh [--fix] [--no-install] [structure] [format] [spelling] [tidy]
#
#   structure which header includes which, the reference that is generated from the headers and whether its signatures compile,
#             whether the single header can be generated; words that the documentation avoids; whether each mutant still finds
#             the code that it breaks
#   format    clang-format changes nothing (.clang-format)
#   spelling  codespell finds no misspelling, and American spelling only
#   tidy      clang-tidy finds nothing in the headers, as programs that use them see them, and in the tools (.clang-tidy);
#             about a minute of one core
#   --fix     generates, formats, and corrects what has one correction; look at what became of names
#
# Without a name all four. tests/run.sh and tests/landing.sh check all but tidy, tests/nightly.sh all.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh

checks=()
fix=()
while (($#)); do
  case $1 in
    --fix) fix=(yes) ;;
    --no-install) WICK_INSTALL=no ;;
    structure | format | spelling | tidy) checks+=("$1") ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit
      ;;
    *) wick_die "tests/style.sh: no option $1; --help says which there are" ;;
  esac
  shift
done
((${#checks[@]})) || checks=(structure format spelling tidy)
wick_require "${checks[@]}"
# What is generated from the headers is so from what they are by then.
((${#fix[@]})) && [[ " ${checks[*]} " == *" structure "* ]] && checks=("${checks[@]/structure/}" structure)

# What git tracks, and what is new and not ignored. The single header is generated.
mapfile -t files < <(git ls-files --cached --others --exclude-standard -- . ':!single_include/wick' | while read -r file; do
  [[ -f $file ]] && printf '%s\n' "$file"
done)
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '\.([chi]pp)$')
((${#sources[@]})) || wick_die "tests/style.sh: no sources; is this a checkout of git's?"

check_structure() {
  local check=(--check) status=0
  ((${#fix[@]})) && check=()
  local pid pids=()
  python3 tests/words.py . & pids+=($!)
  python3 tests/structure.py . & pids+=($!)
  python3 docs/reference.py "${check[@]}" || status=1
  python3 tests/signatures.py || status=1  # of the pages that were written
  python3 single_include/amalgamate.py --check || status=1
  python3 tests/mutants/mutants.py --check || status=1
  python3 bench/sharing/planted.py --check || status=1
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return $status
}

check_format() {
  local options=(--dry-run -Werror)
  ((${#fix[@]})) && options=(-i)
  printf '%s\0' "${sources[@]}" | xargs -0 -n 100 -P "$(nproc)" clang-format-16 "${options[@]}"
}

# `cancelled` is as American as `canceled`. The others are names: a filter of PNG, a count of inputs, a picture's file.
check_spelling() {
  local options=(--builtin clear,rare,en-GB_to_en-US --ignore-words-list cancelled,paeth,nin
    --ignore-regex 'FallenLeaf Grey Kite')
  ((${#fix[@]})) && options+=(--write-changes)
  codespell "${options[@]}" "${files[@]}"
}

# A header is looked at through programs that use it, so that templates are instantiated. What the headers in
# impl/ define is no inline function: they are included once.
check_tidy() {
  local options=(--quiet) python arrow='' source status=0
  for python in "$wick_arrow_venv/bin/python3" python3; do
    [[ -n $arrow ]] || arrow=$("$python" -c 'import pyarrow; print(pyarrow.get_include())' 2>/dev/null) || arrow=''
  done
  for source in tests/warnings/*.cpp tools/*.cpp cmake/*.cpp; do
    local checks=()
    if [[ $source == cmake/wick_arrow.cpp ]]; then
      [[ -n $arrow ]] || { wick_say "tidy: without Parquet: no pyarrow" && continue; }
      checks=(-extra-arg-before="-isystem$arrow")
    fi
    [[ $source == cmake/* ]] && checks+=(--checks=-misc-definitions-in-headers)
    # Its counts of what it left out go to stderr with the errors: shown where there is one.
    local log=$wick_logs/tidy.log
    if ! clang-tidy-16 "${options[@]}" "${checks[@]}" "$source" -- -std=c++20 -Iinclude -isystem /usr/include/stb \
      -DWICK_HAS_LIBJPEG_TURBO -DWICK_HAS_LIBDEFLATE >"$log" 2>&1; then
      grep -v -E '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -' "$log" >&2
      status=1
    fi
  done
  return $status
}

mkdir -p "$wick_logs"
failed=()
for check in ${checks[*]}; do
  start=$SECONDS log=$wick_logs/style-$check.log
  if wick_watch "$check" "$log" "check_$check"; then
    wick_say "$check: $((SECONDS - start)) s"
  else
    cat "$log" >&2
    failed+=("$check")
  fi
done
((${#failed[@]} == 0)) || wick_die "style: failed: ${failed[*]}; bash tests/style.sh --fix structure format spelling corrects what it can"
