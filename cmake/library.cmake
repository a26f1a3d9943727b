# The library's targets:
#   wick::core  headers without Torch; C++20, threads, zlib
#   wick::stb   the one translation unit with stb_image's code: the embedded decoder
#   wick::turbojpeg  the one with JPEG by libjpeg-turbo (feature: WICK_TURBOJPEG=ON)
#   wick::wick  all of it: core, stb and the headers that need LibTorch

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12
   OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "wick: needs g++ 12 or clang 14 or newer for C++20 coroutines; this is "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. Name another one with -DCMAKE_CXX_COMPILER=g++-12")
endif()

# The modules that find what wick needs are installed with it, so that find_package(wick) finds the same things.
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
find_package(Threads REQUIRED)
find_package(ZLIB)
if(NOT ZLIB_FOUND)
  message(FATAL_ERROR "wick: zlib.h is missing. One of these gets it:\n"
    "  apt-get install zlib1g-dev\n"
    "  cmake … -DCMAKE_PREFIX_PATH=/the/prefix/of/zlib")
endif()
find_package(Stb MODULE QUIET)
if(NOT Stb_FOUND)
  message(FATAL_ERROR "wick: stb_image.h is missing. One of these gets it:\n"
    "  apt-get install libstb-dev\n"
    "  vcpkg install stb\n"
    "  cmake … -DStb_INCLUDE_DIR=/the/folder/with/stb_image.h")
endif()
if(WICK_TORCH)
  find_package(LibTorch MODULE REQUIRED)
else()
  message(STATUS "wick: without LibTorch (WICK_TORCH=OFF): wick::core and wick::stb only")
endif()
if(WICK_TURBOJPEG)
  find_package(JPEG)
  set(_turbo_version "")
  foreach(_folder IN LISTS JPEG_INCLUDE_DIRS)
    foreach(_file "${_folder}/jconfig.h" "${_folder}/${CMAKE_LIBRARY_ARCHITECTURE}/jconfig.h")
      if(EXISTS "${_file}" AND NOT _turbo_version)
        file(STRINGS "${_file}" _turbo_version REGEX "define +LIBJPEG_TURBO_VERSION +")
      endif()
    endforeach()
  endforeach()
  string(REGEX REPLACE ".*LIBJPEG_TURBO_VERSION +" "" _turbo_version "${_turbo_version}")
  if(NOT JPEG_FOUND OR NOT _turbo_version OR _turbo_version VERSION_LESS 2.0)
    message(FATAL_ERROR "wick: WICK_TURBOJPEG=ON needs libjpeg-turbo 2.0 or newer. One of these gets it:\n"
      "  apt-get install libjpeg-dev      Debian, Ubuntu\n"
      "  vcpkg install libjpeg-turbo\n"
      "  cmake … -DJPEG_ROOT=/the/prefix/of/libjpeg-turbo\n"
      "Without it: cmake … -DWICK_TURBOJPEG=OFF leaves stb_image as the decoder.")
  endif()
  message(STATUS "wick: wick::turbojpeg with libjpeg-turbo ${_turbo_version} (${JPEG_LIBRARIES})")
else()
  message(STATUS "wick: without wick::turbojpeg (WICK_TURBOJPEG=OFF): JPEG by stb_image")
endif()

set(_depends "")
if(PROJECT_IS_TOP_LEVEL)
  set(_depends CONFIGURE_DEPENDS)  # Headers come and go while wick is worked on, not while it's used.
endif()
file(GLOB_RECURSE _core ${_depends} "${PROJECT_SOURCE_DIR}/include/wick/*.hpp")
set(_torch ${_core})
list(FILTER _torch INCLUDE REGEX "include/wick/(torch/.*|wick)\\.hpp$")
set(_implementation ${_core})
list(FILTER _implementation INCLUDE REGEX "_implementation\\.hpp$")
list(REMOVE_ITEM _core ${_torch} ${_implementation})
set(_base "${PROJECT_SOURCE_DIR}/include")

add_library(wick_core INTERFACE)
add_library(wick::core ALIAS wick_core)
set_target_properties(wick_core PROPERTIES EXPORT_NAME core)
target_compile_features(wick_core INTERFACE cxx_std_20)
target_link_libraries(wick_core INTERFACE Threads::Threads ZLIB::ZLIB)
# The *_implementation.hpp headers need what only wick::stb sees (stb_image.h), so they are a set of their own, which
# is not checked for standing alone.
target_sources(wick_core INTERFACE
  FILE_SET HEADERS BASE_DIRS "${_base}" FILES ${_core}
  FILE_SET implementation TYPE HEADERS BASE_DIRS "${_base}" FILES ${_implementation})
set_target_properties(wick_core PROPERTIES
  VERIFY_INTERFACE_HEADER_SETS "${WICK_BUILD_TESTS}"
  INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)

add_library(wick_stb STATIC "${PROJECT_SOURCE_DIR}/cmake/wick_implementation.cpp")
add_library(wick::stb ALIAS wick_stb)
set_target_properties(wick_stb PROPERTIES
  EXPORT_NAME stb
  CXX_EXTENSIONS OFF
  POSITION_INDEPENDENT_CODE ON
  VERIFY_INTERFACE_HEADER_SETS OFF)
target_include_directories(wick_stb SYSTEM PRIVATE "${Stb_INCLUDE_DIR}")
target_link_libraries(wick_stb PUBLIC wick_core)
# A decoder without optimisation is ten times slower than the training loop it feeds, and nobody steps through it:
# it is optimised in every build type. Aligned, because the chance of where a loop starts makes up to a tenth of its speed.
target_compile_options(wick_stb PRIVATE
  $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O3 -w -falign-functions=64 -falign-loops=32>)

# Colours that a palette does not have are read from the stack by stb_image: let them be black, always.
include(CheckCXXCompilerFlag)
foreach(_value zero pattern)
  check_cxx_compiler_flag(-ftrivial-auto-var-init=${_value} WICK_HAS_AUTO_INIT_${_value})
  if(WICK_HAS_AUTO_INIT_${_value})
    target_compile_options(wick_stb PRIVATE -ftrivial-auto-var-init=${_value})
    break()
  endif()
endforeach()

if(WICK_TURBOJPEG)
  add_library(wick_turbojpeg STATIC "${PROJECT_SOURCE_DIR}/cmake/wick_turbojpeg.cpp")
  add_library(wick::turbojpeg ALIAS wick_turbojpeg)
  set_target_properties(wick_turbojpeg PROPERTIES
    EXPORT_NAME turbojpeg
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    VERIFY_INTERFACE_HEADER_SETS OFF)
  target_link_libraries(wick_turbojpeg PUBLIC wick_core wick_stb PRIVATE JPEG::JPEG ${CMAKE_DL_LIBS})
  target_compile_options(wick_turbojpeg PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-O3>)
endif()

if(WICK_TORCH)
  add_library(wick INTERFACE)
  add_library(wick::wick ALIAS wick)
  target_link_libraries(wick INTERFACE wick_core wick_stb LibTorch::LibTorch)
  target_sources(wick INTERFACE FILE_SET HEADERS BASE_DIRS "${_base}" FILES ${_torch})
  set_target_properties(wick PROPERTIES VERIFY_INTERFACE_HEADER_SETS "${WICK_BUILD_TESTS}")
  if(LibTorch_CXX11_ABI EQUAL 0)
    target_compile_definitions(wick_stb PUBLIC _GLIBCXX_USE_CXX11_ABI=0)
  endif()
endif()
