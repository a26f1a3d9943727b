#[[
Finds LibTorch and makes the imported target LibTorch::LibTorch.

LibTorch's own TorchConfig.cmake stops when the library was built with CUDA and the machine has no CUDA toolkit, and
Debian's asks for packages that nobody needs. Headers and libraries are all it takes, so they are looked for directly:
  1. what the user says: a target `torch` that exists already (find_package(Torch) was called), the torch package of the
     interpreter LibTorch_PYTHON, Torch_DIR, Torch_ROOT, LibTorch_ROOT, CMAKE_PREFIX_PATH (also as environment variables); a
     static LibTorch goes through its TorchConfig.cmake;
  2. the torch package of python3, unless this is a cross build;
  3. the system's: Debian's and Ubuntu's libtorch-dev.

Sets LibTorch_FOUND, LibTorch_VERSION, LibTorch_ORIGIN (in words), LibTorch_ROOT_DIR, LibTorch_CXX11_ABI (the value of
_GLIBCXX_USE_CXX11_ABI that it was built with) and, where there is none, LibTorch_NOT_FOUND_MESSAGE.
]]
if(TARGET LibTorch::LibTorch)  # found before, maybe by another folder, whose variables are not seen here
  set(LibTorch_FOUND TRUE)
  foreach(_libtorch_name VERSION ORIGIN ROOT_DIR CXX11_ABI)
    get_target_property(LibTorch_${_libtorch_name} LibTorch::LibTorch WICK_${_libtorch_name})
  endforeach()
  return()
endif()
if(LibTorch_FIND_VERSION)
  set(_libtorch_minimum "${LibTorch_FIND_VERSION}")
else()
  set(_libtorch_minimum 1.13)
endif()

# What is under `root`: sets _libtorch_version (empty without headers), _libtorch_shared (whether the libraries
# are there too), _libtorch_path_torch, _libtorch_path_torch_cpu, _libtorch_path_c10 and _libtorch_includes.
function(_libtorch_look root)
  set(_libtorch_version "" PARENT_SCOPE)
  set(_libtorch_shared FALSE PARENT_SCOPE)
  set(api "${root}/include/torch/csrc/api/include")
  # The numbers were in the first file, and are in the second in later versions.
  foreach(header "${api}/torch/version.h" "${root}/include/torch/headeronly/version.h")
    if(EXISTS "${header}")
      file(STRINGS "${header}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
      if(lines MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+)")
        set(found "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
      endif()
    endif()
  endforeach()
  set(_libtorch_version "${found}" PARENT_SCOPE)
  set(folders "${root}/lib" "${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE}" "${root}/lib64")
  foreach(name torch torch_cpu c10)
    unset(path)
    find_library(path NAMES "${CMAKE_SHARED_LIBRARY_PREFIX}${name}${CMAKE_SHARED_LIBRARY_SUFFIX}" PATHS ${folders}
      NO_DEFAULT_PATH NO_CACHE)
    if(NOT path)
      return()
    endif()
    set(_libtorch_path_${name} "${path}" PARENT_SCOPE)
  endforeach()
  set(includes "${api}")
  if(NOT "${root}/include" IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    list(PREPEND includes "${root}/include")
  endif()
  set(_libtorch_includes "${includes}" PARENT_SCOPE)
  set(_libtorch_shared TRUE PARENT_SCOPE)
endfunction()

# The folder of an interpreter's torch; empty where it has none.
function(_libtorch_of_python python out)
  # find_spec doesn't import torch, which would take seconds. Not in a folder where ./torch could be taken for it.
  execute_process(
    COMMAND "${python}" -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s and s.origin else '')"
    WORKING_DIRECTORY / OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set(${out} "${root}" PARENT_SCOPE)
endfunction()

# The roots to look under, each followed by where it is from, in words. What the user named comes first.
function(_libtorch_candidates out)
  set(candidates "")
  if(LibTorch_PYTHON)
    _libtorch_of_python("${LibTorch_PYTHON}" root)
    if(root)
      list(APPEND candidates "${root}" "the torch of LibTorch_PYTHON")
    else()
      list(APPEND candidates "${LibTorch_PYTHON}" "LibTorch_PYTHON")
    endif()
  endif()
  foreach(variable Torch_ROOT LibTorch_ROOT Torch_DIR CMAKE_PREFIX_PATH)
    set(values ${${variable}})
    if(NOT "$ENV{${variable}}" STREQUAL "")
      cmake_path(CONVERT "$ENV{${variable}}" TO_CMAKE_PATH_LIST more)
      list(APPEND values ${more})
    endif()
    foreach(folder IN LISTS values)
      # torch.utils.cmake_prefix_path is ROOT/share/cmake, Torch_DIR is ROOT/share/cmake/Torch or ROOT/lib/ARCH/cmake/Torch.
      string(REGEX REPLACE "/+(share|lib|lib64|lib/[^/]+)/cmake(/Torch)?/*$" "" root "${folder}")
      list(APPEND candidates "${root}" "${variable}")
    endforeach()
  endforeach()

  # The interpreter whose torch was taken stays, whatever the PATH is when CMake runs again.
  set(python "${LibTorch_PYTHON_KEPT}")
  if(NOT EXISTS "${python}")
    find_program(python NAMES python3 python NO_CACHE)
  endif()
  if(python AND NOT CMAKE_CROSSCOMPILING)
    _libtorch_of_python("${python}" root)
    if(root)
      list(APPEND candidates "${root}" "python3's torch")
      set(_libtorch_python "${python}" PARENT_SCOPE)
    endif()
  endif()

  foreach(root /usr /usr/local)
    if(EXISTS "/etc/debian_version" AND root STREQUAL "/usr")
      list(APPEND candidates "${root}" "Debian's libtorch-dev")
    else()
      list(APPEND candidates "${root}" "the system")
    endif()
  endforeach()
  set(${out} "${candidates}" PARENT_SCOPE)
endfunction()

set(_libtorch_reasons "")
if(TARGET torch)
  set(LibTorch_ORIGIN "the target torch that was there already")
  set(LibTorch_VERSION "${Torch_VERSION}")
  set(_libtorch_config torch)
else()
  _libtorch_candidates(_libtorch_left)
  while(_libtorch_left)
    list(POP_FRONT _libtorch_left _libtorch_root _libtorch_from)
    set(_libtorch_asked FALSE)
    if(_libtorch_from MATCHES "^(Torch_ROOT|LibTorch_ROOT|Torch_DIR|LibTorch_PYTHON|the torch of LibTorch_PYTHON)$")
      set(_libtorch_asked TRUE)
    endif()
    _libtorch_look("${_libtorch_root}")
    set(_libtorch_this "LibTorch ${_libtorch_version} from ${_libtorch_from} (${_libtorch_root})")
    if(_libtorch_from STREQUAL "LibTorch_PYTHON")
      set(_libtorch_reason "LibTorch_PYTHON is ${_libtorch_root}, which has no torch")
    elseif(NOT _libtorch_version)
      set(_libtorch_reason "${_libtorch_from} names ${_libtorch_root}, which has no include/torch/csrc/api")
    elseif(_libtorch_version VERSION_LESS _libtorch_minimum)
      set(_libtorch_reason "${_libtorch_this} is older than ${_libtorch_minimum}")
    elseif(_libtorch_version VERSION_LESS 2.1 AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      # std::vector of an incomplete type, which clang doesn't take in C++20; 2.1 has it right.
      set(_libtorch_reason "${_libtorch_this} doesn't compile as C++20 with clang: take g++, or LibTorch 2.1 or newer")
    else()
      if(NOT _libtorch_shared)
        # A static LibTorch, as vcpkg builds it: its package knows what it links.
        find_package(Torch CONFIG QUIET PATHS "${_libtorch_root}" NO_DEFAULT_PATH)
        set(_libtorch_config ${TORCH_LIBRARIES})
      endif()
      if(_libtorch_shared OR Torch_FOUND)
        set(LibTorch_ROOT_DIR "${_libtorch_root}")
        set(LibTorch_VERSION "${_libtorch_version}")
        set(LibTorch_ORIGIN "${_libtorch_from} (${_libtorch_root})")
        if(_libtorch_from STREQUAL "python3's torch")
          set(LibTorch_PYTHON_KEPT "${_libtorch_python}" CACHE INTERNAL "the python3 whose torch was taken")
        endif()
        break()
      endif()
      set(_libtorch_reason "${_libtorch_this} has headers, but no libtorch, libtorch_cpu and libc10")
    endif()
    if(_libtorch_version OR _libtorch_asked)
      string(APPEND _libtorch_reasons "  ${_libtorch_reason}\n")
    endif()
    if(_libtorch_asked)
      break()  # The user asked for this one: another one in its place would be a surprise.
    endif()
  endwhile()
endif()

if(NOT LibTorch_ORIGIN)
  string(CONCAT LibTorch_NOT_FOUND_MESSAGE
    "wick: no usable LibTorch (${_libtorch_minimum} or newer).\n${_libtorch_reasons}"
    "One of these gets it:\n"
    "  apt-get install libtorch-dev           Debian, Ubuntu\n"
    "  pip install torch                      then configure again, with that python3 on the PATH\n"
    "  cmake … -DCMAKE_PREFIX_PATH=/path/to/libtorch   an unpacked LibTorch, or the folder that torch.utils.cmake_prefix_path says\n"
    "Without LibTorch: cmake … -DWICK_TORCH=OFF builds wick::core.")
  set(LibTorch_FOUND FALSE)
  if(LibTorch_FIND_REQUIRED)
    message(FATAL_ERROR "${LibTorch_NOT_FOUND_MESSAGE}")
  endif()
  return()
endif()

# GLOBAL, so that who has wick in a subdirectory can link it from above.
add_library(LibTorch::LibTorch INTERFACE IMPORTED GLOBAL)
set(LibTorch_CXX11_ABI 1)
if(_libtorch_config)
  target_link_libraries(LibTorch::LibTorch INTERFACE ${_libtorch_config})
  if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(LibTorch_CXX11_ABI 0)
  endif()
else()
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${_libtorch_includes})
  foreach(_libtorch_name torch_cpu c10)
    add_library(LibTorch::${_libtorch_name} SHARED IMPORTED GLOBAL)
    set_target_properties(LibTorch::${_libtorch_name} PROPERTIES IMPORTED_LOCATION "${_libtorch_path_${_libtorch_name}}")
  endforeach()
  # libtorch.so has no code: it needs libtorch_cpu.so and, where there is one, libtorch_cuda.so (or _hip, _xpu), whose
  # kernels register when it is loaded. No symbol of it is used, so the linker must be told to keep it.
  # libstdc++ comes before it: some wheels (2.11) export a copy of std::filesystem of which parts are missing.
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_libraries(LibTorch::LibTorch INTERFACE "-Wl,--push-state,--no-as-needed,-lstdc++,\"${_libtorch_path_torch}\",--pop-state")
    cmake_path(GET _libtorch_path_torch PARENT_PATH _libtorch_folder)
    if(EXISTS "${_libtorch_folder}/libtorch_cuda.so")
      # The packages that a CUDA wheel needs at run time (nvidia-*) need not be there to build.
      target_link_options(LibTorch::LibTorch INTERFACE "LINKER:--allow-shlib-undefined")
    endif()
  else()
    target_link_libraries(LibTorch::LibTorch INTERFACE "${_libtorch_path_torch}")
  endif()
  target_link_libraries(LibTorch::LibTorch INTERFACE LibTorch::torch_cpu LibTorch::c10)
  # The wheels before 2.6 have the old std::string. A constructor of c10::Error that takes one says which it is
  # (Ss is the old one in a mangled name).
  file(STRINGS "${_libtorch_path_c10}" _libtorch_old_string REGEX "^_ZN3c105ErrorC[12]ENS_14SourceLocationESs$" LIMIT_COUNT 1)
  if(_libtorch_old_string)
    set(LibTorch_CXX11_ABI 0)
    target_compile_definitions(LibTorch::LibTorch INTERFACE _GLIBCXX_USE_CXX11_ABI=0)
  endif()
endif()
foreach(_libtorch_name VERSION ORIGIN ROOT_DIR CXX11_ABI)
  set_target_properties(LibTorch::LibTorch PROPERTIES WICK_${_libtorch_name} "${LibTorch_${_libtorch_name}}")
endforeach()
set(LibTorch_FOUND TRUE)
if(NOT LibTorch_FIND_QUIETLY)
  message(STATUS "wick: LibTorch ${LibTorch_VERSION} from ${LibTorch_ORIGIN}")
endif()
