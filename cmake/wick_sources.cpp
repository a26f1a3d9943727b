// The bodies of sources, for programs that take wick through CMake: see include/wick/implementation.hpp.
#include <wick/sources/impl/all_of_sources.ipp>
#include <wick/tables/impl/all_of_tables.ipp>
#include <wick/text/impl/all_of_text.ipp>
