// A loader whose type names its items only: as a member, in a container, chosen at run time, moved, empty.
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "loader/stages.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::loader_type_tests {

namespace {

using loader = wick::loader<wick::array>;

std::vector<std::int64_t> first_values(loader& of, std::uint64_t epoch) {
  std::vector<std::int64_t> out;
  for (const wick::array& batch : of.epoch(epoch))
    out.push_back(*reinterpret_cast<const std::int64_t*>(batch.data()));
  return out;
}
std::vector<std::int64_t> up_to(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i);
  return out;
}
template <class Call>
std::string logic_error_of(Call&& call) {
  try {
    call();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return {};
}

/// As users write it: members of one type, whose pipelines the constructor chooses.
struct trainer {
  trainer(bool doubled, std::size_t workers) {
    if (doubled) {
      train =
          wick::loader(wick::from(up_to(20)) | [](std::int64_t v) { return 2 * v; } | wick::array_batch(4),
                       {.workers = workers});
    } else {
      train = wick::loader(wick::from(up_to(20)) | wick::array_batch(4), {.workers = workers});
    }
  }
  loader train, validation;
};

}  // namespace

// Iteration gives batches, and no size() counts anything else.
static_assert(std::ranges::range<loader>);
static_assert(!std::ranges::sized_range<loader>);
static_assert(!std::ranges::sized_range<wick::loader<std::int64_t>>);

TEST_CASE("samples() is the number of samples that an epoch delivers, on every rank the same") {
  for (const bool drop : {false, true}) {
    for (const bool pad : {false, true}) {
      if (drop && pad) continue;
      for (const std::int64_t n : {8, 10, 12}) {
        std::uint64_t delivered = 0;
        for (const std::uint64_t rank : {0, 1}) {
          wick::loader train(wick::from(up_to(n)) | wick::shuffle() | wick::shard(rank, 2) |
                                 wick::array_batch(4, {.drop_last = drop, .pad_last = pad}),
                             {.workers = 1});
          for (const wick::array& batch : train) delivered += static_cast<std::uint64_t>(batch.extents()[0]);
          CHECK(train.samples() == (drop ? n / 4 * 4 : pad ? (n + 3) / 4 * 4 : n));
          CHECK(train.batches() == train.samples() / 4 + (train.samples() % 4 != 0 ? 1 : 0));
          if (rank == 1) CHECK(delivered == train.samples());
        }
      }
    }
  }
  wick::loader single(up_to(10), {.workers = 1});  // a source without any stage
  static_assert(std::is_same_v<decltype(single), wick::loader<std::int64_t>>);
  CHECK(single.samples() == 10);
  CHECK(single.next() == 0);
  CHECK(single.next() == 1);
}

TEST_CASE("two pipelines of the same result are loaders of one type, chosen at run time") {
  trainer plain(false, 1), doubled(true, 2);
  CHECK(first_values(plain.train, 0) == std::vector<std::int64_t>{0, 4, 8, 12, 16});
  CHECK(first_values(doubled.train, 0) == std::vector<std::int64_t>{0, 8, 16, 24, 32});
  std::swap(plain.train, doubled.train);
  CHECK(first_values(plain.train, 1) == std::vector<std::int64_t>{0, 8, 16, 24, 32});
  static_assert(std::is_same_v<decltype(wick::loader(wick::from(up_to(1)))), wick::loader<std::int64_t>>);
  static_assert(std::is_nothrow_move_constructible_v<loader> && !std::is_copy_constructible_v<loader>);
}

TEST_CASE("an empty loader says so, whatever is asked of it, and can be assigned") {
  trainer t(false, 1);
  CHECK(t.train);
  CHECK_FALSE(t.validation);
  CHECK(contains(logic_error_of([&] { t.validation.epoch(0); }), "it is empty"));
  CHECK(contains(logic_error_of([&] { t.validation.next(); }), "it is empty"));
  CHECK(contains(logic_error_of([&] { static_cast<void>(t.validation.state()); }), "it is empty"));
  CHECK(contains(logic_error_of([&] { static_cast<void>(t.validation.batches()); }), "it is empty"));
  t.validation = std::move(t.train);
  CHECK_FALSE(t.train);
  CHECK(contains(logic_error_of([&] { t.train.report(); }), "it is empty"));
  CHECK(t.validation.batches() == 5);
  t.validation = {};  // in the middle of what it makes ahead
  CHECK_FALSE(t.validation);
}

TEST_CASE("a loader that is moved in the middle of an epoch continues, and its range with it") {
  loader first(wick::from(up_to(40)) | wick::array_batch(4), {.workers = 2});
  auto range = first.epoch(0);
  auto at = range.begin();
  ++at;
  loader second = std::move(first);
  std::vector<std::int64_t> rest;
  for (; at != range.end(); ++at) rest.push_back(*reinterpret_cast<const std::int64_t*>(at->data()));
  CHECK(rest == std::vector<std::int64_t>{4, 8, 12, 16, 20, 24, 28, 32, 36});
  CHECK(first_values(second, 1).size() == 10);
}

TEST_CASE("loaders in a vector share an executor, and go in any order") {
  wick::executor workers(2);
  std::vector<loader> folds;
  for (std::int64_t i = 1; i <= 3; ++i) {
    folds.push_back(wick::loader(wick::from(up_to(4 * i)) | wick::array_batch(4), {.executor = &workers}));
  }
  folds.erase(folds.begin());
  CHECK(first_values(folds[1], 0).size() == 3);
  CHECK(first_values(folds[0], 0).size() == 2);
}

TEST_CASE("a loader is a range: each loop over it is the next epoch, also after one that was left") {
  wick::loader train(numbers{30} | wick::shuffle() | wick::array_batch(10), {.seed = 3, .workers = 2});
  wick::loader same(numbers{30} | wick::shuffle() | wick::array_batch(10), {.seed = 3, .workers = 1});
  const auto all = [](auto&& range) {
    std::vector<std::int64_t> out;
    for (auto& batch : range) {
      const auto* const targets = reinterpret_cast<const std::int64_t*>(batch.target.data());
      out.insert(out.end(), targets, targets + 10);
    }
    return out;
  };
  CHECK(all(train) == all(same.epoch(0)));
  CHECK(train.current_epoch() == 0);
  CHECK(all(train) == all(same.epoch(1)));
  for (auto& batch : train) {
    CHECK(batch.target.extents()[0] == 10);
    break;
  }
  CHECK(train.current_epoch() == 2);
  CHECK(all(train) == all(same.epoch(3)));
  // A state continues in the epoch where it stands.
  train.epoch(7);
  CHECK(train.next());
  const std::vector<std::byte> state = train.state();
  wick::loader resumed(numbers{30} | wick::shuffle() | wick::array_batch(10), {.seed = 3, .workers = 1});
  resumed.load_state(state);
  CHECK(all(resumed).size() == 20);
  CHECK(resumed.current_epoch() == 7);
  CHECK(all(resumed) == all(same.epoch(8)));
}

TEST_CASE("a range that another epoch() has outrun throws, and two loops in each other end") {
  loader train(wick::from(up_to(40)) | wick::array_batch(4), {.workers = 2});
  auto first = train.epoch(0);
  CHECK(first.next());
  auto second = train.epoch(1);
  CHECK(contains(logic_error_of([&] { first.next(); }), "another epoch was begun"));
  CHECK(contains(logic_error_of([&] { first.begin(); }), "another epoch was begun"));
  CHECK(second.next());
  // Without batch(), in the middle of a group of the epoch that has taken its place.
  wick::loader single(wick::from(up_to(40)), {.workers = 1});
  auto old = single.epoch(0);
  CHECK(old.next() == 0);
  auto newer = single.epoch(1);
  CHECK(newer.next() == 0);
  CHECK(contains(logic_error_of([&] { old.next(); }), "another epoch was begun"));
  CHECK(newer.next() == 1);
  std::size_t outer = 0, inner = 0;
  CHECK(contains(logic_error_of([&] {
                   for (auto& a : train.epoch(2)) {
                     outer += a.extents()[0] == 4 ? 1 : 0;
                     for (auto& b : train.epoch(3)) inner += b.extents()[0] == 4 ? 1 : 0;
                   }
                 }),
                 "another epoch was begun"));
  CHECK(outer == 1);
  CHECK(inner == 10);
}

TEST_CASE("an epoch's number that wrapped around is refused") {
  loader train(wick::from(up_to(40)) | wick::array_batch(4), {.workers = 1});
  CHECK(contains(message_of([&] { train.epoch(static_cast<std::uint64_t>(-1)); }), "epoch(-1)",
                 "counted from 0"));
  CHECK(first_values(train, 0).size() == 10);
}

}  // namespace wick_test::loader_type_tests
