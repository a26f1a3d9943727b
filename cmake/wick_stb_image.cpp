// stb_image, for those who take wick through CMake.
#include <wick/codec/impl/stb_image.ipp>
