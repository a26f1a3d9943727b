// The bodies of pictures, for programs that take wick through CMake: see include/wick/implementation.hpp.
#include <wick/codec/impl/all_of_codec.ipp>
#include <wick/image/impl/all_of_image.ipp>
#include <wick/pixels/impl/all_of_pixels.ipp>
#include <wick/transforms/impl/all_of_transforms.ipp>
