// The bodies of wick's functions, for those who take wick through CMake. Who takes the single header defines
// WICK_IMPLEMENTATION in one file of their own instead.
#include <wick/implementation.hpp>
