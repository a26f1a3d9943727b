// A source without files, and the samples delivered from it as one number.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <wick/async/sleep.hpp>
#include <wick/async/task.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick_test {

using cell = wick::sample<std::array<std::uint8_t, 8>>;

/// Sample i has i as its target and bytes made from it.
struct numbers {
  std::uint64_t count = 100;
  std::shared_ptr<std::atomic<std::uint64_t>> asked = std::make_shared<std::atomic<std::uint64_t>>(0);

  std::uint64_t size() const { return count; }
  cell at(std::uint64_t i) const {
    asked->fetch_add(1, std::memory_order_relaxed);
    cell c{{}, static_cast<std::int64_t>(i)};
    for (std::size_t b = 0; b < c.data.size(); ++b) c.data[b] = static_cast<std::uint8_t>(i >> b);
    return c;
  }
  std::string key(std::uint64_t i) const { return "number " + std::to_string(i); }
};

/// The targets of batch after batch.
using batches = std::vector<std::vector<std::int64_t>>;

/// Those of one epoch.
template <class Loader>
batches targets_of(Loader& from, std::uint64_t epoch) {
  batches out;
  for (auto& batch : from.epoch(epoch)) {
    const std::int64_t* const t = batch.target.template as<std::int64_t>();
    out.emplace_back(t, t + batch.target.extents()[0]);
  }
  return out;
}

/// Those of what is left of an epoch, or of the next `most` batches.
template <class Loader>
batches rest_of(Loader& from, std::size_t most = ~std::size_t{0}) {
  batches out;
  while (out.size() < most) {
    auto batch = from.next();
    if (!batch) break;
    const std::int64_t* const t = batch->target.template as<std::int64_t>();
    out.emplace_back(t, t + batch->target.extents()[0]);
  }
  return out;
}

/// For join(): the targets of own and others as digits of base 1000, own first.
inline cell digits(cell own, std::vector<cell>& others) {
  for (const cell& other : others) own.target = own.target * 1000 + other.target;
  return own;
}

/// A stage that suspends.
inline wick::task<cell> slowly(cell c, wick::context& context) {
  co_await wick::sleep_for(std::chrono::microseconds(c.target % 5), context);
  co_return c;
}

/// Every byte of one epoch, batch boundaries and order counted.
template <class Loader>
std::uint64_t bytes_of(Loader& from, std::uint64_t epoch) {
  wick::ext::fingerprint_hash h;
  for (auto& batch : from.epoch(epoch)) {
    h.add(batch.data.data(), batch.data.bytes()).add(batch.target.data(), batch.target.bytes());
  }
  return h.value();
}

}  // namespace wick_test
