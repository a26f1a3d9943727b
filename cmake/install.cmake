# Installing wick and its CMake package: find_package(wick) gives the core and LibTorch's part, find_package(wick COMPONENTS
# core) what does without LibTorch, find_package(wick COMPONENTS core arrow) what reads Parquet beside it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/wick")

install(TARGETS wick_headers wick_core wick_python EXPORT wickTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
set(_without "")
if(NOT WICK_TORCH)
  set(_without PATTERN torch EXCLUDE PATTERN torch.hpp EXCLUDE PATTERN wick.hpp EXCLUDE)
endif()
install(DIRECTORY "${_base}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp" ${_without})
target_include_directories(wick_headers INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
install(EXPORT wickTargets NAMESPACE wick:: DESTINATION "${_package}")
if(WICK_TORCH)
  install(TARGETS wick EXPORT wickTorchTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT wickTorchTargets NAMESPACE wick:: DESTINATION "${_package}")
endif()

if(WICK_HAS_LMDB)
  install(TARGETS wick_lmdb EXPORT wickLmdbTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT wickLmdbTargets NAMESPACE wick:: DESTINATION "${_package}")
endif()
if(WICK_HAS_CURL)
  install(TARGETS wick_curl EXPORT wickCurlTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT wickCurlTargets NAMESPACE wick:: DESTINATION "${_package}")
endif()
if(WICK_HAS_ARROW)
  install(TARGETS wick_arrow EXPORT wickArrowTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT wickArrowTargets NAMESPACE wick:: DESTINATION "${_package}")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/wickConfig.cmake.in" "${PROJECT_BINARY_DIR}/wickConfig.cmake"
  INSTALL_DESTINATION "${_package}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/wickConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/wickConfig.cmake"
  "${PROJECT_BINARY_DIR}/wickConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindArrowParquet.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLibDeflate.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLMDB.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake"
  DESTINATION "${_package}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/wick")
