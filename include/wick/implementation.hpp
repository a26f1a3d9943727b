/// \file
/// The bodies of wick's functions that are no templates: compiled once, by CMake as wick::core, or in the one
/// file that defines WICK_IMPLEMENTATION. The decoders of others, stb_image and libjpeg-turbo, are compiled
/// beside it.
#pragma once

#include <wick/async/impl/all.hpp>
#include <wick/batch/impl/all.hpp>
#include <wick/cache/impl/all.hpp>
#include <wick/codec/impl/all.hpp>
#include <wick/image/impl/all.hpp>
#include <wick/io/impl/all.hpp>
#include <wick/loader/impl/all.hpp>
#include <wick/pipeline/impl/all.hpp>
#include <wick/pixels/impl/all.hpp>
#include <wick/profile/impl/all.hpp>
#include <wick/recovery/impl/all.hpp>
#include <wick/sampling/impl/all.hpp>
#include <wick/sources/impl/all.hpp>
#include <wick/tables/impl/all.hpp>
#include <wick/text/impl/all.hpp>
#include <wick/tools/impl/all.hpp>
#include <wick/transforms/impl/all.hpp>
