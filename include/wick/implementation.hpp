// The bodies of wick's functions that aren't templates. They are compiled once: by CMake as wick::core, or
// in the one file that defines WICK_IMPLEMENTATION. Third-party decoders, stb_image and libjpeg-turbo, are
// compiled beside it.
#pragma once

#include <wick/async/impl/all_of_async.ipp>
#include <wick/base/impl/all_of_base.ipp>
#include <wick/batch/impl/all_of_batch.ipp>
#include <wick/cache/impl/all_of_cache.ipp>
#include <wick/codec/impl/all_of_codec.ipp>
#include <wick/failures/impl/all_of_failures.ipp>
#include <wick/image/impl/all_of_image.ipp>
#include <wick/io/impl/all_of_io.ipp>
#include <wick/loader/impl/all_of_loader.ipp>
#include <wick/pipeline/impl/all_of_pipeline.ipp>
#include <wick/pixels/impl/all_of_pixels.ipp>
#include <wick/profile/impl/all_of_profile.ipp>
#include <wick/resume/impl/all_of_resume.ipp>
#include <wick/sampling/impl/all_of_sampling.ipp>
#include <wick/sources/impl/all_of_sources.ipp>
#include <wick/tables/impl/all_of_tables.ipp>
#include <wick/text/impl/all_of_text.ipp>
#include <wick/tools/impl/all_of_tools.ipp>
#include <wick/transforms/impl/all_of_transforms.ipp>
