# Compiles for 64-bit ARM on a machine of another kind, and runs what it made by qemu: Debian's g++-aarch64-linux-gnu and
# qemu-user. Libraries for ARM are taken from WICK_ARM64_PACKAGES only, where tests/nightly.sh arm64 unpacks Debian's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT WICK_ARM64_PACKAGES)
  set(WICK_ARM64_PACKAGES "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-packages")
endif()
if(NOT EXISTS "${WICK_ARM64_PACKAGES}")
  message(FATAL_ERROR "wick: ${WICK_ARM64_PACKAGES} is missing, which has zlib, stb and doctest for ARM: "
    "bash tests/nightly.sh arm64 unpacks Debian's there; -DWICK_ARM64_PACKAGES=/a/prefix names others")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WICK_ARM64_PACKAGES)
set(CMAKE_FIND_ROOT_PATH "${WICK_ARM64_PACKAGES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Static: qemu then needs no libraries for ARM on the machine.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
find_program(WICK_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(NOT WICK_QEMU_AARCH64)
  message(FATAL_ERROR "wick: qemu-aarch64 is missing, which runs programs for ARM: apt-get install qemu-user")
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR "${WICK_QEMU_AARCH64}")
