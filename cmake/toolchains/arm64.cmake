# Compiles for 64-bit ARM on a machine of another kind, and runs what it made by qemu: Debian's g++-aarch64-linux-gnu and
# qemu-user. Libraries for ARM are taken from WICK_ARM64_PACKAGES only, where tests/run.sh --arm64 unpacks Debian's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT WICK_ARM64_PACKAGES)
  set(WICK_ARM64_PACKAGES "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-packages")
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
set(CMAKE_CROSSCOMPILING_EMULATOR "${WICK_QEMU_AARCH64}")
