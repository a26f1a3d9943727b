// loader.seek(): any batch of any epoch is the next one, the same as when the epoch reaches it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::seek_tests {

using wick::on_error;

namespace {

cell fails(cell c) {
  if (c.target % 10 == 3) throw wick::error("a bad one");
  return c;
}

/// Draws, suspends, fails, and takes others.
auto mixed(std::uint64_t rank = 0, std::uint64_t world = 1) {
  return numbers{200} | wick::shuffle() | wick::shard(rank, world) | wick::map("fails", fails) |
         wick::map("slowly", slowly) | wick::with_others(1) | wick::join(digits) | wick::array_batch(16);
}

std::vector<std::int64_t> next_of(auto& from) {
  auto batch = from.next();
  if (!batch) return {};
  const std::int64_t* const t = batch->target.template as<std::int64_t>();
  return {t, t + batch->target.extents()[0]};
}

}  // namespace

TEST_CASE("a seek makes any batch the next one, the same at any number of workers") {
  const std::pair<std::uint64_t, std::uint64_t> places[] = {{2, 5},  {2, 6}, {2, 4}, {0, 0},
                                                            {1, 12}, {2, 0}, {7, 7}, {0, 11}};
  for (const auto& policy : {on_error(on_error::skip), on_error(on_error::replace)}) {
    wick::loader whole(mixed(), {.seed = 4, .workers = 2, .on_error = policy});
    for (const std::size_t workers : {1, 3}) {
      wick::loader l(mixed(), {.seed = 4, .workers = workers, .on_error = policy});
      for (const auto& [epoch, batch] : places) {
        CAPTURE(epoch);
        CAPTURE(batch);
        const batches expected = targets_of(whole, epoch);
        l.seek(epoch, batch);
        CHECK(l.current_epoch() == epoch);
        CHECK(next_of(l) == expected[batch]);
        CHECK(rest_of(l) ==
              batches(expected.begin() + static_cast<std::ptrdiff_t>(batch) + 1, expected.end()));
      }
    }
  }
}

TEST_CASE("a loader of one rank makes the batch of all ranks, and of another rank") {
  wick::loader whole(mixed(0, 1), {.seed = 4, .workers = 2, .on_error = on_error::replace});
  std::vector<std::int64_t> together;
  for (const std::uint64_t rank : {0, 1}) {
    wick::loader l(mixed(rank, 2), {.seed = 4, .workers = 1, .on_error = on_error::replace});
    l.seek(3, 7);
    const auto part = next_of(l);
    together.insert(together.end(), part.begin(), part.end());
  }
  whole.seek(3, 7);
  CHECK(next_of(whole) == together);
}

TEST_CASE("with_index() says which samples are in a batch that is made again") {
  const auto make = [] {
    return wick::loader(numbers{100} | wick::shuffle() | wick::with_index() | wick::array_batch(10),
                        {.seed = 1, .workers = 2});
  };
  auto l = make(), again = make();
  std::vector<std::string> keys;
  for (auto& batch : l.epoch(1)) {
    if (keys.empty()) keys = batch.target.key;
  }
  again.seek(1, 0);
  const auto batch = again.next();
  CHECK(batch->target.key == keys);
  CHECK(batch->target.index.as<std::int64_t>()[0] == std::stoll(keys[0].substr(7)));
}

TEST_CASE("loops continue at the place of a seek, another epoch forgets it, and a state has it") {
  wick::loader l(numbers{60} | wick::shuffle() | wick::array_batch(10), {.seed = 2, .workers = 2});
  wick::loader other(numbers{60} | wick::shuffle() | wick::array_batch(10), {.seed = 2, .workers = 2});
  const batches first = targets_of(l, 1), second = targets_of(l, 2);
  l.seek(1, 4);
  CHECK(targets_of(l, 1) == batches(first.begin() + 4, first.end()));
  l.seek(1, 4);
  std::size_t left = 0;
  for (auto& batch : l) {  // the rest of the epoch
    static_cast<void>(batch);
    ++left;
  }
  CHECK(left == 2);
  l.seek(1, 4);
  CHECK(targets_of(l, 2) == second);

  l.seek(1, 3);
  other.load_state(l.state());
  CHECK(next_of(other) == first[3]);
  CHECK(next_of(l) == first[3]);
  CHECK(next_of(l) == first[4]);

  std::size_t n = 0;
  for (auto& batch : l.epoch(2)) {  // inside of a loop
    static_cast<void>(batch);
    if (++n == 2) l.seek(2, 5);
  }
  CHECK(n == 3);
}

TEST_CASE("without batch() a seek goes to a position of the epoch, which each rank rounds up to its own") {
  const auto pipeline = [](std::uint64_t rank, std::uint64_t world) {
    return numbers{150} | wick::shuffle() | wick::shard(rank, world) | wick::map("slowly", slowly);
  };
  wick::loader whole(pipeline(0, 1), {.seed = 3, .workers = 2});
  std::vector<std::int64_t> all;
  for (const cell& c : whole.epoch(1)) all.push_back(c.target);
  for (const std::uint64_t position : {0, 1, 31, 32, 33, 63, 64, 100, 149}) {
    CAPTURE(position);
    std::size_t left = 0;
    for (const std::uint64_t world : {1, 3}) {
      left = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        wick::loader l(pipeline(rank, world), {.seed = 3, .workers = 1});
        l.seek(1, position);
        std::vector<std::int64_t> got;
        while (const auto c = l.next()) got.push_back(c->target);
        left += got.size();
        std::size_t at = static_cast<std::size_t>(position);
        for (const std::int64_t t : got) {  // in the epoch's order, none of them before the position
          while (at < all.size() && all[at] != t) ++at;
          REQUIRE(at < all.size());
        }
      }
      CHECK(left == 150 - position);
    }
  }
}

TEST_CASE("a seek to what an epoch doesn't have is refused, and changes nothing") {
  wick::loader l(numbers{60} | wick::array_batch(8), {.workers = 2});
  wick::loader single(numbers{60}, {.workers = 1});
  CHECK(contains(message_of([&] { return l.seek(3, 8), 0; }), "seek(3, 8): the epoch has 8 batches"));
  CHECK(contains(message_of([&] { return single.seek(0, 60), 0; }), "seek(0, 60): the epoch has 60 samples"));
  CHECK(contains(message_of([&] { return l.seek(std::uint64_t{1} << 33, 0), 0; }),
                 "epochs are counted from 0"));
  l.epoch(0);
  REQUIRE(l.next());
  CHECK(contains(message_of([&] { return l.seek(0, 100), 0; }), "seek(0, 100)"));
  CHECK(next_of(l) == std::vector<std::int64_t>{8, 9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("failures before the place of a seek don't count in its epoch, and those in the log stay") {
  wick::loader l(numbers{2000} |
                     wick::map("fails",
                               [](cell c) {
                                 if (c.target < 100) throw wick::error("a bad one");
                                 return c;
                               }) |
                     wick::array_batch(100),
                 {.workers = 2, .on_error = on_error(on_error::skip, {.rate = 0.1})});
  l.epoch(0);
  REQUIRE(l.next());
  REQUIRE(l.failure_log().total() == 100);
  for (int i = 0; i < 3; ++i) {
    l.seek(0, 0);
    REQUIRE(l.next());
  }
  CHECK(l.failure_log().total() == 400);
}

TEST_CASE("a coroutine on a worker seeks") {
  wick::executor ex(2);
  wick::loader l(mixed(), {.seed = 4, .executor = &ex, .on_error = on_error::skip});
  wick::loader whole(mixed(), {.seed = 4, .workers = 1, .on_error = on_error::skip});
  const batches expected = targets_of(whole, 1);
  const auto take = [](wick::executor* on, decltype(l)* from,
                       std::vector<batches::value_type>* to) -> wick::task<void> {
    co_await on->schedule();
    for (const std::uint64_t batch : {9, 2, 3, 12}) {
      from->seek(1, batch);
      auto next = from->next_async();
      const auto got = co_await next;
      const std::int64_t* const t = got->target.as<std::int64_t>();
      to->emplace_back(t, t + got->target.extents()[0]);
    }
  };
  std::vector<batches::value_type> got;
  wick::ext::sync_wait(take(&ex, &l, &got));
  CHECK(got == batches{expected[9], expected[2], expected[3], expected[12]});
}

}  // namespace wick_test::seek_tests
