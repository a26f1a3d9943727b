# The libraries that bench_engine is compared with: oneTBB (apt-get install libtbb-dev), and header-only ones whose folder
# is named: -DWICK_BENCH_LIBFORK=DIR (with single_header/), -DWICK_BENCH_TASKFLOW=DIR.
find_package(TBB CONFIG QUIET)
if(NOT TBB_FOUND)
  message(FATAL_ERROR "wick: bench/engine compares with oneTBB. One of these gets it:\n"
    "  apt-get install libtbb-dev\n"
    "  vcpkg install tbb")
endif()
target_link_libraries(bench_engine PRIVATE TBB::tbb)
foreach(peer IN ITEMS "LIBFORK;single_header/libfork.hpp;single_header" "TASKFLOW;taskflow/taskflow.hpp;.")
  list(GET peer 0 name)
  list(GET peer 1 header)
  list(GET peer 2 folder)
  set(WICK_BENCH_${name} "" CACHE PATH "Folder with ${header}, for bench/engine")
  if(WICK_BENCH_${name})
    if(NOT EXISTS "${WICK_BENCH_${name}}/${header}")
      message(FATAL_ERROR "wick: WICK_BENCH_${name}=${WICK_BENCH_${name}} has no ${header}")
    endif()
    target_include_directories(bench_engine SYSTEM PRIVATE "${WICK_BENCH_${name}}/${folder}")
    target_compile_definitions(bench_engine PRIVATE WICK_BENCH_${name})
  endif()
endforeach()
