#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <c10/core/StreamGuard.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include "fake_device.hpp"
#include "fake_pinned.hpp"
#include <wick/cache/cache_in_memory.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sources/memory.hpp>
#include <wick/torch/pin.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/transfer.hpp>

namespace wick_test::pin_tests {

static_assert(wick::detail::stage_of<wick::detail::pin_stage, wick::ext::stage_kind::batch>);

namespace {

namespace fake = wick_test::fake;
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

const bool pins = wick::detail::make_pinned_memory()->recycles();

/// Whether `data`, on the device, is rows `first` to `first + count` of rows().
bool are_rows(const at::Tensor& data, std::int64_t first, std::int64_t count) {
  const at::Tensor here = fake::read(data);
  if (here.dim() != 2 || here.size(0) != count || here.size(1) != 3) return false;
  const auto* const value = static_cast<const float*>(here.data_ptr());
  for (std::int64_t i = 0; i < 3 * count; ++i) {
    if (value[i] != static_cast<float>(first + i / 3)) return false;
  }
  return true;
}

/// What a training loop does that copies by itself, without waiting.
at::Tensor copied(const at::Tensor& t) { return t.to(fake::device(), /*non_blocking=*/true); }

}  // namespace

TEST_CASE("batches of cached samples are pinned and transferred like any others") {
  const wick_test::temp_dir dir;
  const auto check = [](auto pipeline) {
    wick::loader loader(std::move(pipeline), {.workers = 2});
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::int64_t first = 0;
      for (auto& batch : loader.epoch(epoch)) {
        const std::int64_t count = batch.target.size(0);
        REQUIRE(fake::finish_all());
        CHECK(are_rows(batch.data, first, count));
        first += count;
      }
      CHECK(first == 50);
    }
  };
  const auto item = [](wick::memory_view row) {
    std::array<float, 3> out{};
    std::memcpy(out.data(), row.data(), sizeof out);
    return out;
  };
  check(rows(50) | item | wick::cache_in_memory() | wick::batch(8) | wick::pin() |
        wick::transfer(fake::device()));
  check(rows(50) | item | wick::cache_on_disk((dir / "cache").string()) | wick::batch(8) | wick::pin() |
        wick::transfer(fake::device()));
  check(rows(50) | item | wick::cache_in_memory() | wick::batch(8) | wick::transfer(fake::device()));

  wick::loader pinned(rows(50) | item | wick::cache_in_memory() | wick::batch(8) | wick::pin(),
                      {.workers = 2});
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : pinned.epoch(epoch)) CHECK(batch.data.is_pinned() == pins);
  }
}

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

TEST_CASE("the report has no note of a pin() that needs nothing done") {
  wick::loader loader(rows(10) | wick::batch(5) | wick::pin() | wick::transfer(c10::kCPU));
  CHECK(loader.next().has_value());
  CHECK(loader.report().notes.empty());
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
  const std::shared_ptr<wick::ext::slab_memory> memory = wick::detail::make_pinned_memory();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&memory, t] {
      for (int round = 0; round < 50; ++round) {
        std::vector<wick::ext::memory_block> blocks;
        for (std::size_t k = 1; k < 6; ++k) {
          blocks.push_back(memory->allocate(k * 1000));
          std::memset(blocks.back().data, t, k * 1000);
        }
        for (std::size_t k = 1; k < 6; ++k) {
          const wick::ext::memory_block& b = blocks[k - 1];
          if (b.data[k * 1000 - 1] != static_cast<std::byte>(t)) std::abort();
          b.free(b.context);
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(memory->recycles() == pins);
}

TEST_CASE(
    "a batch may be dropped as soon as its copies are on the stream: no thread writes what the device has "
    "yet to read") {
  if (!fake::pinning::possible()) return;
  REQUIRE(fake::finish_all());
  const fake::pinning now;
  const fake::pinned_statistics before = fake::pinned();
  for (const bool whole : {true, false}) {
    for (const std::size_t slower :
         {0, 1, 2, 3}) {  // the device gets ever farther behind, or keeps up somewhat
      std::vector<std::pair<at::Tensor, at::Tensor>> there;
      {
        wick::loader loader(rows(400) | wick::batch(10) | wick::pin(), {.workers = 2, .prefetch = 3});
        fake::gate gate(fake::current_stream());
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          for (auto& batch : loader.epoch(epoch)) {
            REQUIRE(fake::is_pinned(batch.data.data_ptr()));
            there.emplace_back(copied(whole ? batch.data : batch.data.slice(0, 3, 8)), copied(batch.target));
            gate.let(slower);
          }
        }
        gate.open();
      }
      REQUIRE(fake::finish_all());
      REQUIRE(there.size() == 80);
      for (std::size_t i = 0; i < 80; ++i) {
        const auto first = static_cast<std::int64_t>(i % 40 * 10);
        CHECK(are_rows(there[i].first, whole ? first : first + 3, whole ? 10 : 5));
        CHECK(static_cast<std::int64_t*>(fake::read(there[i].second).data_ptr())[9] == first + 9);
      }
    }
  }
  const fake::pinned_statistics after = fake::pinned();
  CHECK(after.out == before.out);
  CHECK(after.faults == before.faults);
  CHECK(after.reused > before.reused);
}

TEST_CASE("the same with batches that other threads copy and drop, on streams of their own") {
  if (!fake::pinning::possible()) return;
  REQUIRE(fake::finish_all());
  const fake::pinning now;
  const fake::pinned_statistics before = fake::pinned();
  std::vector<at::Tensor> there(40);
  {
    wick::loader loader(rows(400) | wick::batch(10) | wick::pin(), {.workers = 2, .prefetch = 2});
    const c10::Stream streams[] = {fake::make_stream(), fake::make_stream(), fake::make_stream()};
    std::optional<fake::gate> gates[3];
    for (int s = 0; s < 3; ++s) gates[s].emplace(streams[s]);
    std::size_t i = 0;
    for (auto& batch : loader.epoch(0)) {
      std::thread([&there, i, &streams, mine = std::move(batch.data)]() mutable {
        const c10::StreamGuard on(streams[i % 3]);
        there[i] = copied(mine);
        mine.reset();
      }).join();
      if (i % 4 == 3) gates[i % 3]->let(2);
      ++i;
    }
  }
  REQUIRE(fake::finish_all());
  for (std::size_t i = 0; i < there.size(); ++i)
    CHECK(are_rows(there[i], static_cast<std::int64_t>(i) * 10, 10));
  there.clear();
  REQUIRE(fake::finish_all());
  CHECK(fake::pinned().out == before.out);
  CHECK(fake::pinned().faults == before.faults);
}

TEST_CASE("a view keeps the memory of its batch, on the host and for a copy that comes late") {
  if (!fake::pinning::possible()) return;
  REQUIRE(fake::finish_all());
  const fake::pinning now;
  std::vector<at::Tensor> views, there;
  {
    wick::loader loader(rows(400) | wick::batch(10) | wick::pin(), {.workers = 2});
    for (auto& batch : loader.epoch(0)) views.push_back(batch.data.slice(0, 2, 6));
  }
  const auto is_row = [](const at::Tensor& t, std::size_t i) {
    return static_cast<const float*>(t.data_ptr())[3] == static_cast<float>(i * 10 + 3);
  };
  for (std::size_t i = 0; i < views.size(); ++i) CHECK(is_row(views[i], i));
  {
    fake::gate gate(fake::current_stream());
    for (at::Tensor& v : views) {
      there.push_back(copied(v));
      v.reset();
    }
    wick::loader again(rows(4000) | wick::batch(10) | wick::pin(), {.workers = 2});
    while (again.next()) {
    }
  }
  REQUIRE(fake::finish_all());
  for (std::size_t i = 0; i < there.size(); ++i)
    CHECK(are_rows(there[i], static_cast<std::int64_t>(i) * 10 + 2, 4));
}

TEST_CASE("columns without Torch are pinned as well, and go back when the last one that has them is done") {
  if (!fake::pinning::possible()) return;
  REQUIRE(fake::finish_all());
  const fake::pinning now;
  const fake::pinned_statistics before = fake::pinned();
  std::vector<at::Tensor> there;
  {
    wick::loader loader(rows(400) | wick::array_batch(10) | wick::pin(), {.workers = 2});
    fake::gate gate(fake::current_stream());
    for (auto& batch : loader.epoch(0)) {
      CHECK(fake::is_pinned(batch.data.data()));
      there.push_back(
          copied(at::from_blob(batch.data.data(), {10, 3}, at::TensorOptions().dtype(at::kFloat))));
    }
  }
  REQUIRE(fake::finish_all());
  for (std::size_t i = 0; i < there.size(); ++i)
    CHECK(are_rows(there[i], static_cast<std::int64_t>(i) * 10, 10));
  CHECK(fake::pinned().out == before.out);
  CHECK(fake::pinned().faults == before.faults);
}

TEST_CASE(
    "pin() with transfer(): batches that are dropped at once, and a loader that is destroyed amid its "
    "copies") {
  if (!fake::pinning::possible()) return;
  REQUIRE(fake::finish_all());
  const fake::pinning now;
  const fake::pinned_statistics before = fake::pinned();
  const std::size_t live = fake::live_blocks();
  for (const bool hold : {false, true}) {
    std::vector<at::Tensor> there;
    const auto read_later = [&](const at::Tensor& t) { there.push_back(fake::read_later(t)); };
    {
      wick::loader loader(rows(400) | wick::batch(10) | wick::pin() | wick::transfer(fake::device()),
                          {.workers = 2, .prefetch = 3});
      const c10::Stream copies = fake::last_stream(), own = fake::current_stream();
      std::optional<fake::gate> side(copies), mine(own);
      std::size_t taken = 0;
      for (auto& batch : loader.epoch(0)) {
        read_later(batch.data);
        ++taken;
        if (taken == 4) {  // a loop waits that is farther ahead
          side.reset();
          mine.reset();
        } else if (taken == 26) {
          REQUIRE(fake::finish_all());
          side.emplace(copies);
          mine.emplace(own);
        } else if (taken == 30) {
          break;
        }
      }
      if (!hold) mine.reset();  // its stream waits for the copies, which the side stream holds up
      side.reset();             // or the loader would wait without an end
    }
    REQUIRE(fake::finish_all());
    REQUIRE(there.size() == 30);
    for (std::size_t i = 0; i < there.size(); ++i) {
      CHECK(static_cast<const float*>(there[i].data_ptr())[29] == static_cast<float>(i * 10 + 9));
    }
  }
  REQUIRE(fake::finish_all());
  CHECK(fake::live_blocks() == live);
  CHECK(fake::pinned().out == before.out);
  CHECK(fake::pinned().faults == before.faults);
}

TEST_CASE("a loader whose batches have ever other sizes pins no more than its largest batches take") {
  if (!fake::pinning::possible()) return;
  REQUIRE(fake::finish_all());
  const fake::pinning now;
  const std::size_t before = fake::pinned().bytes;
  struct number {
    std::uint64_t size() const { return 400; }
    std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
  };
  auto sized = [](std::int64_t i) { return at::full({(20 + i * 7 % 20) << 10}, 1, at::kByte); };
  wick::loader loader(wick::from(number()) | sized | wick::batch(1) | wick::pin(),
                      {.workers = 2, .prefetch = 4});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : loader.epoch(epoch)) {
      const at::Tensor there = copied(batch);
      CHECK(fake::finish_all());
    }
  }
  // Powers of two, of two kinds; six batches are out at most, each with one block.
  CHECK(fake::pinned().bytes - before <= 6 * (32 + 64) * 1024);
}

}  // namespace wick_test::pin_tests
