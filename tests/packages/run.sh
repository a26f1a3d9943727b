#!/usr/bin/env bash
# wick's packages, each installed where nothing of wick is, and the tutorial's last program built against it.
#
#   bash tests/packages/run.sh [debian] [conan] [vcpkg]
#
#   debian  cpack's package, installed by apt-get into a new root of this Debian (as root; 2 GB below build/packages)
#   conan   conan create, with the system's libraries, and conan's own test of a package
#   vcpkg   the port by vcpkg's own scripts, without its program, and with the system's libraries, since neither can be had everywhere;
#           in the checkout of vcpkg that WICK_VCPKG names, or in a clone
set -euo pipefail
vcpkg=$(realpath -m "${WICK_VCPKG:-$(dirname "${BASH_SOURCE[0]}")/../../build/vcpkg}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh
source tests/parts.sh
source tests/support/red_and_blue.sh

here=$wick_root/build/packages
mkdir -p "$here"

try_program() {  # try_program COMMAND…: trains the tutorial's last program, which the command runs, on a few pictures
  rm -rf "$here/pictures"
  red_and_blue "$here/pictures" 40
  "$@" "$here/pictures" >"$here/program.log"
  grep -q '^epoch 5: loss' "$here/program.log" || wick_die "the tutorial's last program printed: $(cat "$here/program.log")"
}

in_root() {  # all mounts are this command's own, and are gone when it ends
  unshare --mount --propagation private bash -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' - "$here/root" "$@"
}

test_debian() {
  [[ $(id -u) == 0 ]] || wick_die "packages: debian: only root can make a root of its own"
  command -v debootstrap >/dev/null || wick_install_packages debootstrap
  wick_step deb-configure cmake -S . -B "$here/deb" -G Ninja -D CMAKE_BUILD_TYPE=Release -D CMAKE_INSTALL_PREFIX=/usr \
    -D WICK_BUILD_TESTS=OFF -D WICK_BUILD_EXAMPLES=OFF -D WICK_ARROW=OFF
  wick_step deb-build cmake --build "$here/deb" --parallel "$wick_jobs"
  rm -f "$here"/*.deb
  wick_step deb-package cpack -G DEB --config "$here/deb/CPackConfig.cmake" -B "$here"

  local release mirror
  read -r mirror release < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' | grep -v -- - | sort -u)
  rm -rf --one-file-system "$here/root"
  wick_step debootstrap unshare --mount --propagation private debootstrap --variant=minbase "$release" "$here/root" "$mirror"
  cp "$here"/libwick-dev_*.deb "$here/root/wick.deb"
  mkdir "$here/root/program"
  cp examples/00_pictures.cpp "$here/root/program/main.cpp"
  cp tests/packages/CMakeLists.txt "$here/root/program"
  wick_step deb-install in_root apt-get install -y --no-install-recommends /wick.deb g++ cmake make
  wick_step deb-consumer in_root sh -c 'cmake -S /program -B /program/build -D CMAKE_BUILD_TYPE=Release && cmake --build /program/build'
  try_program readme_in_root
  in_root sh -c 'wick-audit --help >/dev/null && wick-index --help >/dev/null' || wick_die "packages: debian: a tool does not start"
  rm -rf --one-file-system "$here/root"
}
readme_in_root() {
  cp -r "$1" "$here/root/pictures"
  in_root /program/build/readme /pictures
}

test_conan() {
  wick_make_venv conan-venv conan
  export CONAN_HOME=$here/conan-home
  [[ -e $CONAN_HOME/profiles/default ]] || wick_step conan-profile build/conan-venv/bin/conan profile detect
  rm -rf "$here/conan-recipe"
  mkdir "$here/conan-recipe"
  cp -r conanfile.py CMakeLists.txt LICENSE cmake include tools "$here/conan-recipe"
  cp -r tests/packages/conan "$here/conan-recipe/test_package"
  cp tests/packages/CMakeLists.txt "$here/conan-recipe/test_package"
  cp examples/00_pictures.cpp "$here/conan-recipe/test_package/main.cpp"
  wick_step conan-create build/conan-venv/bin/conan create "$here/conan-recipe" -s compiler.cppstd=20
  try_program readme_of_conan
}
readme_of_conan() { "$(find "$here/conan-recipe/test_package" -name readme -type f -perm -u+x | head -n 1)" "$@"; }

vcpkg_port() {  # vcpkg_port NAME FOLDER FEATURES: builds a port, and puts it beside those before
  local triplet share=$here/vcpkg/installed/x64-linux/share
  triplet=x64-linux
  wick_step "vcpkg-$1" env VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_ROOT="$vcpkg" cmake -D CMD=BUILD -D PORT="$1" -D CURRENT_PORT_DIR="$2" \
    -D FEATURES="$3" -D ALL_FEATURES="$3" -D VERSION=0.1.0 -D VCPKG_BASE_VERSION="$(date +%F)" -D VCPKG_ROOT_DIR="$vcpkg" \
    -D TARGET_TRIPLET=$triplet -D TARGET_TRIPLET_FILE="$vcpkg/triplets/$triplet.cmake" -D _HOST_TRIPLET=$triplet \
    -D _VCPKG_INSTALLED_DIR="$here/vcpkg/installed" -D DOWNLOADS="$here/vcpkg/downloads" -D BUILDTREES_DIR="$here/vcpkg/trees" \
    -D PACKAGES_DIR="$here/vcpkg/packages" -D VCPKG_CONCURRENCY="$wick_jobs" -D VCPKG_FIXUP_ELF_RPATH=OFF \
    -D VCPKG_PORT_CONFIGS="$(printf '%s\n' "$share"/vcpkg-*/vcpkg-port-config.cmake | grep -v '\*' | paste -sd ';')" -P "$vcpkg/scripts/ports.cmake"
  cp -r "$here/vcpkg/packages/$1_$triplet/." "$here/vcpkg/installed/$triplet"
}
can_try_vcpkg() {
  if [[ $(uname -m) != x86_64 ]]; then
    wick_say "skipped: packages: vcpkg: this machine is not the x64-linux of the port's test"
    return 1
  fi
  if [[ ! -e $vcpkg/scripts/ports.cmake ]] && ! git clone --quiet --depth 1 https://github.com/microsoft/vcpkg "$vcpkg" 2>/dev/null; then
    wick_say "skipped: packages: vcpkg: it can't be cloned here; set WICK_VCPKG to a checkout"
    return 1
  fi
}
test_vcpkg() {
  rm -rf "$here/vcpkg"
  mkdir -p "$here/vcpkg/installed/x64-linux" "$here/vcpkg/downloads"
  vcpkg_port vcpkg-cmake "$vcpkg/ports/vcpkg-cmake" core
  vcpkg_port vcpkg-cmake-config "$vcpkg/ports/vcpkg-cmake-config" core
  vcpkg_port wick "$wick_root/ports/wick" 'core;torch;libjpeg-turbo;libdeflate'
  [[ -e $here/vcpkg/installed/x64-linux/share/wick/copyright ]] || wick_die "packages: vcpkg: the port installs no license"
  mkdir "$here/vcpkg/program"
  cp examples/00_pictures.cpp "$here/vcpkg/program/main.cpp"
  cp tests/packages/CMakeLists.txt "$here/vcpkg/program"
  wick_step vcpkg-configure cmake -S "$here/vcpkg/program" -B "$here/vcpkg/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D VCPKG_MANIFEST_MODE=OFF \
    -D CMAKE_TOOLCHAIN_FILE="$vcpkg/scripts/buildsystems/vcpkg.cmake" -D VCPKG_INSTALLED_DIR="$here/vcpkg/installed" -D VCPKG_TARGET_TRIPLET=x64-linux
  wick_step vcpkg-consumer cmake --build "$here/vcpkg/build"
  grep -q "^wick_DIR:PATH=$here/vcpkg/installed" "$here/vcpkg/build/CMakeCache.txt" || wick_die "packages: vcpkg: another wick was found"
  try_program "$here/vcpkg/build/readme"
}

[[ ${1:-} != -h && ${1:-} != --help ]] || { wick_usage "${BASH_SOURCE[0]}" && exit; }
parts=("$@")
((${#parts[@]})) || parts=(debian conan vcpkg)
wick_require build jpeg png torch venv
for part in "${parts[@]}"; do
  [[ $part == debian || $part == conan || $part == vcpkg ]] || wick_die "tests/packages/run.sh: no part $part; --help lists them"
  if [[ $part == vcpkg ]] && ! can_try_vcpkg; then continue; fi
  "test_$part"
  wick_say "packages: $part: passed"
done
