// Batches of pack() for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wick_test {

/// The rows of a batch as text: values, segments, and positions.
template <class Batch>
std::vector<std::string> rows_of(const Batch& b) {
  std::vector<std::string> out;
  const std::int64_t length = b.segments.extents()[1];
  for (std::int64_t r = 0; r < b.segments.extents()[0]; ++r) {
    std::string row;
    for (std::int64_t i = r * length; i < (r + 1) * length; ++i) {
      row += std::to_string(b.values.data.template as<std::int64_t>()[i]) + '/' +
             std::to_string(b.segments.template as<std::int32_t>()[i]) + '/' +
             std::to_string(b.positions.template as<std::int32_t>()[i]) + ' ';
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace wick_test
