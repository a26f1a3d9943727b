// A source of ten numbers without anything around them, and what a pipeline makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>

namespace wick_test {

/// What leaves the pipeline in epoch 0.
template <class Pipeline>
auto run(Pipeline p) {
  wick::loader l(std::move(p), {.seed = 1, .workers = 2});
  std::vector<typename decltype(l)::value_type> out;
  for (auto& value : l.epoch(0)) out.push_back(std::move(value));
  return out;
}

/// 0 to 9.
struct plain {
  std::uint64_t size() const { return 10; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
};

/// What `plain` gives, times `step`.
inline std::vector<int> tens(int step) {
  std::vector<int> out;
  for (int i = 0; i < 10; ++i) out.push_back(i * step);
  return out;
}

inline int doubled(int x) { return 2 * x; }

}  // namespace wick_test
