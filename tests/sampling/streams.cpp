// Bucketed, packed, filtered, mixed and edited streams: three epochs of each have one SHA-256, whatever
// workers and ranks make them.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/sha256.hpp"
#include <wick/core.hpp>

namespace wick_test::streams_tests {

namespace {

constexpr std::uint64_t epochs = 3;

/// Sample i is its number, as often as its length says.
struct texts {
  std::uint64_t count, first = 0;
  std::uint64_t size() const { return count; }
  std::uint32_t length(std::uint64_t i) const {
    return 1 + wick::random_stream(7, 0, first + i, 0).below(400) / (1 + static_cast<std::uint32_t>(i % 4));
  }
  wick::sample<std::uint32_t> at(std::uint64_t i) const {
    return {length(i), static_cast<std::int64_t>(first + i)};
  }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(first + i); }
};
using tokens = wick::sample<std::vector<std::int32_t>>;

/// One in a hundred takes its time.
wick::task<tokens> tokenize(wick::sample<std::uint32_t> s, wick::context& c) {
  tokens out{std::vector<std::int32_t>(s.data, static_cast<std::int32_t>(s.target)), s.target};
  out.data[0] += static_cast<std::int32_t>(c.random().below(2)) << 24;
  if (c.random().below(100) == 0) {
    auto sleeping = wick::sleep_for(std::chrono::microseconds(300), c);
    co_await sleeping;
  }
  co_return out;
}

/// The bytes of a rank's part of a batch, sample by sample.
template <class T>
void append(std::string& to, const T* from, std::int64_t count) {
  to.append(reinterpret_cast<const char*>(from), static_cast<std::size_t>(count) * sizeof(T));
}
template <class Batch>
std::string bytes_of(const Batch& b) {
  std::string out;
  if constexpr (requires { b.cu_seqlens; }) {
    const std::int64_t row = b.segments.extents()[1];
    for (std::int64_t r = 0; r < b.segments.extents()[0]; ++r) {
      append(out, b.values.data.template as<std::int32_t>() + r * row, row);
      append(out, b.segments.template as<std::int32_t>() + r * row, row);
      append(out, b.positions.template as<std::int32_t>() + r * row, row);
    }
  } else {
    const std::int64_t width = b.data.values.extents()[1];
    for (std::int64_t i = 0; i < b.target.extents()[0]; ++i) {
      const std::int64_t* const length = b.data.lengths.template as<std::int64_t>() + i;
      append(out, b.target.template as<std::int64_t>() + i, 1);
      append(out, length, 1);
      append(out, b.data.values.template as<std::int32_t>() + i * width, *length);
    }
  }
  return out;
}

struct no_changes {
  template <class Loader>
  void operator()(Loader&, std::uint64_t, std::uint64_t) const {}
};

/// The batches of all epochs, the ranks' parts one after the other. `change` is called before each batch.
template <class Make, class Change = no_changes>
std::vector<std::string> run(const Make& make, std::uint64_t world, wick::loader_options options,
                             const Change& change = {}) {
  std::vector<std::string> out;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    wick::loader l(make(wick::shard(rank, world)), options);
    std::size_t at = 0;
    for (std::uint64_t e = 0; e < epochs; ++e) {
      l.epoch(e);
      for (std::uint64_t number = 0;; ++number, ++at) {
        change(l, e, number);
        const auto batch = l.next();
        if (!batch) break;
        if (rank == 0) out.push_back("epoch " + std::to_string(e) + ":");
        REQUIRE(at < out.size());
        out[at] += bytes_of(*batch);
      }
    }
    CHECK(at == out.size());
    CHECK(l.state().size() <= 4096);
  }
  return out;
}
std::string digest(const std::vector<std::string>& batches) {
  wick_test::sha256 h;
  for (const std::string& b : batches) h.add(b);
  return h.hex();
}

/// The digest of one rank and one worker, after all others were found to be the same.
template <class Make, class... Change>
std::string same_for_all(const Make& make, const Change&... change) {
  const std::vector<std::string> alone = run(make, 1, {.seed = 11, .workers = 1}, change...);
  CHECK(alone.size() > 40);
  CHECK(std::set<std::string>(alone.begin(), alone.end()).size() == alone.size());
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t world : {1, 2, 4}) {
      CAPTURE(workers);
      CAPTURE(world);
      const auto got = run(make, world, {.seed = 11, .workers = workers, .prefetch = 2 * world}, change...);
      CHECK(digest(got) == digest(alone));
    }
  }
  CHECK(digest(run(make, 1, {.seed = 12, .workers = 1}, change...)) != digest(alone));
  return digest(alone);
}

const auto ragged = wick::array_batch(32, {.ragged = wick::pad_with(0)});

auto mixed(double books, double code) {
  return wick::mix(wick::mix_until::all_exhausted,
                   wick::weighted_source{texts{300} | wick::shuffle(), 1, "web"},
                   wick::weighted_source{texts{200, 1000} | wick::shuffle(), books, "books"},
                   wick::weighted_source{texts{70, 2000}, code, "code"});
}

struct changes {
  std::uint64_t at;  // the batch of an epoch before which weights change, for the next one
  template <class Loader>
  void operator()(Loader& l, std::uint64_t epoch, std::uint64_t number) const {
    if (number != at) return;
    if (epoch == 0) l.set_mix_weights({{"code", 1}, {"books", 0}});
    if (epoch == 1) l.set_mix_weights({{"books", 2}, {"code", 0}, {"web", 0.5}});
  }
};

}  // namespace

TEST_CASE("three epochs of a bucketed stream have one SHA-256 at any worker and rank count") {
  same_for_all([](auto shard) {
    return texts{700} | wick::shuffle() | wick::bucket({.tokens = 6400, .multiple = 4}) | shard |
           wick::map("tokenize", tokenize) | ragged;
  });
}

TEST_CASE("three epochs of a packed stream have one SHA-256 at any worker and rank count") {
  same_for_all([](auto shard) {
    return texts{700} | wick::shuffle() | shard | wick::map("tokenize", tokenize) |
           wick::array_pack(8, 512, {.pad = wick::pad_with(-7)});
  });
}

TEST_CASE("three epochs of a filtered stream have one SHA-256 at any worker and rank count") {
  same_for_all([](auto shard) {
    return texts{700} | wick::shuffle() | shard | wick::map("tokenize", tokenize) |
           wick::filter([](const tokens& t, wick::context& c) {
             return t.target % 5 != 0 && c.random().below(8) != 0;
           }) |
           ragged;
  });
}

TEST_CASE("three epochs of a mixed stream have one SHA-256 at any worker and rank count") {
  same_for_all([](auto shard) { return mixed(1, 0.5) | shard | wick::map("tokenize", tokenize) | ragged; });
}

TEST_CASE(
    "three epochs of a mix whose weights change have one SHA-256 at any worker and rank count, and whenever "
    "in an epoch they change") {
  const auto make = [](auto shard) {
    return mixed(0.5, 0) | shard | wick::map("tokenize", tokenize) | ragged;
  };
  const std::string early = same_for_all(make, changes{0});
  CHECK(same_for_all(make, changes{4}) == early);
  CHECK(digest(run(make, 1, {.seed = 11})) != early);
}

}  // namespace wick_test::streams_tests
