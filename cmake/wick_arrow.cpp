// Parquet by Arrow, for those who take wick through CMake.
#include <wick/tables/impl/parquet.ipp>
