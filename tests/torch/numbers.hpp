// The least source that tests of batches need: sample i is i, and is called "row-i".
#pragma once

#include <cstdint>
#include <string>

namespace wick_test {

struct plain_numbers {
  std::uint64_t n;
  std::uint64_t size() const { return n; }
  std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
  std::string key(std::uint64_t i) const { return "row-" + std::to_string(i); }
};

}  // namespace wick_test
