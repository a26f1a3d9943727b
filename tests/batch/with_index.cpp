#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/batch/with_index.hpp>
#include <wick/ext/source.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/concat.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>

namespace wick_test::with_index_tests {

namespace {

using wick::array;

/// Sample i is 100 + i, and is called "number i".
struct named_numbers {
  std::uint64_t n;
  std::uint64_t size() const noexcept { return n; }
  wick::sample<float, std::int64_t> at(std::uint64_t i) const noexcept {
    return {static_cast<float>(i) / 2, 100 + static_cast<std::int64_t>(i)};
  }
  std::string key(std::uint64_t i) const { return "number " + std::to_string(i); }
};

struct labeled {
  array data, target, index;
  std::vector<std::string> key;
};

std::vector<std::int64_t> values_of(const array& a) {
  return std::vector<std::int64_t>(a.as<std::int64_t>(), a.as<std::int64_t>() + a.extents().count());
}

/// The indexes of an epoch, batch by batch; each sample is what its index says, and so is its key.
template <class Loader>
std::vector<std::vector<std::int64_t>> indexes_of(Loader& loader, std::uint64_t epoch = 0) {
  std::vector<std::vector<std::int64_t>> out;
  for (auto& batch : loader.epoch(epoch)) {
    out.push_back(values_of(batch.target.index));
    REQUIRE(batch.target.key.size() == out.back().size());
    const auto targets = values_of(batch.target.value);
    REQUIRE(targets.size() == out.back().size());
    for (std::size_t s = 0; s < targets.size(); ++s) {
      CHECK(targets[s] == 100 + out.back()[s]);
      CHECK(batch.data.template as<float>()[s] == static_cast<float>(out.back()[s]) / 2);
      CHECK(batch.target.key[s] == "number " + std::to_string(out.back()[s]));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a batch says which samples are in it, by index and by key") {
  wick::loader loader(named_numbers{20} | wick::shuffle() | wick::with_index() | wick::array_batch(6),
                      {.seed = 4, .workers = 2});
  using batch = wick::sample<array, wick::indexed<array, array, std::vector<std::string>>>;
  static_assert(std::is_same_v<decltype(loader)::value_type, batch>);
  std::set<std::int64_t> seen;
  for (const auto& indexes : indexes_of(loader)) seen.insert(indexes.begin(), indexes.end());
  CHECK(seen.size() == 20);
  CHECK(*seen.rbegin() == 19);
}

TEST_CASE("they are the same at any number of workers, and of all ranks together") {
  const auto of = [](std::size_t workers, std::uint64_t world) {
    std::vector<std::vector<std::int64_t>> all;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      wick::loader loader(named_numbers{50} | wick::shuffle() | wick::shard(rank, world) |
                              wick::with_index() | wick::array_batch(8),
                          {.seed = 4, .workers = workers});
      const auto mine = indexes_of(loader, 3);
      all.resize(mine.size());
      for (std::size_t b = 0; b < mine.size(); ++b) {
        all[b].insert(all[b].end(), mine[b].begin(), mine[b].end());
      }
    }
    return all;
  };
  const auto expected = of(1, 1);
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t world : {1, 2, 4}) CHECK(of(workers, world) == expected);
  }
}

TEST_CASE("stages on data work before and after it, since it stands with the target") {
  wick::loader loader(
      named_numbers{4} | wick::with_index() | [](float f) { return f + 0.5f; } | wick::array_batch(4) |
      [](array data) {
        data.as<float>()[0] += 10;
        return data;
      });
  const auto batch = loader.next().value();
  CHECK(batch.data.as<float>()[0] == 10.5f);
  CHECK(batch.data.as<float>()[3] == 2.0f);
  CHECK(values_of(batch.target.index) == std::vector<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("a sample without a target gets one that only says which it is") {
  wick::loader loader(std::vector<float>{7, 8, 9} | wick::shuffle_once(1) | wick::with_index() |
                      wick::array_batch(3));
  const auto batch = loader.next().value();
  const auto indexes = values_of(batch.target.index);
  for (std::size_t s = 0; s < 3; ++s) {
    CHECK(batch.data.as<float>()[s] == 7 + static_cast<float>(indexes[s]));
    CHECK(batch.target.key[s] == "sample " + std::to_string(indexes[s]));
  }
  struct step {
    std::array<float, 2> observation;
    bool done;
  };
  wick::loader structs(std::vector<step>(3) | wick::with_index() | wick::array_batch(3));
  const auto steps = structs.next().value();
  CHECK(std::get<0>(steps.data).extents() == wick::shape{3, 2});
  CHECK(values_of(steps.target.index) == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("with a struct of the user's they are fields beside the others") {
  wick::loader loader(named_numbers{5} | wick::with_index() | wick::array_batch<labeled>(5));
  const labeled batch = loader.next().value();
  CHECK(values_of(batch.target) == std::vector<std::int64_t>{100, 101, 102, 103, 104});
  CHECK(values_of(batch.index) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(batch.key[4] == "number 4");
  CHECK(batch.data.as<float>()[4] == 2.0f);
}

TEST_CASE("without batch(), and in groups, each sample has its own") {
  wick::loader single(named_numbers{3} | wick::with_index());
  const auto first = single.next().value();
  CHECK(first.target.value == 100);
  CHECK(first.target.index == 0);
  CHECK(first.target.key == "number 0");
  wick::loader groups(named_numbers{3} | wick::with_index() | wick::group(3));
  CHECK(groups.next()->at(2).target.key == "number 2");
}

namespace {
auto failing_at(std::set<std::int64_t> bad) {
  return [bad](wick::sample<float, wick::indexed<std::int64_t>> s) {
    if (bad.contains(s.target.index)) throw wick::error("one that fails");
    return s;
  };
}
}  // namespace

TEST_CASE("a gap that is closed has no index left, and each other keeps its own") {
  for (const std::size_t workers : {1, 4}) {
    wick::loader loader(
        named_numbers{20} | wick::with_index() | failing_at({0, 3, 4, 13, 19}) | wick::array_batch(5),
        {.workers = workers, .on_error = wick::on_error::skip});
    CHECK(indexes_of(loader) == std::vector<std::vector<std::int64_t>>{
                                    {1, 2}, {5, 6, 7, 8, 9}, {10, 11, 12, 14}, {15, 16, 17, 18}});
    CHECK(loader.failure_log().entries()[0].key == "number 0");
  }
}

TEST_CASE("a substitute says who it is, not whose place it has") {
  wick::loader loader(named_numbers{20} | wick::with_index() | failing_at({3, 8}) | wick::array_batch(10),
                      {.on_error = wick::on_error::replace});
  std::vector<std::int64_t> all;
  for (const auto& indexes : indexes_of(loader)) all.insert(all.end(), indexes.begin(), indexes.end());
  REQUIRE(all.size() == 20);
  CHECK(all[3] != 3);
  CHECK(all[8] != 8);
  CHECK(all[4] == 4);
}

TEST_CASE("indexes and keys are those of the whole source, whatever it is made of") {
  wick::loader loader(wick::concat(named_numbers{3}, named_numbers{4}) | wick::with_index() |
                      wick::array_batch<labeled>(7));
  const labeled batch = loader.next().value();
  CHECK(values_of(batch.index) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(batch.key[5] == "number 2");
}

TEST_CASE("any stage may ask for the key; one of batches gets the batch's") {
  std::mutex mutex;
  std::set<std::string> keys, batches;
  wick::loader loader(
      wick::from(named_numbers{6}) |
      [&](float f, wick::context& c) {
        const std::lock_guard lock(mutex);
        keys.insert(c.key());
        return f;
      } |
      wick::array_batch(4) |
      [&](array data, wick::context& c) {
        const std::lock_guard lock(mutex);
        batches.insert(c.key());
        return data;
      });
  for (auto& batch : loader.epoch(0)) static_cast<void>(batch);
  CHECK(keys ==
        std::set<std::string>{"number 0", "number 1", "number 2", "number 3", "number 4", "number 5"});
  CHECK(batches == std::set<std::string>{"batch 0", "batch 1"});
}

}  // namespace wick_test::with_index_tests
