#include <cstdint>
#include <deque>
#include <vector>

#include "sources/steps.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/core.hpp>
#include <wick/sources/replay_buffer.hpp>

namespace wick_test::replay_buffer_tests {

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

}  // namespace wick_test::replay_buffer_tests
