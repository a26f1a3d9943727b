// The bodies of sources, for programs that take wick through CMake: see include/wick/implementation.hpp.
#include <wick/sources/impl/all.hpp>
#include <wick/tables/impl/all.hpp>
#include <wick/text/impl/all.hpp>
