// Entries of a replay buffer that can be checked.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/core.hpp>
#include <wick/sources/replay_buffer.hpp>

namespace wick_test {

struct step {
  std::array<float, 3> seen;
  std::int32_t action;
  float reward;
};

/// Of this number, so that it differs from any other.
inline step make(std::uint64_t id) {
  const auto f = static_cast<float>(id);
  return {{f, f + 1, f + 2}, static_cast<std::int32_t>(id % 7), f / 2};
}

static_assert(wick::ext::source<wick::detail::replay_view<step>>);

template <class Batch>
std::vector<std::int64_t> ids_of(const Batch& batch) {
  const std::int64_t* const t = batch.target.template as<std::int64_t>();
  const auto n = batch.target.extents()[0];
  const float* const seen = std::get<0>(batch.data).template as<float>();
  for (std::int64_t i = 0; i < n; ++i) {
    CHECK(seen[3 * i + 2] == static_cast<float>(t[i]) + 2);
    CHECK(std::get<1>(batch.data).template as<std::int32_t>()[i] == t[i] % 7);
    CHECK(std::get<2>(batch.data).template as<float>()[i] == static_cast<float>(t[i]) / 2);
  }
  return {t, t + n};
}

}  // namespace wick_test
