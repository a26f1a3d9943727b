// wick's caches beside the Python loaders that keep decoded pictures.
#pragma once

#include <filesystem>
#include <string>

#include "support/options.hpp"

namespace caches {

inline constexpr int output = 224, longer_side = 320;

/// Measures TurboLoader's raw file and FFCV's raw mode, as far as the virtual environment has them, and
/// wick's caches in turn with them. The files of both are in `scratch`, wick's cache is in `cache`. \throws
/// std::runtime_error when the pictures are not what wick gives
void against_peers(const wick_bench::options& o, const std::filesystem::path& folder,
                   const std::filesystem::path& scratch, const std::filesystem::path& cache,
                   const std::string& environment);

}  // namespace caches
