// The bodies of what needs LMDB, for those who take wick through CMake.
#include <wick/sources/impl/lmdb.ipp>
