// The decoders' code, and the inner loops of the resize and the permutation, for those who take wick through
// CMake. Who takes the single header defines WICK_IMPLEMENTATION in one file of their own instead.
#include <wick/codec/detail/builtin_codecs_implementation.hpp>
#include <wick/codec/detail/gif_implementation.hpp>
#include <wick/codec/detail/png_implementation.hpp>
#include <wick/codec/detail/stb_implementation.hpp>
#include <wick/order/detail/grid_rounds_implementation.hpp>
#include <wick/resample/detail/resample_kernels_implementation.hpp>
