# An overlay port: it builds the checkout that it lies in, so it needs no download and no hash.
#   vcpkg install wick --overlay-ports=/path/to/wick/ports
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# wick::core is small and has no exported symbols of its own: a static library everywhere.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES
  torch WICK_TORCH)
if("libjpeg-turbo" IN_LIST FEATURES)
  list(APPEND options -DWICK_JPEG=turbo)
else()
  list(APPEND options -DWICK_JPEG=stb)
endif()
if("libdeflate" IN_LIST FEATURES)
  list(APPEND options -DWICK_PNG=libdeflate)
else()
  list(APPEND options -DWICK_PNG=zlib)
endif()
if("arrow" IN_LIST FEATURES)
  list(APPEND options -DWICK_ARROW=ON)
else()
  list(APPEND options -DWICK_ARROW=OFF)
endif()

if("curl" IN_LIST FEATURES)
  list(APPEND options -DWICK_CURL=ON)
else()
  list(APPEND options -DWICK_CURL=OFF)
endif()
if("lmdb" IN_LIST FEATURES)
  list(APPEND options -DWICK_LMDB=ON)
else()
  list(APPEND options -DWICK_LMDB=OFF)
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${options}
    -DWICK_BUILD_TESTS=OFF
    -DWICK_BUILD_EXAMPLES=OFF
    -DWICK_BUILD_TOOLS=OFF
    -DWICK_BUILD_BENCH=OFF
    -DWICK_INSTALL=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/wick)

file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
