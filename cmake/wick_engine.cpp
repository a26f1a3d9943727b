// The bodies of the engine, for programs that take wick through CMake: see include/wick/implementation.hpp.
// In one file, since they call each other often.
#include <wick/async/impl/all_of_async.ipp>
#include <wick/base/impl/all_of_base.ipp>
#include <wick/batch/impl/all_of_batch.ipp>
#include <wick/cache/impl/all_of_cache.ipp>
#include <wick/failures/impl/all_of_failures.ipp>
#include <wick/io/impl/all_of_io.ipp>
#include <wick/loader/impl/all_of_loader.ipp>
#include <wick/pipeline/impl/all_of_pipeline.ipp>
#include <wick/profile/impl/all_of_profile.ipp>
#include <wick/resume/impl/all_of_resume.ipp>
#include <wick/sampling/impl/all_of_sampling.ipp>
#include <wick/tools/impl/all_of_tools.ipp>
