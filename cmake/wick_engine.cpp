// The bodies of the engine, for programs that take wick through CMake: see include/wick/implementation.hpp.
// In one file, since they call each other often.
#include <wick/async/impl/all.hpp>
#include <wick/batch/impl/all.hpp>
#include <wick/cache/impl/all.hpp>
#include <wick/io/impl/all.hpp>
#include <wick/loader/impl/all.hpp>
#include <wick/pipeline/impl/all.hpp>
#include <wick/profile/impl/all.hpp>
#include <wick/recovery/impl/all.hpp>
#include <wick/sampling/impl/all.hpp>
#include <wick/tools/impl/all.hpp>
