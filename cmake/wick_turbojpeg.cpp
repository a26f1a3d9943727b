// The one translation unit with the feature `turbojpeg`, for those who take wick through CMake.
#include <wick/jpeg/detail/turbojpeg_implementation.hpp>
