#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "loader/stages.hpp"
#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/work_for.hpp"
#include <wick/core.hpp>
#include <wick/loader/detail/batch_job.hpp>

namespace wick_test::loader_tests {

TEST_CASE("an epoch delivers every sample once at any worker count") {
  for (const std::size_t workers : {1, 2, 4, 16}) {
    for (const std::uint64_t size : {1, 2, 31, 32, 33, 1000, 4097}) {
      wick::loader l(numbers{size} | wick::shuffle() | wick::array_batch(32),
                     {.seed = 5, .workers = workers});
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<std::int64_t> all;
        for (const auto& batch : targets_of(l, epoch)) {
          CHECK((batch.size() == 32 || all.size() + batch.size() == size));
          all.insert(all.end(), batch.begin(), batch.end());
        }
        std::sort(all.begin(), all.end());
        std::vector<std::int64_t> expected(size);
        std::iota(expected.begin(), expected.end(), 0);
        CHECK(all == expected);
      }
    }
  }
}

TEST_CASE(
    "the same seed gives the same bytes in the same batches with 1, 2, 4 and 16 workers and any prefetch") {
  std::vector<std::uint64_t> first;
  for (const std::size_t workers : {1, 2, 4, 16}) {
    for (const std::size_t prefetch : {1, 2, 8}) {
      wick::loader l(
          numbers{3000} | wick::shuffle() | jitter | hop | wick::map("again", jitter) | wick::array_batch(64),
          {.seed = 11, .workers = workers, .prefetch = prefetch});
      std::vector<std::uint64_t> got;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) got.push_back(bytes_of(l, epoch));
      if (first.empty()) first = got;
      CHECK(got == first);
    }
  }
  CHECK(std::set<std::uint64_t>(first.begin(), first.end()).size() == 3);
}

TEST_CASE("another epoch has another order, another seed too, and an epoch asked for again is the same") {
  wick::loader a(numbers{500} | wick::shuffle() | wick::array_batch(50), {.seed = 1, .workers = 2});
  wick::loader b(numbers{500} | wick::shuffle() | wick::array_batch(50), {.seed = 2, .workers = 2});
  const auto a0 = targets_of(a, 0), a1 = targets_of(a, 1);
  CHECK(a0 != a1);
  CHECK(targets_of(b, 0) != a0);
  CHECK(targets_of(a, 0) == a0);
  CHECK(targets_of(a, 0) == a0);
  CHECK(targets_of(a, 7) != a0);
  CHECK(targets_of(a, 1) == a1);
}

TEST_CASE(
    "ranks share each global batch without gap or overlap, and another number of ranks changes no batch") {
  wick::loader whole(numbers{1000} | wick::shuffle() | jitter | wick::array_batch(96),
                     {.seed = 3, .workers = 2});
  const auto expected = targets_of(whole, 2);
  for (const std::uint64_t world : {1, 2, 3, 4, 7}) {
    std::vector<std::vector<std::int64_t>> together(expected.size());
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      wick::loader part(
          numbers{1000} | wick::shuffle() | wick::shard(rank, world) | jitter | wick::array_batch(96),
          {.seed = 3, .workers = 2});
      const auto got = targets_of(part, 2);
      REQUIRE(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        together[i].insert(together[i].end(), got[i].begin(), got[i].end());
    }
    CHECK(together == expected);
  }
}

TEST_CASE("four batches are ahead of the loop, eight where that takes little memory, or what the user says") {
  const auto made_ahead = [](std::int64_t floats, std::optional<std::size_t> prefetch,
                             std::uint64_t expected) {
    std::atomic<std::uint64_t> made{0};
    struct block {
      std::int64_t floats;
      wick::shape extents() const { return {floats}; }
      wick::dtype type() const noexcept { return wick::dtype::float32; }
      void write_to(wick::ext::slot) const noexcept {}
    };
    // So long that workers make all of them: a rest that is shorter than a wake-up is left to the loop.
    const auto widen = [&](const cell&) {
      wick_test::work_for(std::chrono::microseconds(50));
      made.fetch_add(1);
      return block{floats};
    };
    wick::loader l(numbers{1000} | wick::map("widen", widen) | wick::array_batch(4),
                   {.workers = 2, .prefetch = prefetch});
    const auto first = l.next();
    REQUIRE(eventually([&] { return made >= (1 + expected) * 4; }));
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    return made.load() / 4 - 1;
  };
  CHECK(made_ahead(16, {}, 8) == 8);
  CHECK(made_ahead(1 << 18, {}, 4) == 4);  // 4 MiB a batch
  CHECK(made_ahead(16, 3, 3) == 3);
}

TEST_CASE(
    "over 5 epochs no thread is started, no source copied, no block of memory allocated after the first") {
  struct counted : numbers {
    std::shared_ptr<std::atomic<int>> copies = std::make_shared<std::atomic<int>>(0);
    counted() : numbers{2000} {}
    counted(const counted& other) : numbers(other), copies(other.copies) { ++*copies; }
    counted(counted&&) = default;
  };
  counted source;
  const auto copies = source.copies;
  wick::executor ex(wick::executor_options{.workers = 2, .io_threads = 4});
  wick::loader l(std::move(source) | wick::shuffle() | hop | wick::array_batch(64),
                 {.seed = 1, .executor = &ex});
  bytes_of(l, 0);
  const std::size_t threads = threads_now();
  const std::uint64_t allocations = l.slab_allocations();
  for (std::uint64_t epoch = 2; epoch < 7; ++epoch) bytes_of(l, epoch);
  CHECK(threads_now() == threads);
  CHECK(l.slab_allocations() == allocations);
  CHECK(copies->load() == 0);
}

TEST_CASE("a stage of the user's is one object for all epochs") {
  struct counting {
    std::shared_ptr<std::atomic<int>> made = std::make_shared<std::atomic<int>>(0);
    std::atomic<int>* calls;
    explicit counting(std::atomic<int>* c) : calls(c) { ++*made; }
    cell operator()(cell c) {
      ++*calls;
      return c;
    }
  };
  std::atomic<int> calls{0};
  counting stage(&calls);
  const auto made = stage.made;
  wick::loader l(numbers{100} | wick::map("count", std::move(stage)) | wick::array_batch(10),
                 {.workers = 2, .prefetch_next_epoch = false});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) bytes_of(l, epoch);
  CHECK(*made == 1);
  CHECK(calls >= 300);
}

TEST_CASE("the next epoch's first samples are read while the last batch of this one is held") {
  const numbers source{40};
  wick::loader l(source | wick::array_batch(10), {.workers = 2, .prefetch = 2});
  auto epoch = l.epoch(0);
  for (int i = 0; i < 4; ++i) REQUIRE(epoch.next());
  // Two more batches than an epoch has: they are the next one's. No timing: the loader gets there while the
  // test looks.
  REQUIRE(eventually([&] { return source.asked->load() >= 60; }));
  CHECK(!epoch.next());
  CHECK(source.asked->load() == 60);
}

TEST_CASE("an epoch left early begins again, the next begins at its beginning, and nothing is mixed up") {
  wick::loader l(numbers{1000} | wick::shuffle() | jitter | hop | wick::array_batch(32),
                 {.seed = 9, .workers = 4});
  wick::loader fresh(numbers{1000} | wick::shuffle() | jitter | hop | wick::array_batch(32),
                     {.seed = 9, .workers = 1});
  std::vector<std::uint64_t> expected;
  for (std::uint64_t e = 0; e < 4; ++e) expected.push_back(bytes_of(fresh, e));
  for (std::uint64_t e = 0; e < 4; ++e) {
    for (std::size_t leave_after = 0; leave_after < 5; ++leave_after) {
      std::size_t n = 0;
      for ([[maybe_unused]] auto& batch : l.epoch(e)) {
        if (n++ == leave_after) break;
      }
    }
    CHECK(bytes_of(l, e) == expected[e]);
  }
}

TEST_CASE("without prefetch across epochs nothing of the next one is begun before it is asked for") {
  const numbers source{40};
  wick::loader l(source | wick::array_batch(10), {.workers = 2, .prefetch_next_epoch = false});
  for (std::uint64_t e : {0, 1, 1, 5, 5, 5, 6}) {
    const std::uint64_t before = source.asked->load();
    CHECK(targets_of(l, e).size() == 4);
    CHECK(source.asked->load() == before + 40);
  }
}

TEST_CASE("next() continues after a break, and starts with epoch 0 when none was begun") {
  wick::loader l(numbers{100} | wick::array_batch(10), {.workers = 2});
  std::size_t n = 0;
  while (auto batch = l.next()) {
    CHECK(batch->target.as<std::int64_t>()[0] == static_cast<std::int64_t>(n * 10));
    ++n;
  }
  CHECK(n == 10);
  CHECK(!l.next());
  auto epoch = l.epoch(1);
  for ([[maybe_unused]] auto& batch : epoch) break;
  const auto second = l.next();
  REQUIRE(second);
  CHECK(second->target.as<std::int64_t>()[0] == 10);
}

TEST_CASE(
    "samples are begun in the order of their batches, also when a batch left before anybody looked for the "
    "next") {
  struct stages {
    static wick::task<cell> note(std::shared_ptr<std::vector<std::uint64_t>> begun, cell c,
                                 wick::context& context) {
      begun->push_back(context.position());  // one at a time: in_flight is 1
      if (context.position() % 3 == 0) co_await context.on()->schedule();
      co_return c;
    }
  };
  constexpr std::uint64_t size = 4000;
  for (const std::size_t workers : {1, 2}) {
    for (const std::int64_t batch : {1, 2, 5}) {
      auto begun = std::make_shared<std::vector<std::uint64_t>>();
      {
        wick::loader l(
            numbers{size} |
                wick::map("note", [begun](cell c, wick::context& x) { return stages::note(begun, c, x); }) |
                wick::array_batch(batch),
            {.workers = workers, .prefetch = 4, .in_flight = 1, .prefetch_next_epoch = false});
        while (l.next()) {
        }
      }
      REQUIRE(begun->size() == size);
      CHECK(std::is_sorted(begun->begin(), begun->end()));
    }
  }
}

TEST_CASE("an empty source and a batch that can never be full are refused with numbers") {
  CHECK(contains(wick_test::message_of([] { return wick::loader(numbers{0} | wick::array_batch(1)); }),
                 "empty"));
  CHECK(contains(wick_test::message_of(
                     [] { return wick::loader(numbers{9} | wick::array_batch(10, {.drop_last = true})); }),
                 "9 samples make no full batch of 10"));
  CHECK(contains(message_of([] { return wick::loader(numbers{9} | wick::take(0) | wick::array_batch(10)); }),
                 "the source has 9 samples", "order stages leave none", "take(0)"));
  CHECK(contains(wick_test::message_of(
                     [] { return wick::loader(numbers{9} | wick::shard(0, 4) | wick::array_batch(3)); }),
                 "global batch of 3", "4 ranks"));
}

TEST_CASE("the report counts what ran, and starts again after each") {
  wick::loader l(numbers{1000} | wick::map("work", jitter) | wick::array_batch(100),
                 {.workers = 2, .prefetch_next_epoch = false});
  for ([[maybe_unused]] auto& b : l.epoch(0)) {
  }
  const wick::report first = l.report();
  CHECK(first.samples == 1000);
  CHECK(first.batches == 10);
  CHECK(first.iterations == 10);
  CHECK(first.workers == 2);
  const auto work =
      std::find_if(first.stages.begin(), first.stages.end(), [](auto& s) { return s.name == "work"; });
  REQUIRE(work != first.stages.end());
  CHECK(work->count >= 1000);
  CHECK(work->busy > 0);
  CHECK(l.report().samples == 0);
}

}  // namespace wick_test::loader_tests
