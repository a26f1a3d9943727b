// stb_image, for those who take wick through CMake.
#include <wick/codec/implementation/stb_image.hpp>
