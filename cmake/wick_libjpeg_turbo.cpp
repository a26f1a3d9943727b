// JPEG by libjpeg-turbo, for those who take wick through CMake.
#include <wick/codec/impl/libjpeg_turbo.ipp>
