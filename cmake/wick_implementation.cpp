// The one translation unit with the embedded decoder's code, for those who take wick through CMake. Who takes the
// single header defines WICK_IMPLEMENTATION in one file of their own instead.
#define WICK_IMPLEMENTATION
#include <wick/image/detail/stb_implementation.hpp>
