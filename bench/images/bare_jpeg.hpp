// The limit: libjpeg-turbo decodes just what a picture's work needs, in a loop on some threads, without a
// resize.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "images/workloads.hpp"

namespace images {

/// Reads and decodes what each job needs: the rectangle, at the cheapest scale (1/8, 2/8, 4/8, 8/8) that
/// still covers the output. Rows go to a buffer of a few rows, or of the whole picture when all of it is
/// wanted. Ends the program when a file can't be read. With `batches` (batch_bytes() of it) whole pictures go
/// there, each to its place in one of some batches that are used in turn, as a loader's are.
void bare_jpeg(std::span<const std::string> files, std::span<const job> jobs, std::size_t threads,
               unsigned char* batches = nullptr);
inline constexpr std::size_t batches_in_turn = 4;
inline constexpr std::size_t batch_bytes() { return batches_in_turn * batch_size * 500 * 375 * 3; }

}  // namespace images
