/// \file
/// Pipelines to benchmark, and what is read in the results.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/detail/cloning.hpp>
#include <wick/core.hpp>
#include <wick/tools/benchmark.hpp>

namespace wick_test {

using namespace std::chrono_literals;

/// The error's text of a call that makes no sense.
template <class Call>
std::string text_of(Call&& call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}
inline std::vector<std::int64_t> up_to(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(i);
  return out;
}
inline std::int64_t twice(std::int64_t v) { return 2 * v; }
inline wick::task<std::int64_t> hop(std::int64_t v, wick::context& c) {
  if (c.position() % 3 == 0) co_await c.on()->schedule();
  co_return v + 1;
}
inline std::vector<std::int64_t> values_of(const wick::array& a) {
  const auto* const begin = reinterpret_cast<const std::int64_t*>(a.data());
  return {begin, begin + a.extents()[0]};
}
inline const wick::detail::benchmark_stage& stage(const wick::benchmark_result& m, std::string_view name) {
  for (const wick::detail::benchmark_stage& s : m.stages) {
    if (s.name == name) return s;
  }
  throw std::out_of_range(std::string(name));
}
inline bool all_came(const wick::benchmark_result& m) {
  return m.samples > 0 && std::all_of(m.stages.begin(), m.stages.end(), [](const auto& s) {
           return s.up_to > 0 && s.cached.value_or(1) > 0 && s.without.value_or(1) > 0;
         });
}

/// Of some length, which has to be that of the others in its batch.
struct row {
  std::vector<std::int64_t> values;
  wick::shape extents() const { return {static_cast<std::int64_t>(values.size())}; }
  static wick::dtype type() { return wick::dtype::int64; }
  void write_to(wick::slot to) const {
    std::memcpy(to.data, values.data(), values.size() * sizeof(values[0]));
  }
};

}  // namespace wick_test
