// The bodies of pictures, for programs that take wick through CMake: see include/wick/implementation.hpp.
#include <wick/codec/impl/all.hpp>
#include <wick/image/impl/all.hpp>
#include <wick/pixels/impl/all.hpp>
#include <wick/transforms/impl/all.hpp>
