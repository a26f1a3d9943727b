/// \file
/// How much of a run loader::trace() writes down.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::detail {

/// `train.trace("trace.json", {.max_bytes = 1 << 30})`.
struct trace_options {
  /// The file is not made larger than this; what would come behind is left out, and the report says so.
  std::size_t max_bytes = std::size_t{256} << 20;
  /// One sample in so many is followed; fewer where these would give more than some 20,000 spans a second.
  std::uint32_t every = 1;
};

}  // namespace wick::detail
