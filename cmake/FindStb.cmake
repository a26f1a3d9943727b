# Finds stb_image.h: Debian has it as <stb/stb_image.h>, vcpkg and a checkout of stb as <stb_image.h>.
# Sets Stb_FOUND and Stb_INCLUDE_DIR (the folder that has stb_image.h).
find_path(Stb_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb)
mark_as_advanced(Stb_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Stb REQUIRED_VARS Stb_INCLUDE_DIR)
