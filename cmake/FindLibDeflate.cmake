# Finds libdeflate, which inflates three times as fast as zlib: LibDeflate::LibDeflate.
# LibDeflate_ROOT names its prefix.
find_path(LibDeflate_INCLUDE_DIR libdeflate.h)
find_library(LibDeflate_LIBRARY NAMES deflate libdeflate)
mark_as_advanced(LibDeflate_INCLUDE_DIR LibDeflate_LIBRARY)
if(LibDeflate_INCLUDE_DIR)
  file(STRINGS "${LibDeflate_INCLUDE_DIR}/libdeflate.h" _LibDeflate_version REGEX "define +LIBDEFLATE_VERSION_STRING")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" LibDeflate_VERSION "${_LibDeflate_version}")
  unset(_LibDeflate_version)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibDeflate
  REQUIRED_VARS LibDeflate_LIBRARY LibDeflate_INCLUDE_DIR
  VERSION_VAR LibDeflate_VERSION)
if(LibDeflate_FOUND AND NOT TARGET LibDeflate::LibDeflate)
  add_library(LibDeflate::LibDeflate UNKNOWN IMPORTED)
  set_target_properties(LibDeflate::LibDeflate PROPERTIES
    IMPORTED_LOCATION "${LibDeflate_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LibDeflate_INCLUDE_DIR}")
endif()
