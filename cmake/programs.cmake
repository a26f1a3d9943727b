# Headers that many files include are parsed once. A file that forgets an include compiles all the same then: the presets
# release and clang, which leave it off, find that file.
option(WICK_PRECOMPILE "Precompile what wick's own tests and examples include" OFF)

option(WICK_WARNINGS "Warn about wick's own tests, tools, examples, and benchmarks: a tenth of the time to compile them" ON)

if(WICK_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A tenth less time for 130 MB more: g++ collects its garbage later. std::move and the like aren't compiled as calls.
  add_compile_options("SHELL:--param ggc-min-heapsize=1000000" $<$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,12>:-ffold-simple-inlines>)
endif()

# wick_precompiled(NAME TARGET HEADER…): these headers, compiled as a program that links TARGET would.
function(wick_precompiled name target)
  if(WICK_PRECOMPILE)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp" CONTENT "")
    add_library(${name} OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
    target_link_libraries(${name} PRIVATE ${target})
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

function(wick_use_precompiled target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# wick_program(NAME SOURCES… [TORCH]): an executable of wick's own, with warnings, against wick::wick when it is to
# have LibTorch and against wick::core otherwise.
function(wick_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES")
  add_executable(${name} ${arg_SOURCES})
  # What g++ refuses and clang lets pass: half of the tests are compiled by the one, half by the other.
  target_compile_options(${name} PRIVATE $<$<BOOL:${WICK_WARNINGS}>:-Wall;-Wextra> $<$<BOOL:${WICK_WERROR}>:-Werror>
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Werror=reorder-init-list>)
  if(arg_TORCH)
    target_link_libraries(${name} PRIVATE wick::wick)
    wick_use_precompiled(${name} wick_torch_headers)
    get_property(pools GLOBAL PROPERTY JOB_POOLS)
    if(pools MATCHES "wick_torch=")
      set_target_properties(${name} PROPERTIES JOB_POOL_COMPILE wick_torch)
    endif()
  else()
    target_link_libraries(${name} PRIVATE wick::core)
  endif()
endfunction()

if(WICK_TORCH)
  wick_precompiled(wick_torch_headers wick::wick <torch/torch.h> <wick/wick.hpp>)
endif()
