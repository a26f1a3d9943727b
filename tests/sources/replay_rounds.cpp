// Loaders of a replay buffer: rounds, ranks, resume.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "sources/steps.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/core.hpp>
#include <wick/sources/replay_buffer.hpp>

namespace wick_test::replay_rounds_tests {

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

TEST_CASE("a buffer among other sources shows the entries of the last refresh(), as it does alone") {
  wick::replay_buffer<step> memory(1000), demonstrations(1000);
  for (std::uint64_t i = 0; i < 40; ++i) demonstrations.append(make(i), 1);
  for (std::uint64_t i = 0; i < 100; ++i) memory.append(make(i), 1);
  wick::loader joined(wick::concat(memory.samples(), demonstrations.samples()) | wick::array_batch(50),
                      {.workers = 2});
  wick::loader mixed(wick::mix(wick::mix_until::all_exhausted, wick::weighted_source{memory.samples(), 1},
                               wick::weighted_source{demonstrations.samples(), 1}) |
                         wick::array_batch(50),
                     {.workers = 2});
  // Both views are of one buffer, whose lock is had once.
  wick::loader twice(wick::zip(memory.samples(), memory.samples()) |
                         wick::map("one", [](const auto& s) { return s.data; }) | wick::array_batch(50),
                     {.workers = 2});
  const auto newest = [](auto& l, std::uint64_t epoch) {
    std::int64_t id = 0;
    for (auto& b : l.epoch(epoch)) {
      for (const std::int64_t each : ids_of(b)) id = std::max(id, each);
    }
    return id;
  };
  for (std::uint64_t round = 0; round < 3; ++round) {
    CHECK(newest(joined, round) == static_cast<std::int64_t>(memory.appended()) - 1);
    CHECK(newest(mixed, round) == static_cast<std::int64_t>(memory.appended()) - 1);
    CHECK(newest(twice, round) == static_cast<std::int64_t>(memory.appended()) - 1);
    for (int i = 0; i < 700; ++i) memory.append(make(memory.appended()), 1);
    joined.refresh();
    mixed.refresh();
    twice.refresh();
  }
}

}  // namespace wick_test::replay_rounds_tests
