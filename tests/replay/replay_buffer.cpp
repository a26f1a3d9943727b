#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/core.hpp>
#include <wick/replay/replay_buffer.hpp>

using wick_test::contains;
using wick_test::message_of;

namespace {

struct step {
  std::array<float, 3> seen;
  std::int32_t action;
  float reward;
};

/// Of this number, so that it can be told from any other.
step make(std::uint64_t id) {
  const auto f = static_cast<float>(id);
  return {{f, f + 1, f + 2}, static_cast<std::int32_t>(id % 7), f / 2};
}

static_assert(wick::source<wick::detail::replay_view<step>>);

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

}  // namespace

TEST_CASE("a view has the last entries as they were, whatever is appended and overwritten afterwards") {
  for (const std::uint64_t capacity : {1u, 5u, 4095u, 4096u, 4097u, 9000u}) {
    CAPTURE(capacity);
    wick::replay_buffer<std::uint64_t> memory(capacity);
    struct kept {
      wick::detail::replay_view<std::uint64_t> view;
      std::uint64_t appended;
    };
    std::deque<kept> views;
    const auto check = [&](const kept& k) {
      const std::uint64_t n = std::min(k.appended, capacity);
      REQUIRE(k.view.size() == n);
      std::vector<bool> there(static_cast<std::size_t>(n));
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < n; ++i) {
        const auto& [data, id] = k.view.at(i);
        const auto at = static_cast<std::uint64_t>(id);
        wrong += data != 3 * at || at >= k.appended || k.appended - at > capacity || at % capacity != i;
        if (at < k.appended && k.appended - at <= n)
          there[static_cast<std::size_t>(k.appended - at - 1)] = true;
      }
      CHECK(wrong == 0);
      for (const bool t : there) wrong += !t;
      CHECK(wrong == 0);
    };
    std::uint64_t n = 0;
    for (const std::uint64_t more : {0, 1, 3, 700, 3000, 390, 2, 4096, 1, 8192, 5000, 1, 12345}) {
      for (std::uint64_t i = 0; i < more; ++i, ++n) REQUIRE(memory.append(3 * n) == n);
      CHECK(memory.size() == std::min(n, capacity));
      CHECK(memory.appended() == n);
      views.push_back({memory.samples(), n});
      if (views.size() > 4) views.pop_front();
      for (const kept& k : views) check(k);
    }
  }
}

TEST_CASE("an entry keeps its weight, another one's is not set in its place") {
  wick::replay_buffer<int> memory(4);
  for (int i = 0; i < 4; ++i) memory.append(i, i + 1);
  CHECK(memory.set_weight(1, 9));
  const wick::weights w = memory.weights();
  CHECK(w.at(1) == 9);
  memory.append(4, 0.5);
  CHECK(!memory.set_weight(0, 77));
  CHECK(w.at(0) == 0.5);
  CHECK(memory.set_weight(4, 2));
  CHECK(w.at(0) == 2);
  CHECK(contains(message_of([&] { return memory.set_weight(5, 1); }), "entry 5 of 5"));
  CHECK(contains(message_of([&] { return memory.set_weight(4, -1); }), "not negative"));
  CHECK(contains(message_of([&] { return memory.append(7, -1); }), "not negative"));
  CHECK(memory.appended() == 5);
  CHECK(memory.append(5) == 5);
  CHECK(memory.samples().at(1).data == 5);
  CHECK(contains(message_of([] { return wick::replay_buffer<int>(0).size(); }), "capacity of 0"));
}

TEST_CASE("an entry that may not be added leaves the buffer as it was, at the beginning of a block too") {
  wick::replay_buffer<int> memory(40'000);
  for (int lap = 0; lap < 3; ++lap) {
    for (int i = 0; i < 40'000; ++i) {
      if (i % 64 == 0) CHECK(!message_of([&] { return memory.append(-1, -1); }).empty());
      if (i % 64 == 0) {
        const auto view = memory.samples();
        std::uint64_t wrong = 0;
        for (std::uint64_t k = 0; k < view.size(); k += 37)
          wrong += view.at(k).data != view.at(k).target % 40'000;
        REQUIRE(wrong == 0);
      }
      memory.append(i);
    }
  }
}

TEST_CASE("a loader of an empty buffer says so") {
  wick::replay_buffer<step> memory(10);
  CHECK(contains(message_of([&] {
                   wick::loader l(memory.samples() | wick::weighted(memory.weights()) | wick::array_batch(4));
                   return 0;
                 }),
                 "empty"));
}

TEST_CASE(
    "rounds have the entries and the weights of their refresh(), with other threads appending meanwhile") {
  for (const std::size_t workers : {1, 4}) {
    constexpr std::uint64_t capacity = 10'000, of_a_round = 1'000, batch = 64;
    wick::replay_buffer<step> memory(capacity);
    for (std::uint64_t i = 0; i < 100; ++i) memory.append(make(i), 1);
    wick::loader l(memory.samples() | wick::weighted(memory.weights(), {.samples = 16 * batch}) |
                       wick::array_batch(batch),
                   {.seed = 1, .workers = workers});
    for (std::uint64_t round = 0; round < 40; ++round) {
      // In this round only ids of one remainder can be drawn.
      const std::uint64_t first = memory.appended() > capacity ? memory.appended() - capacity : 0;
      for (std::uint64_t id = first; id < memory.appended(); ++id)
        memory.set_weight(id, id % 5 == round % 5 ? 1.0 + static_cast<double>(id % 3) : 0);
      for (std::uint64_t i = 0; i < of_a_round; ++i) {
        const std::uint64_t id = memory.appended();
        memory.append(make(id), id % 5 == round % 5 ? 2 : 0);
      }
      l.refresh();
      const std::uint64_t end = memory.appended(), begin = end > capacity ? end - capacity : 0;
      std::thread actor([&] {
        for (std::uint64_t i = 0; i < of_a_round; ++i) {
          const std::uint64_t id = memory.appended();
          memory.append(make(id), 1e9);
          if (i % 4 == 0) memory.set_weight(end - 1 - i % 50, 1e9);
        }
      });
      std::uint64_t samples = 0, wrong = 0;
      for (auto& b : l.epoch(round)) {
        for (const std::int64_t id : ids_of(b)) {
          const auto at = static_cast<std::uint64_t>(id);
          wrong += at < begin || at >= end || at % 5 != round % 5;
          ++samples;
        }
      }
      actor.join();
      CHECK(wrong == 0);
      CHECK(samples == 16 * batch);
    }
  }
}

TEST_CASE("ranks with the same entries and weights share each batch, and a round is resumed in its middle") {
  const auto fill = [](wick::replay_buffer<step>& memory, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < 700 * rounds; ++i)
      memory.append(make(memory.appended()), static_cast<double>(i % 9));
    memory.set_weight(memory.appended() - 1, 1000);
  };
  const auto pipeline = [](const wick::replay_buffer<step>& memory, std::uint64_t rank, std::uint64_t ranks) {
    return memory.samples() | wick::weighted(memory.weights(), {.samples = 320}) | wick::shard(rank, ranks) |
           wick::array_batch(32);
  };
  std::vector<std::vector<std::int64_t>> whole;
  std::vector<std::byte> within;
  {
    wick::replay_buffer<step> memory(2000);
    fill(memory, 1);
    wick::loader l(pipeline(memory, 0, 1), {.seed = 2, .workers = 4});
    fill(memory, 4);
    l.refresh();
    for (auto& b : l.epoch(7)) {
      whole.push_back(ids_of(b));
      if (whole.size() == 6) within = l.state();
      fill(memory, 1);  // of the next round
    }
  }
  CHECK(within.size() <= 4096);
  for (const std::uint64_t ranks : {1, 2, 4}) {
    std::vector<std::vector<std::int64_t>> together(10), rest(4);
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      wick::replay_buffer<step> memory(2000);
      fill(memory, 1);
      fill(memory, 4);
      wick::loader l(pipeline(memory, rank, ranks), {.seed = 2, .workers = 2});
      std::size_t k = 0;
      for (auto& b : l.epoch(7)) {
        const auto ids = ids_of(b);
        together[k].insert(together[k].end(), ids.begin(), ids.end());
        ++k;
      }
      l.load_state(within);
      k = 0;
      for (auto& b : l.epoch(7)) {
        const auto ids = ids_of(b);
        rest.at(k).insert(rest.at(k).end(), ids.begin(), ids.end());
        ++k;
      }
    }
    CHECK(together == whole);
    CHECK(rest == std::vector(whole.begin() + 6, whole.end()));
  }
  wick::replay_buffer<step> other(2000);
  fill(other, 3);
  wick::loader l(pipeline(other, 0, 1), {.seed = 2, .workers = 1});
  CHECK(contains(message_of([&] { return l.load_state(within), 0; }), "another data set"));
}

TEST_CASE("two loaders of a buffer have a view each") {
  wick::replay_buffer<step> memory(300);
  for (std::uint64_t i = 0; i < 200; ++i) memory.append(make(i), 1);
  const auto pipeline = [&] {
    return memory.samples() | wick::weighted(memory.weights(), {.samples = 64}) | wick::array_batch(16);
  };
  wick::loader a(pipeline(), {.workers = 2}), b(pipeline(), {.workers = 2});
  const auto all = [](auto& l) {
    std::vector<std::vector<std::int64_t>> out;
    for (auto& batch : l.epoch(0)) out.push_back(ids_of(batch));
    return out;
  };
  const auto before = all(b);
  for (std::uint64_t i = 200; i < 450; ++i) memory.append(make(i), i == 449 ? 1e9 : 1);
  a.refresh();
  const auto with_new = all(a);
  CHECK(with_new != before);
  CHECK(all(b) == before);
  b.refresh();
  CHECK(all(b) == with_new);
}
