# The library's targets:
#   wick::core  what does without Torch: the headers, and the decoders' code (stb_image; libjpeg-turbo and libdeflate where they are found)
#   wick::wick  the same with LibTorch
#   wick::python  wick::core for modules of Python, with nanobind
#   wick::lmdb  LMDB databases as sources, beside either, where LMDB is found
#   wick::curl  files and shards on servers, beside either, where libcurl is found
#   wick::arrow Parquet files as sources, beside either, where Arrow is found

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
  message(STATUS "wick: without LibTorch (WICK_TORCH=OFF): wick::core only")
endif()
# Baseline JPEGs are decoded by wick. Others, as progressive ones, by libjpeg-turbo, three times as fast as stb_image:
# taken where it is found.
if(NOT WICK_JPEG MATCHES "^(auto|turbo|stb)$")
  message(FATAL_ERROR "wick: WICK_JPEG is \"${WICK_JPEG}\"; it may be auto (libjpeg-turbo where it is found), turbo or stb")
endif()
set(WICK_HAS_LIBJPEG_TURBO FALSE)
if(NOT WICK_JPEG STREQUAL "stb")
  find_package(JPEG QUIET)
  set(_turbo_version "")
  foreach(_folder IN LISTS JPEG_INCLUDE_DIRS)
    # jconfig.h, or jconfig-64.h, which it includes; in a folder of the architecture on Debian.
    file(GLOB _files "${_folder}/jconfig*.h" "${_folder}/${CMAKE_LIBRARY_ARCHITECTURE}/jconfig*.h")
    foreach(_file IN LISTS _files)
      if(NOT _turbo_version)
        file(STRINGS "${_file}" _turbo_version REGEX "define +LIBJPEG_TURBO_VERSION +")
      endif()
    endforeach()
  endforeach()
  string(REGEX REPLACE ".*LIBJPEG_TURBO_VERSION +" "" _turbo_version "${_turbo_version}")
  if(JPEG_FOUND AND _turbo_version VERSION_GREATER_EQUAL 2.0)
    set(WICK_HAS_LIBJPEG_TURBO TRUE)
    message(STATUS "wick: progressive JPEG by libjpeg-turbo ${_turbo_version} (${JPEG_LIBRARIES})")
  elseif(WICK_JPEG STREQUAL "turbo")
    message(FATAL_ERROR "wick: WICK_JPEG=turbo needs libjpeg-turbo 2.0 or newer. One of these gets it:\n"
      "  apt-get install libjpeg-dev      Debian, Ubuntu\n"
      "  vcpkg install libjpeg-turbo\n"
      "  cmake … -DJPEG_ROOT=/the/prefix/of/libjpeg-turbo\n"
      "Without it: cmake … -DWICK_JPEG=stb leaves what wick does not decode itself to stb_image.")
  else()
    message(STATUS "wick: progressive JPEG by stb_image; with libjpeg-turbo it is three times as fast: apt-get install "
      "libjpeg-dev, or vcpkg install libjpeg-turbo (-DWICK_JPEG=stb: don't look for it)")
  endif()
else()
  message(STATUS "wick: progressive JPEG by stb_image (WICK_JPEG=stb)")
endif()

# PNG's pixels are inflated by libdeflate, three times as fast as by zlib: taken where it is found.
if(NOT WICK_PNG MATCHES "^(auto|libdeflate|zlib)$")
  message(FATAL_ERROR "wick: WICK_PNG is \"${WICK_PNG}\"; it may be auto (libdeflate where it is found), libdeflate or zlib")
endif()
set(WICK_HAS_LIBDEFLATE FALSE)
if(NOT WICK_PNG STREQUAL "zlib")
  find_package(LibDeflate 1.7 MODULE QUIET)
  set(WICK_HAS_LIBDEFLATE "${LibDeflate_FOUND}")
endif()
if(WICK_HAS_LIBDEFLATE)
  message(STATUS "wick: PNG by libdeflate ${LibDeflate_VERSION} (${LibDeflate_LIBRARY})")
elseif(WICK_PNG STREQUAL "libdeflate")
  message(FATAL_ERROR "wick: WICK_PNG=libdeflate needs libdeflate 1.7 or newer. One of these gets it:\n"
    "  apt-get install libdeflate-dev\n"
    "  vcpkg install libdeflate\n"
    "  cmake … -DLibDeflate_ROOT=/the/prefix/of/libdeflate\n"
    "Without it: cmake … -DWICK_PNG=zlib.")
elseif(WICK_PNG STREQUAL "zlib")
  message(STATUS "wick: PNG by zlib (WICK_PNG=zlib)")
else()
  message(STATUS "wick: PNG by zlib; with libdeflate it is faster: apt-get install libdeflate-dev, or vcpkg install "
    "libdeflate (-DWICK_PNG=zlib: don't look for it)")
endif()

# Parquet, by a target of its own.
if(NOT WICK_ARROW MATCHES "^(auto|ON|OFF)$")
  message(FATAL_ERROR "wick: WICK_ARROW is \"${WICK_ARROW}\"; it may be auto (wick::arrow where Arrow is found), ON or OFF")
endif()
set(WICK_HAS_ARROW FALSE)
if(WICK_ARROW STREQUAL "OFF")
  message(STATUS "wick: no Parquet (WICK_ARROW=OFF)")
else()
  find_package(ArrowParquet 15 MODULE QUIET)
  if(ArrowParquet_FOUND AND NOT "${LibTorch_CXX11_ABI}" STREQUAL "0")
    set(WICK_HAS_ARROW TRUE)
    message(STATUS "wick: Parquet by Arrow ${ArrowParquet_VERSION} from ${ArrowParquet_ORIGIN}")
  elseif(WICK_ARROW STREQUAL "ON" AND ArrowParquet_FOUND)
    message(FATAL_ERROR "wick: this LibTorch has the old std::string (_GLIBCXX_USE_CXX11_ABI=0), and Arrow has the new one; "
      "take LibTorch 2.6 or newer, or cmake … -DWICK_ARROW=OFF")
  elseif(WICK_ARROW STREQUAL "ON")
    message(FATAL_ERROR "wick: WICK_ARROW=ON needs Arrow and Parquet 15 or newer. One of these gets them:\n"
      "  pip install pyarrow                             then configure again, with that python3 on the PATH\n"
      "  cmake … -DArrowParquet_PYTHON=/a/venv/bin/python3   the same of another python3\n"
      "  vcpkg install arrow[parquet]\n"
      "  cmake … -DCMAKE_PREFIX_PATH=/the/prefix/of/arrow")
  else()
    message(STATUS "wick: no Parquet; pip install pyarrow, or vcpkg install arrow[parquet], makes wick::arrow "
      "(-DWICK_ARROW=OFF: don't look for it)")
  endif()
endif()

set(_base "${PROJECT_SOURCE_DIR}/include")

# The headers alone: what wick::core gives to those who link it.
add_library(wick_headers INTERFACE)
add_library(wick::headers ALIAS wick_headers)
set_target_properties(wick_headers PROPERTIES EXPORT_NAME headers)
target_compile_features(wick_headers INTERFACE cxx_std_20)
target_link_libraries(wick_headers INTERFACE Threads::Threads ZLIB::ZLIB)
target_include_directories(wick_headers INTERFACE "$<BUILD_INTERFACE:${_base}>")

# Several, so that they are compiled side by side.
set(wick_bodies engine pictures sources)
list(TRANSFORM wick_bodies REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/cmake/wick_\\1.cpp")
set(_stb "${PROJECT_SOURCE_DIR}/cmake/wick_stb_image.cpp")
set(_turbo "${PROJECT_SOURCE_DIR}/cmake/wick_libjpeg_turbo.cpp")
add_library(wick_core STATIC ${wick_bodies} "${_stb}")
add_library(wick::core ALIAS wick_core)
set_target_properties(wick_core PROPERTIES
  EXPORT_NAME core
  CXX_EXTENSIONS OFF
  POSITION_INDEPENDENT_CODE ON)
target_include_directories(wick_core SYSTEM PRIVATE "${Stb_INCLUDE_DIR}")
target_link_libraries(wick_core PUBLIC wick_headers)
# A decoder without optimization is ten times slower than the training loop it feeds, and nobody steps through it:
# what is compiled here is optimized in every build type. Aligned, because the chance of where a loop starts makes up to a
# tenth of its speed. A product and a sum that become one instruction are rounded once, so that pixels would differ between
# instruction sets: they stay two.
set(WICK_LIBRARY_OPTIONS "-O3;-falign-functions=64;-falign-loops=32" CACHE STRING "How what is compiled once is optimized")
mark_as_advanced(WICK_LIBRARY_OPTIONS)
target_compile_options(wick_core PRIVATE
  $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:${WICK_LIBRARY_OPTIONS};-ffp-contract=off>)
# Colors that a palette does not have are read from the stack by stb_image: let them be black, always.
set(WICK_STB_OPTIONS $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-w>)
include(CheckCXXCompilerFlag)
foreach(_value zero pattern)
  check_cxx_compiler_flag(-ftrivial-auto-var-init=${_value} WICK_HAS_AUTO_INIT_${_value})
  if(WICK_HAS_AUTO_INIT_${_value})
    list(APPEND WICK_STB_OPTIONS -ftrivial-auto-var-init=${_value})
    break()
  endif()
endforeach()
set_source_files_properties("${_stb}" PROPERTIES COMPILE_OPTIONS "${WICK_STB_OPTIONS}")

if(WICK_HAS_LIBJPEG_TURBO)
  target_sources(wick_core PRIVATE "${_turbo}")
  target_compile_definitions(wick_core PRIVATE WICK_HAS_LIBJPEG_TURBO)
  target_link_libraries(wick_core PRIVATE JPEG::JPEG)
endif()

if(WICK_HAS_LIBDEFLATE)
  target_compile_definitions(wick_core PRIVATE WICK_HAS_LIBDEFLATE)
  target_link_libraries(wick_core PRIVATE LibDeflate::LibDeflate)
endif()

# Headers for modules of Python. They need nanobind, which nanobind_add_module() brings.
add_library(wick_python INTERFACE)
add_library(wick::python ALIAS wick_python)
set_target_properties(wick_python PROPERTIES EXPORT_NAME python)
target_link_libraries(wick_python INTERFACE wick_core)

if(WICK_HAS_ARROW)
  add_library(wick_arrow STATIC "${PROJECT_SOURCE_DIR}/cmake/wick_arrow.cpp")
  add_library(wick::arrow ALIAS wick_arrow)
  set_target_properties(wick_arrow PROPERTIES EXPORT_NAME arrow CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(wick_arrow PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:${WICK_LIBRARY_OPTIONS}>)
  target_link_libraries(wick_arrow PUBLIC wick_core PRIVATE ArrowParquet::ArrowParquet)
endif()

if(WICK_TORCH)
  add_library(wick STATIC "${PROJECT_SOURCE_DIR}/cmake/wick_torch.cpp")
  add_library(wick::wick ALIAS wick)
  target_link_libraries(wick PUBLIC wick_core LibTorch::LibTorch)
  set_target_properties(wick PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  if(LibTorch_CXX11_ABI EQUAL 0)
    target_compile_definitions(wick_core PUBLIC _GLIBCXX_USE_CXX11_ABI=0)
  endif()
endif()

# Sources that need a library of others are a target each, so that no program links what it does not use.
set(WICK_HAS_LMDB FALSE)
if(NOT WICK_LMDB MATCHES "^(auto|ON|OFF)$")
  message(FATAL_ERROR "wick: WICK_LMDB is \"${WICK_LMDB}\"; it may be auto (where LMDB is found), ON or OFF")
endif()
if(NOT WICK_LMDB STREQUAL "OFF")
  find_package(LMDB MODULE QUIET)
  set(WICK_HAS_LMDB "${LMDB_FOUND}")
endif()
if(WICK_HAS_LMDB)
  message(STATUS "wick: wick::lmdb with LMDB ${LMDB_VERSION} (${LMDB_LIBRARY})")
  add_library(wick_lmdb STATIC "${PROJECT_SOURCE_DIR}/cmake/wick_lmdb.cpp")
  add_library(wick::lmdb ALIAS wick_lmdb)
  set_target_properties(wick_lmdb PROPERTIES EXPORT_NAME lmdb CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(wick_lmdb PUBLIC wick_core PRIVATE LMDB::LMDB)
elseif(WICK_LMDB STREQUAL "ON")
  message(FATAL_ERROR "wick: WICK_LMDB=ON needs LMDB. One of these gets it:\n"
    "  apt-get install liblmdb-dev\n"
    "  vcpkg install lmdb\n"
    "  cmake … -DLMDB_ROOT=/the/prefix/of/lmdb")
else()
  message(STATUS "wick: without wick::lmdb (LMDB databases): apt-get install liblmdb-dev")
endif()

set(WICK_HAS_CURL FALSE)
if(NOT WICK_CURL MATCHES "^(auto|ON|OFF)$")
  message(FATAL_ERROR "wick: WICK_CURL is \"${WICK_CURL}\"; it may be auto (where libcurl is found), ON or OFF")
endif()
if(NOT WICK_CURL STREQUAL "OFF")
  find_package(CURL 7.68 QUIET)
  find_package(OpenSSL 1.1 QUIET)
  find_package(pugixml QUIET)
  if(CURL_FOUND AND OPENSSL_FOUND AND pugixml_FOUND)
    set(WICK_HAS_CURL TRUE)
  endif()
endif()
if(WICK_HAS_CURL)
  message(STATUS "wick: wick::curl with libcurl ${CURL_VERSION_STRING}")
  add_library(wick_curl STATIC "${PROJECT_SOURCE_DIR}/cmake/wick_curl.cpp")
  add_library(wick::curl ALIAS wick_curl)
  set_target_properties(wick_curl PROPERTIES EXPORT_NAME curl CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(wick_curl PUBLIC wick_core PRIVATE CURL::libcurl OpenSSL::Crypto pugixml::pugixml)
elseif(WICK_CURL STREQUAL "ON")
  message(FATAL_ERROR "wick: WICK_CURL=ON needs libcurl 7.68 or newer, OpenSSL, and pugixml. One of these gets them:\n"
    "  apt-get install libcurl4-openssl-dev libssl-dev libpugixml-dev\n"
    "  vcpkg install curl openssl pugixml")
else()
  message(STATUS "wick: without wick::curl (files on servers): apt-get install libcurl4-openssl-dev libssl-dev libpugixml-dev")
endif()
