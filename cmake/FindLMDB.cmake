# Finds LMDB, a database in a mapped file: LMDB::LMDB.
# LMDB_ROOT names its prefix.
find_path(LMDB_INCLUDE_DIR lmdb.h)
find_library(LMDB_LIBRARY NAMES lmdb liblmdb)
mark_as_advanced(LMDB_INCLUDE_DIR LMDB_LIBRARY)
if(LMDB_INCLUDE_DIR)
  file(STRINGS "${LMDB_INCLUDE_DIR}/lmdb.h" _LMDB_numbers REGEX "define +MDB_VERSION_(MAJOR|MINOR|PATCH)")
  string(REGEX REPLACE "[^;]*[ \t]([0-9]+)[^;]*" "\\1" _LMDB_numbers "${_LMDB_numbers}")
  list(JOIN _LMDB_numbers "." LMDB_VERSION)
  unset(_LMDB_numbers)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LMDB
  REQUIRED_VARS LMDB_LIBRARY LMDB_INCLUDE_DIR
  VERSION_VAR LMDB_VERSION)
if(LMDB_FOUND AND NOT TARGET LMDB::LMDB)
  add_library(LMDB::LMDB UNKNOWN IMPORTED)
  set_target_properties(LMDB::LMDB PROPERTIES
    IMPORTED_LOCATION "${LMDB_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LMDB_INCLUDE_DIR}")
endif()
