// JPEG by libjpeg-turbo, for those who take wick through CMake.
#include <wick/jpeg/detail/libjpeg_turbo_implementation.hpp>
