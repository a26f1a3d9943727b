# What only those who work on wick itself want; included when wick is the top-level project.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(WICK_CCACHE ccache)
mark_as_advanced(WICK_CCACHE)
if(WICK_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;sh;${CMAKE_CURRENT_LIST_DIR}/ccache.sh")
endif()

# A file with LibTorch's headers takes up to 1.5 GB to compile: no more of them at once than fit.
cmake_host_system_information(RESULT _megabytes QUERY AVAILABLE_PHYSICAL_MEMORY)
math(EXPR _jobs "${_megabytes} / 2000")
if(_jobs LESS 1)
  set(_jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS "wick_torch=${_jobs}")
