#include "../support/doctest.hpp"

#include <wick/torch/pin.hpp>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wick/flow/loader.hpp>
#include <wick/read/memory.hpp>
#include <wick/torch/batch.hpp>

#include "../support/message_of.hpp"

namespace {

using wick_test::contains;
using batch_type = wick::sample<at::Tensor, at::Tensor>;

auto rows(std::size_t n) {
  std::vector<float> values(n * 3);
  std::vector<std::int64_t> targets(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[3 * i] = values[3 * i + 1] = values[3 * i + 2] = static_cast<float>(i);
    targets[i] = static_cast<std::int64_t>(i);
  }
  return wick::in_memory(std::move(values), {3}, std::move(targets));
}

const bool pins = wick::pinned_slab_memory().pins();

}  // namespace

TEST_CASE("pin() changes nothing of what is in the batches") {
  wick::loader loader(rows(50) | wick::batch(8) | wick::pin(), {.workers = 2});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::int64_t i = 0;
    for (auto& batch : loader.epoch(epoch)) {
      CHECK((batch.data.sizes() == at::IntArrayRef({std::min<std::int64_t>(8, 50 - i), 3})));
      const auto* const value = static_cast<const float*>(batch.data.data_ptr());
      const auto* const target = static_cast<const std::int64_t*>(batch.target.data_ptr());
      for (std::int64_t k = 0; k < batch.target.size(0); ++k, ++i) {
        CHECK(value[3 * k + 2] == static_cast<float>(i));
        CHECK(target[k] == i);
      }
      CHECK(batch.data.device().is_cpu());
      CHECK(batch.data.is_pinned() == pins);
      CHECK(batch.target.is_pinned() == pins);
    }
    CHECK(i == 50);
  }
}

TEST_CASE("the report says when Torch has no accelerator to pin memory for, and is silent otherwise") {
  wick::loader loader(rows(10) | wick::batch(5) | wick::pin());
  CHECK(loader.next().has_value());
  CHECK(contains(loader.report().to_string(),
                 "pin: Torch has no accelerator here; batches are in ordinary memory") == !pins);
  CHECK(wick::pin().note().empty());  // it has not been asked for memory yet
}

TEST_CASE("nothing is copied to be pinned: batches are written where they stay") {
  std::mutex mutex;
  std::set<const void*> before;
  wick::loader loader(rows(40) | wick::batch(8) | [&](const batch_type& b) {
    std::lock_guard lock(mutex);
    before.insert(b.data.data_ptr());
  } | wick::pin());
  for (auto& batch : loader.epoch(0)) {
    std::lock_guard lock(mutex);
    CHECK(before.count(batch.data.data_ptr()) == 1);
  }
}

TEST_CASE("all columns take their memory from one place, which outlives the loader with its tensors") {
  batch_type kept;
  {
    auto stage = wick::pin();
    const auto memory = stage.slab_memory();
    CHECK(stage.slab_memory() == memory);
    wick::loader loader(rows(40) | wick::batch(8) | std::move(stage));
    kept = loader.next().value();
    CHECK(memory.use_count() > 1);
  }
  CHECK(static_cast<const float*>(kept.data.data_ptr())[3 * 7] == 7.0f);
}

TEST_CASE("blocks may be taken and given back by several threads") {
  wick::pinned_slab_memory memory;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&memory, t] {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::byte*> blocks;
        for (std::size_t k = 1; k < 6; ++k) {
          blocks.push_back(memory.allocate(k * 1000));
          std::memset(blocks.back(), t, k * 1000);
        }
        for (std::size_t k = 1; k < 6; ++k) {
          if (blocks[k - 1][k * 1000 - 1] != static_cast<std::byte>(t)) std::abort();
          memory.release(blocks[k - 1], k * 1000);
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(memory.pins() == pins);
}
