// The bodies of what needs libcurl, for those who take wick through CMake.
#include <wick/stores/impl/all_of_stores.ipp>
