#[[
Finds Arrow and Parquet for C++ and makes the imported target ArrowParquet::ArrowParquet.

  1. their CMake packages: the system's, vcpkg's, or those below CMAKE_PREFIX_PATH, Arrow_ROOT, Parquet_ROOT;
  2. the pyarrow of python3 (another interpreter: -DArrowParquet_PYTHON=…), whose wheel has headers and libraries; not in a
     cross build, unless the interpreter is named.

Sets ArrowParquet_FOUND, ArrowParquet_VERSION, ArrowParquet_ORIGIN (in words) and, of a wheel, ArrowParquet_PYTHON_FOUND, the
interpreter.
]]
if(TARGET ArrowParquet::ArrowParquet)  # found before, maybe by another folder, whose variables are not seen here
  set(ArrowParquet_FOUND TRUE)
  foreach(_arrowparquet_name VERSION ORIGIN PYTHON_FOUND)
    get_target_property(ArrowParquet_${_arrowparquet_name} ArrowParquet::ArrowParquet WICK_${_arrowparquet_name})
  endforeach()
  return()
endif()
set(ArrowParquet_ORIGIN "")
set(ArrowParquet_PYTHON_FOUND "")

if(NOT ArrowParquet_PYTHON)
  find_package(Arrow CONFIG QUIET)
  find_package(Parquet CONFIG QUIET)
  foreach(_arrowparquet_kind shared static)
    if(NOT ArrowParquet_ORIGIN AND NOT Arrow_VERSION VERSION_LESS "${ArrowParquet_FIND_VERSION}" AND TARGET Arrow::arrow_${_arrowparquet_kind} AND TARGET Parquet::parquet_${_arrowparquet_kind})
      set(_arrowparquet_libraries Parquet::parquet_${_arrowparquet_kind} Arrow::arrow_${_arrowparquet_kind})
      set(ArrowParquet_VERSION "${Arrow_VERSION}")
      set(ArrowParquet_ORIGIN "${Arrow_DIR}")
    endif()
  endforeach()
endif()

if(NOT ArrowParquet_ORIGIN)
  if(ArrowParquet_PYTHON)
    set(_arrowparquet_python "${ArrowParquet_PYTHON}")
  elseif(EXISTS "${ArrowParquet_PYTHON_KEPT}")  # whatever the PATH is when CMake runs again
    set(_arrowparquet_python "${ArrowParquet_PYTHON_KEPT}")
  elseif(NOT CMAKE_CROSSCOMPILING)
    find_program(_arrowparquet_python NAMES python3 python NO_CACHE)
  endif()
  set(_arrowparquet_folder "")
  if(_arrowparquet_python)
    # Without importing it, which takes a second. Not in a folder where ./pyarrow could be taken for it.
    execute_process(
      COMMAND "${_arrowparquet_python}" -c "import importlib.util as u; s = u.find_spec('pyarrow'); print(s.submodule_search_locations[0] if s and s.origin else '')"
      WORKING_DIRECTORY / OUTPUT_VARIABLE _arrowparquet_folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  if(_arrowparquet_folder AND EXISTS "${_arrowparquet_folder}/include/arrow/util/config.h")
    file(STRINGS "${_arrowparquet_folder}/include/arrow/util/config.h" _arrowparquet_lines
      REGEX "define ARROW_(VERSION_STRING|SO_VERSION) ")
    string(REGEX REPLACE ".*ARROW_VERSION_STRING \"([^\"]+)\".*" "\\1" ArrowParquet_VERSION "${_arrowparquet_lines}")
    string(REGEX REPLACE ".*ARROW_SO_VERSION \"([^\"]+)\".*" "\\1" _arrowparquet_so "${_arrowparquet_lines}")
    set(_arrowparquet_parquet "${_arrowparquet_folder}/libparquet.so.${_arrowparquet_so}")
    set(_arrowparquet_arrow "${_arrowparquet_folder}/libarrow.so.${_arrowparquet_so}")
    if(EXISTS "${_arrowparquet_parquet}" AND EXISTS "${_arrowparquet_arrow}")
      set(ArrowParquet_ORIGIN "python3's pyarrow (${_arrowparquet_folder})")
      set(ArrowParquet_PYTHON_FOUND "${_arrowparquet_python}")
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowParquet REQUIRED_VARS ArrowParquet_ORIGIN VERSION_VAR ArrowParquet_VERSION)
if(ArrowParquet_FOUND)
  if(ArrowParquet_PYTHON_FOUND AND NOT ArrowParquet_PYTHON)
    set(ArrowParquet_PYTHON_KEPT "${ArrowParquet_PYTHON_FOUND}" CACHE INTERNAL "the python3 whose pyarrow was taken")
  endif()
  # GLOBAL, so that who has wick in a subdirectory can link it from above.
  add_library(ArrowParquet::ArrowParquet INTERFACE IMPORTED GLOBAL)
  if(ArrowParquet_PYTHON_FOUND)
    foreach(_arrowparquet_name parquet arrow)
      add_library(ArrowParquet::${_arrowparquet_name} SHARED IMPORTED GLOBAL)
      set_target_properties(ArrowParquet::${_arrowparquet_name} PROPERTIES
        IMPORTED_LOCATION "${_arrowparquet_${_arrowparquet_name}}")
    endforeach()
    set(_arrowparquet_libraries ArrowParquet::parquet ArrowParquet::arrow)
    target_include_directories(ArrowParquet::ArrowParquet SYSTEM INTERFACE "${_arrowparquet_folder}/include")
  endif()
  target_link_libraries(ArrowParquet::ArrowParquet INTERFACE ${_arrowparquet_libraries})
  foreach(_arrowparquet_name VERSION ORIGIN PYTHON_FOUND)
    set_target_properties(ArrowParquet::ArrowParquet PROPERTIES WICK_${_arrowparquet_name} "${ArrowParquet_${_arrowparquet_name}}")
  endforeach()
endif()
