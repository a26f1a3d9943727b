// Mixed pictures are the same bytes on any number of workers and ranks, and through a resume in mid-epoch.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include "../support/sha256.hpp"
#include <wick/core.hpp>
#include <wick/transforms/mixing.hpp>

namespace wick_test::mixing_laws_tests {

namespace {

constexpr std::uint64_t count = 22, first_epoch = 3, epochs = 3;
constexpr std::size_t batch = 5, stop = 3;  // 5 batches an epoch, the last of 2

/// Photographs of sizes of their own, and something that belongs to them.
struct photographs {
  std::uint64_t size() const { return count; }
  static wick::lazy_image picture(std::uint64_t i) {
    return wick::lazy_image(photo(24 + static_cast<int>(i % 7), 20 + static_cast<int>(i % 5), 3, i + 1));
  }
  wick::sample<wick::lazy_image> at(std::uint64_t i) const {
    return {picture(i), static_cast<std::int64_t>(i % 4)};
  }
};
struct segmented {
  std::uint64_t size() const { return count; }
  wick::sample<wick::lazy_image, wick::mask> at(std::uint64_t i) const {
    wick::lazy_image picture = photographs::picture(i);
    wick::mask classes(flat(picture.width(), picture.height(), 1, static_cast<int>(i + 1)));
    return {std::move(picture), std::move(classes)};
  }
};

/// Of a batch, of which each rank has a part.
struct bytes {
  std::string data, target;
  template <class Batch>
  void add(const Batch& part) {
    data.append(reinterpret_cast<const char*>(part.data.data()), part.data.bytes());
    target.append(reinterpret_cast<const char*>(part.target.data()), part.target.bytes());
  }
  friend bool operator==(const bytes&, const bytes&) = default;
};
std::string digest_of(const std::vector<bytes>& all) {
  sha256 out;
  for (const bytes& one : all) out.add(one.data).add(one.target);
  return out.hex();
}

/// What ranks deliver, put together batch by batch; from a state on, if there is one.
template <class Make>
std::vector<bytes> all_of(const Make& make, std::size_t workers, std::uint64_t ranks,
                          const std::vector<std::byte>* state = nullptr) {
  std::vector<bytes> out;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    wick::loader l(make(rank, ranks), {.seed = 11, .workers = workers, .prefetch = 1 + rank});
    std::size_t n = 0;
    const auto take = [&] {
      while (auto b = l.next()) {
        out.resize(std::max(out.size(), n + 1));
        out[n++].add(*b);
      }
    };
    std::uint64_t epoch = first_epoch;
    if (state != nullptr) {
      l.load_state(*state);
      take();
      ++epoch;
    }
    for (; epoch < first_epoch + epochs; ++epoch) {
      l.epoch(epoch);
      take();
    }
  }
  return out;
}

/// Checks it for what `make(rank, ranks)` gives.
template <class Make>
void check_laws(const Make& make) {
  const std::vector<bytes> expected = all_of(make, 1, 1);
  const std::string digest = digest_of(expected);
  std::vector<std::byte> state;
  {
    wick::loader l(make(0, 1), {.seed = 11, .workers = 4});
    l.epoch(first_epoch);
    for (std::size_t k = 0; k < stop; ++k) REQUIRE(l.next().has_value());
    state = l.state();
    CHECK(state.size() <= 4096);
  }
  const std::vector<bytes> rest(expected.begin() + stop, expected.end());
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t ranks : {1, 2, 4}) {
      CAPTURE(workers);
      CAPTURE(ranks);
      CHECK(digest_of(all_of(make, workers, ranks)) == digest);
      CHECK((all_of(make, workers, ranks, &state) == rest));
    }
  }
}

const auto two_kinds = [](auto source_and_order) {
  return [=](std::uint64_t rank, std::uint64_t ranks) {
    return source_and_order | wick::shard(rank, ranks) | wick::random_crop(16) |
           wick::random_horizontal_flip() | wick::mixup(4, {.alpha = 0.4, .p = 0.7}) |
           wick::cutmix(4, {.p = 0.5}) | wick::random_horizontal_flip() | wick::to_float() |
           wick::array_batch(batch);
  };
};

}  // namespace

TEST_CASE("mixup and cutmix keep the laws, with a short last batch") {
  check_laws(two_kinds(photographs{} | wick::shuffle()));
}

TEST_CASE("mosaics keep the laws") {
  check_laws([](std::uint64_t rank, std::uint64_t ranks) {
    return segmented{} | wick::shuffle() | wick::shard(rank, ranks) | wick::random_horizontal_flip() |
           wick::mosaic(20, {.p = 0.8}) | wick::random_crop(24) | wick::array_batch(batch);
  });
}

TEST_CASE("what orders and subsets give is mixed by the laws, too") {
  const auto odd = [](const wick::sample<wick::lazy_image>& s) { return s.target % 2 == 1; };
  check_laws(two_kinds(photographs{} | wick::subset(odd) | wick::repeat(2) | wick::block_shuffle(4, 2)));
  std::vector<double> weights(count, 1.0);
  weights[7] = 9;
  check_laws(two_kinds(photographs{} | wick::weighted(weights)));
}

TEST_CASE("with filter() before and after, mixed pictures keep the laws") {
  const auto before = [](const wick::sample<wick::lazy_image>& s) { return s.target != 2; };
  const auto behind = [](const wick::sample<wick::image, wick::soft_label>& s) {
    return s.target.shares[0] < 0.9f;
  };
  check_laws([=](std::uint64_t rank, std::uint64_t ranks) {
    return photographs{} | wick::shuffle() | wick::shard(rank, ranks) | wick::filter(before) |
           wick::random_crop(16) | wick::mixup(4) | wick::filter(behind) | wick::array_batch(batch);
  });
}

TEST_CASE("a set of one sample is mixed with itself") {
  const auto one = photographs{} | wick::subset(std::vector<std::uint64_t>{6}) | wick::center_crop(16);
  wick::loader plain(one, {});
  wick::loader mixed(one | wick::mixup(4) | wick::cutmix(4), {});
  const auto expected = plain.next();
  const auto got = mixed.next();
  REQUIRE(expected.has_value());
  REQUIRE(got.has_value());
  CHECK(std::equal(got->data.pixels().begin(), got->data.pixels().end(), expected->data.pixels().begin()));
  CHECK(got->target.shares == std::vector<float>{0, 0, 1, 0});
  CHECK(!mixed.next().has_value());
}

}  // namespace wick_test::mixing_laws_tests
