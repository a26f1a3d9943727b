// JPEG by libjpeg-turbo, for those who take wick through CMake.
#include <wick/jpeg/implementation/libjpeg_turbo.hpp>
