// Options of loader::trace(): how much of a run it writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1 {

/// `train.trace("trace.json", {.max_bytes = 1 << 30})`.
struct trace_options {
  /// The largest size of the file, in bytes. The trace ends there, and the report has a note.
  std::size_t max_bytes = std::size_t{256} << 20;
  /// The trace follows one sample in `every`, and fewer if there would be more than about 10,000 spans a
  /// second.
  std::uint32_t every = 1;
};

}  // namespace wick
