#!/usr/bin/env bash
# wick's packages, each installed where nothing of wick is, and README's program built against it.
#
#   bash tests/packages/run.sh [debian] [conan]
#
#   debian  cpack's package, installed by apt-get into a new root of this Debian (as root; 2 GB below build/packages)
#   conan   conan create, with the system's libraries, and conan's own test of a package
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh
source tests/parts.sh
source tests/support/red_and_blue.sh

here=$wick_root/build/packages
mkdir -p "$here"

try_readme() {  # try_readme COMMAND…: trains README's program, which the command runs, on a few pictures
  rm -rf "$here/pictures"
  red_and_blue "$here/pictures" 40
  "$@" "$here/pictures" >"$here/readme.log"
  grep -q '^epoch 5: loss' "$here/readme.log" || wick_die "README's program printed: $(cat "$here/readme.log")"
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
  cp examples/00_readme.cpp "$here/root/program/main.cpp"
  cp tests/packages/CMakeLists.txt "$here/root/program"
  wick_step deb-install in_root apt-get install -y --no-install-recommends /wick.deb g++ cmake make
  wick_step deb-consumer in_root sh -c 'cmake -S /program -B /program/build -D CMAKE_BUILD_TYPE=Release && cmake --build /program/build'
  try_readme readme_in_root
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
  cp examples/00_readme.cpp "$here/conan-recipe/test_package/main.cpp"
  wick_step conan-create build/conan-venv/bin/conan create "$here/conan-recipe" -s compiler.cppstd=20 -o '&:system_libraries=True'
  try_readme readme_of_conan
}
readme_of_conan() { "$(find "$here/conan-recipe/test_package" -name readme -type f -perm -u+x | head -n 1)" "$@"; }

[[ ${1:-} != -h && ${1:-} != --help ]] || { wick_usage "${BASH_SOURCE[0]}" && exit; }
parts=("$@")
((${#parts[@]})) || parts=(debian conan)
wick_require build jpeg png torch venv
for part in "${parts[@]}"; do
  [[ $part == debian || $part == conan ]] || wick_die "tests/packages/run.sh: no part $part; --help lists them"
  "test_$part"
  wick_say "packages: $part: passed"
done
