#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::batch_tests {

using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

// The engine's columns are what it takes for one.
static_assert(wick::detail::column<wick::detail::column_of<float, wick::detail::array_output>, float>);
static_assert(
    wick::detail::column<wick::detail::column_of<std::tuple<float, int>, wick::detail::array_output>,
                         std::tuple<float, int>>);
static_assert(wick::detail::column<wick::detail::object_column<std::string>, std::string>);

namespace {

template <class Loader>
std::vector<std::size_t> sizes_of(Loader& l) {
  std::vector<std::size_t> out;
  for (auto& batch : l.epoch(0)) {
    if constexpr (requires { batch.size(); })
      out.push_back(batch.size());
    else
      out.push_back(static_cast<std::size_t>(batch.target.extents()[0]));
  }
  return out;
}

std::vector<int> digits(cell c) { return std::vector<int>(static_cast<std::size_t>(c.target % 4), 7); }

/// Not yet made, as a picture that is not yet decoded.
struct unmade {
  using materialized_type = std::string;
  std::int64_t number;
  std::shared_ptr<std::atomic<int>> made;
  std::string materialize() && {
    ++*made;
    return "made " + std::to_string(number);
  }
};

}  // namespace

TEST_CASE("an array taken as another type says which it is; of bytes it says what makes floats of them") {
  wick::loader l(wick::from(std::vector<std::uint8_t>{1, 2, 3}) | wick::array_batch(3), {.workers = 1});
  const wick::array bytes = l.next().value();
  CHECK(bytes.as<std::uint8_t>()[2] == 3);
  CHECK(message_of([&] { return bytes.as<float>(); }) ==
        "array: as<float32> of an array of uint8; pictures are bytes, write normalize() before array_batch() "
        "for floats");
  wick::loader f(wick::from(std::vector<float>{1, 2, 3}) | wick::array_batch(3), {.workers = 1});
  const wick::array floats = f.next().value();
  CHECK(message_of([&] { return floats.as<double>(); }) == "array: as<float64> of an array of float32");
}

TEST_CASE("a batch has its size of samples, the last what is left, none when it would be empty") {
  for (const std::uint64_t n : {1, 7, 8, 9, 16, 17}) {
    wick::loader l(numbers{n} | wick::array_batch(8), {.workers = 2});
    const auto sizes = sizes_of(l);
    CHECK(sizes.size() == (n + 7) / 8);
    CHECK(l.batches() == sizes.size());
    CHECK(sizes.back() == (n % 8 == 0 ? 8 : n % 8));
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) CHECK(sizes[i] == 8);
  }
}

TEST_CASE(
    "pad_last fills the last batch from the epoch's beginning, with random numbers of its own, equal on "
    "every rank") {
  const auto drawing = [](cell c, wick::context& x) {
    c.data[0] = static_cast<std::uint8_t>(x.random().below(256));
    c.data[1] = static_cast<std::uint8_t>(x.position());
    return c;
  };
  for (const std::uint64_t n : {1, 3, 8, 9, 16, 29}) {
    CAPTURE(n);
    wick::loader l(
        numbers{n} | wick::shuffle() | wick::map("draw", drawing) | wick::array_batch(8, {.pad_last = true}),
        {.workers = 2});
    CHECK(l.batches() == (n + 7) / 8);
    CHECK(l.samples() == (n + 7) / 8 * 8);
    const auto whole = targets_of(l, 3);
    std::vector<std::int64_t> flat;
    for (const auto& b : whole) {
      CHECK(b.size() == 8);
      flat.insert(flat.end(), b.begin(), b.end());
    }
    for (std::size_t i = n; i < flat.size(); ++i) CHECK(flat[i] == flat[i % n]);
    std::uint64_t position = 0;
    for (auto& batch : l.epoch(3)) {
      for (int i = 0; i < 8; ++i)
        CHECK(std::to_integer<std::uint64_t>(batch.data.data()[i * 8 + 1]) == position++);
    }
    std::vector<std::vector<std::int64_t>> together(whole.size());
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
      wick::loader part(
          numbers{n} | wick::shuffle() | wick::shard(rank, 4) | wick::array_batch(8, {.pad_last = true}),
          {.workers = 2});
      const auto got = targets_of(part, 3);
      REQUIRE(got.size() == whole.size());
      for (std::size_t b = 0; b < got.size(); ++b) {
        CHECK(got[b].size() == 2);
        together[b].insert(together[b].end(), got[b].begin(), got[b].end());
      }
    }
    CHECK(together == whole);
  }
  CHECK(contains(message_of([] { return wick::array_batch(8, {.drop_last = true, .pad_last = true}); }),
                 "drop_last or pad_last"));
  CHECK(contains(message_of([] { return wick::group(8, {.drop_last = true, .pad_last = true}); }),
                 "drop_last or pad_last"));
}

TEST_CASE("drop_last leaves out the batch that is not full, and no other") {
  for (const std::uint64_t n : {8, 9, 15, 16, 17}) {
    wick::loader l(numbers{n} | wick::array_batch(8, {.drop_last = true}), {.workers = 2});
    CHECK(sizes_of(l) == std::vector<std::size_t>(n / 8, 8));
  }
}

TEST_CASE("position p has slot p mod n of batch p / n") {
  wick::loader l(numbers{100} | wick::array_batch(7), {.workers = 4});
  const auto all = targets_of(l, 0);
  for (std::size_t p = 0; p < 100; ++p) CHECK(all[p / 7][p % 7] == static_cast<std::int64_t>(p));
}

TEST_CASE("a batch of one is a batch") {
  wick::loader l(numbers{3} | wick::array_batch(1), {.workers = 1});
  CHECK(targets_of(l, 0) == std::vector<std::vector<std::int64_t>>{{0}, {1}, {2}});
}

namespace {

/// Ordinary memory that knows the largest block it was asked for.
class measured_memory final : public wick::ext::slab_memory {
 public:
  wick::ext::memory_block allocate(std::size_t bytes) override {
    std::size_t seen = largest;
    while (seen < bytes && !largest.compare_exchange_weak(seen, bytes)) {
    }
    return host_.allocate(bytes);
  }
  std::atomic<std::size_t> largest{0};

 private:
  wick::detail::host_slab_memory host_;
};
struct measure {
  static constexpr wick::ext::stage_traits traits{
      .name = "measure", .kind = wick::ext::stage_kind::batch, .has_slab_memory = true};
  std::shared_ptr<measured_memory> memory = std::make_shared<measured_memory>();
  std::shared_ptr<wick::ext::slab_memory> slab_memory() const { return memory; }
  template <class Batch>
  Batch operator()(Batch batch, wick::context&) const {
    return batch;
  }
};

}  // namespace

TEST_CASE("a batch takes memory for the samples that it can have, of this rank, and not for its size") {
  for (const std::uint64_t n : {1, 5, 12, 13, 100}) {
    for (const std::uint64_t times : {1, 3}) {
      for (const std::size_t world : {1, 2, 5}) {
        for (const wick::batch_options options :
             {wick::batch_options{}, wick::batch_options{.pad_last = true},
              wick::batch_options{.drop_last = true}}) {
          if (options.drop_last && n * times < 12) continue;
          const std::uint64_t full = options.pad_last ? 12 : std::min<std::uint64_t>(12, n * times);
          std::uint64_t rows = 0;
          for (std::size_t rank = 0; rank < world; ++rank) {
            const measure stage;
            wick::loader l(numbers{n} | wick::repeat(times) | wick::shard(rank, world) |
                               wick::array_batch(12, options) | measure(stage),
                           {.workers = 1});
            std::size_t most = 0;
            for (const std::size_t size : sizes_of(l)) most = std::max(most, size);
            CHECK(stage.memory->largest.load() <= (full + world - 1) / world * 8);
            CHECK(stage.memory->largest.load() >= most * 8);
            rows += most;
          }
          CHECK(rows >= full);
        }
      }
    }
  }
}

TEST_CASE("a batch larger than the data is all of it") {
  wick::loader l(numbers{3} | wick::array_batch(1000), {.workers = 2});
  CHECK(targets_of(l, 0) == std::vector<std::vector<std::int64_t>>{{0, 1, 2}});
}

TEST_CASE("a batch of nothing is refused") {
  CHECK(contains(message_of([] { return wick::array_batch(0); }), "batch(0)", "at least one sample"));
  CHECK(contains(message_of([] { return wick::array_batch(static_cast<std::size_t>(-1)); }),
                 "batch(18446744073709551615)", "below 0"));
  CHECK(contains(message_of([] { return wick::group(0); }), "group(0)", "at least one sample"));
}

TEST_CASE("an array says its element type when it is taken for another") {
  wick::loader l(numbers{3} | wick::array_batch(3), {.workers = 1});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(contains(message_of([&] { return batch->target.as<float>(); }), "as<float32>", "an array of int64"));
  CHECK(batch->data.as<std::uint8_t>() != nullptr);
}

TEST_CASE("an empty array has no data and no bytes beyond those of a scalar's shape") {
  const wick::array none;
  CHECK(none.data() == nullptr);
  CHECK(none.extents().rank() == 0);
}

TEST_CASE("copies of an array share its memory, which goes back to the pool with the last of them") {
  auto pool =
      std::make_shared<wick::detail::slab_pool>(std::make_shared<wick::detail::host_slab_memory>(), 4);
  wick::detail::column_description about;
  about.count = 10;
  auto a = std::make_unique<wick::array>(wick::detail::array_output::make(pool->acquire(10), about));
  const auto b = std::make_unique<wick::array>(*a);
  CHECK(a->data() == b->data());
  std::byte* const was = a->data();
  a.reset();
  CHECK(pool->acquire(10).data() != was);
  wick::array last = *b;
  *b = wick::array();
  last = wick::array();
  CHECK(pool->acquire(10).data() == was);
}

TEST_CASE("a batch outlives its loader") {
  std::optional<wick::sample<wick::array, wick::array>> kept;
  {
    wick::loader l(numbers{100} | wick::array_batch(10), {.workers = 2});
    l.next();
    kept = l.next();
  }
  REQUIRE(kept);
  for (int i = 0; i < 10; ++i) CHECK(kept->target.as<std::int64_t>()[i] == 10 + i);
}

TEST_CASE("batches that are kept keep their values while others are made") {
  wick::loader l(numbers{200} | wick::array_batch(10), {.workers = 4});
  std::vector<wick::sample<wick::array, wick::array>> kept;
  for (auto& batch : l.epoch(0)) kept.push_back(batch);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (std::size_t k = 0; k < 10; ++k) {
      CHECK(kept[i].target.as<std::int64_t>()[k] == static_cast<std::int64_t>(10 * i + k));
    }
  }
}

TEST_CASE("group makes vectors of samples that have no shape, in order") {
  wick::loader l(numbers{22} | digits | wick::group(5), {.workers = 4});
  static_assert(std::is_same_v<decltype(l)::value_type, std::vector<std::vector<int>>>);
  std::size_t n = 0;
  for (auto& group : l.epoch(0)) {
    for (const auto& sample : group) CHECK(sample.size() == n++ % 4);
  }
  CHECK(n == 22);
  CHECK(sizes_of(l) == std::vector<std::size_t>{5, 5, 5, 5, 2});
}

TEST_CASE("group drops the last as batch does, and shares among ranks as batch does") {
  wick::loader dropped(numbers{22} | digits | wick::group(5, {.drop_last = true}), {.workers = 1});
  CHECK(sizes_of(dropped) == std::vector<std::size_t>{5, 5, 5, 5});
  wick::loader first(numbers{22} | wick::shard(0, 2) | digits | wick::group(6), {.workers = 1});
  wick::loader second(numbers{22} | wick::shard(1, 2) | digits | wick::group(6), {.workers = 1});
  CHECK(sizes_of(first) == std::vector<std::size_t>{3, 3, 3, 2});
  CHECK(sizes_of(second) == std::vector<std::size_t>{3, 3, 3, 2});
}

TEST_CASE("group takes what can only be moved") {
  const auto alone = [](cell c) { return std::make_unique<std::int64_t>(c.target); };
  wick::loader l(wick::from(numbers{10}) | alone | wick::group(4), {.workers = 2});
  std::int64_t n = 0;
  for (auto& group : l.epoch(0)) {
    for (const auto& p : group) CHECK(*p == n++);
  }
  CHECK(n == 10);
}

TEST_CASE(
    "group makes the items that were put off, as batch does: the training loop gets no undecoded picture") {
  const auto made = std::make_shared<std::atomic<int>>(0);
  const auto put_off = [made](cell c) { return wick::sample<unmade>{{c.target, made}, c.target}; };
  wick::loader l(wick::from(numbers{10}) | put_off | wick::group(4), {.workers = 2});
  static_assert(std::is_same_v<decltype(l)::value_type, std::vector<wick::sample<std::string>>>);
  const auto group = l.next();
  REQUIRE(group);
  CHECK(*made >= 4);
  CHECK((*group)[3].data == "made 3");
}

TEST_CASE("a stage after group takes the vector") {
  wick::loader l(numbers{12} | digits | wick::group(4) |
                     [](std::vector<std::vector<int>> g) {
                       std::size_t longest = 0;
                       for (const auto& sample : g) longest = std::max(longest, sample.size());
                       return longest;
                     },
                 {.workers = 2});
  for (auto& longest : l.epoch(0)) CHECK(longest == 3);
}

TEST_CASE("the last rank of a short last batch may get nothing, in the shape of the others") {
  wick::loader l(numbers{9} | wick::shard(0, 2) | wick::array_batch(8), {.workers = 1});
  wick::loader r(numbers{9} | wick::shard(1, 2) | wick::array_batch(8), {.workers = 1});
  std::vector<wick::shape> left, right;
  for (auto& b : l.epoch(0)) left.push_back(b.data.extents());
  for (auto& b : r.epoch(0)) right.push_back(b.data.extents());
  CHECK(left == std::vector<wick::shape>{{4, 8}, {0, 8}});
  CHECK(right == std::vector<wick::shape>{{4, 8}, {1, 8}});
}

}  // namespace wick_test::batch_tests
