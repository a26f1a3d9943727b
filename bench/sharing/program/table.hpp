// A Parquet file to count on.
#pragma once

#include <cstdint>
#include <string>

namespace sharing {

inline constexpr int numbers_a_row = 64;

/// Columns "values", lists of so many floats, and "label"; `group` rows a row group. Returns what failed, or
/// nothing.
std::string write_table(const std::string& path, std::int64_t rows, std::int64_t group);

}  // namespace sharing
