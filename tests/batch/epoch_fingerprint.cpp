#include <cstdint>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::epoch_fingerprint_tests {

using wick::epoch_fingerprint;
using wick_test::bytes_of;
using wick_test::cell;
using wick_test::numbers;

namespace {

wick::task<cell> hop(cell c, wick::context& context) {
  if (context.random().bernoulli(0.5)) co_await context.on()->schedule();
  co_return c;
}
cell noise(cell c, wick::context& context) {
  c.data[3] = static_cast<std::uint8_t>(context.random().below(256));
  return c;
}

/// Positions as a list.
struct ordered {
  static constexpr wick::ext::stage_traits traits{.name = "ordered", .kind = wick::ext::stage_kind::order};
  std::vector<std::uint64_t> to;
  std::uint64_t size(std::uint64_t n) const { return n; }
  struct map {
    std::vector<std::uint64_t> to;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return to[p]; }
  };
  map prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const { return {to}; }
};

/// Of an epoch that was delivered whole.
template <class Pipeline>
epoch_fingerprint of(Pipeline p, std::uint64_t epoch = 0,
                     wick::loader_options o = {.seed = 3, .workers = 2}) {
  wick::loader l(std::move(p), o);
  for ([[maybe_unused]] auto& b : l.epoch(epoch)) {
  }
  return l.fingerprint(epoch);
}
auto plain(std::uint64_t size = 500, std::int64_t batch = 32) {
  return numbers{size} | wick::shuffle() | wick::array_batch(batch);
}

}  // namespace

TEST_CASE(
    "a fingerprint is the same at any number of workers and any prefetch, in pipelines that suspend and that "
    "don't") {
  const epoch_fingerprint one = of(plain());
  CHECK(one.samples == 500);
  CHECK(one.batches == 16);
  for (const std::size_t workers : {1, 2, 4}) {
    for (const std::size_t prefetch : {1, 3}) {
      CHECK(of(plain(), 0, {.seed = 3, .workers = workers, .prefetch = prefetch}) == one);
      CHECK(of(numbers{500} | wick::shuffle() | hop | wick::array_batch(32), 0,
               {.seed = 3, .workers = workers, .prefetch = prefetch}) == one);
    }
  }
}

TEST_CASE("another order, epoch, data set, size, batch or shape has another fingerprint") {
  struct others : numbers {
    std::uint64_t fingerprint() const { return 1; }
  };
  const auto shaped = [](auto made) {
    return numbers{500} | wick::shuffle() | wick::map("made", made) | wick::array_batch(32);
  };
  std::set<std::uint64_t> all;
  std::size_t n = 0;
  const auto add = [&](const epoch_fingerprint& f) {
    all.insert(f.value);
    ++n;
  };
  add(of(plain()));
  add(of(plain(), 1));
  add(of(plain(), 0, {.seed = 4, .workers = 2}));
  add(of(plain(499)));
  add(of(plain(500, 16)));
  add(of(numbers{500} | wick::array_batch(32)));
  add(of(numbers{500} | wick::shuffle_once(1) | wick::array_batch(32)));
  add(of(others{{500}} | wick::shuffle() | wick::array_batch(32)));
  add(of(shaped([](cell c) { return wick::sample<std::array<std::uint8_t, 9>>{{}, c.target}; })));
  add(of(shaped([](cell c) { return wick::sample<std::array<std::int8_t, 8>>{{}, c.target}; })));
  CHECK(all.size() == n);
}

TEST_CASE("two samples that change places change the fingerprint") {
  std::vector<std::uint64_t> order(100);
  for (std::uint64_t i = 0; i < 100; ++i) order[i] = i;
  const auto print = [&] { return of(wick::from(numbers{100}) | ordered{order} | wick::array_batch(10)); };
  const epoch_fingerprint before = print();
  for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>{0, 1}, {3, 97}, {50, 59}}) {
    std::swap(order[a], order[b]);
    CHECK(!(print() == before));
    std::swap(order[a], order[b]);
  }
  CHECK(print() == before);

  // Without batch(), also at the same place of two groups of those that the loader plans at a time.
  const auto single = [&] {
    return of(wick::from(numbers{100}) | ordered{order} | wick::map([](cell c) { return c; }));
  };
  const epoch_fingerprint one_by_one = single();
  for (std::size_t other = 1; other < 100; ++other) {
    std::swap(order[0], order[other]);
    CHECK(!(single() == one_by_one));
    std::swap(order[0], order[other]);
  }
  CHECK(single() == one_by_one);
}

TEST_CASE("which samples were left out, or drawn for others, is in the fingerprint") {
  const auto print = [](auto batched, std::int64_t bad, wick::on_error policy) {
    return of(numbers{100} |
                  wick::map("check",
                            [bad](cell c) {
                              if (c.target == bad) throw std::runtime_error("bad");
                              return c;
                            }) |
                  batched,
              0, {.seed = 3, .workers = 2, .on_error = policy});
  };
  const auto identity = wick::map("as it is", [](cell c) { return c; });
  std::set<std::uint64_t> all;
  for (const std::int64_t bad : {40, 41}) {
    for (const auto& policy :
         {wick::on_error(wick::on_error::skip), wick::on_error(wick::on_error::replace)}) {
      const std::uint64_t left = policy.ever(wick::error_action::skip) ? 99 : 100;
      const epoch_fingerprint batched = print(wick::array_batch(10), bad, policy),
                              single = print(identity, bad, policy);
      CHECK(batched.samples == left);
      CHECK(single.samples == left);
      all.insert(batched.value);
      all.insert(single.value);
    }
  }
  CHECK(all.size() == 8);
}

TEST_CASE("the ranks' fingerprints add up to that of one rank") {
  for (const bool content : {false, true}) {
    const auto make = [](std::uint64_t rank, std::uint64_t world) {
      return numbers{700} | wick::shuffle() | wick::shard(rank, world) | noise | wick::array_batch(48);
    };
    const epoch_fingerprint whole =
        of(make(0, 1), 2, {.seed = 5, .workers = 2, .content_fingerprint = content});
    for (const std::uint64_t world : {2, 3, 5}) {
      epoch_fingerprint sum;
      for (std::uint64_t r = 0; r < world; ++r) {
        sum += of(make(r, world), 2, {.seed = 5, .workers = 1, .content_fingerprint = content});
      }
      CHECK(sum == whole);
    }
  }
}

TEST_CASE("the parts of an epoch that was stopped and resumed add up to the whole") {
  wick::loader whole(plain(), {.seed = 3, .workers = 2});
  for ([[maybe_unused]] auto& b : whole.epoch(1)) {
  }
  wick::loader first(plain(), {.seed = 3, .workers = 2}), second(plain(), {.seed = 3, .workers = 1});
  first.epoch(1);
  for (int i = 0; i < 5; ++i) REQUIRE(first.next());
  second.load_state(first.state());
  while (second.next()) {
  }
  CHECK(first.fingerprint(1) + second.fingerprint(1) == whole.fingerprint(1));
  CHECK(second.fingerprint(1).batches == 11);
  // Begun again, it is counted again; an epoch that was never begun is zero.
  for ([[maybe_unused]] auto& b : first.epoch(1)) {
  }
  CHECK(first.fingerprint(1) == whole.fingerprint(1));
  CHECK(first.fingerprint(0) == epoch_fingerprint{});
}

TEST_CASE(
    "the bytes are in it when that was asked for: of numbers, structs and strings, one bit of one sample") {
  const auto flipped = [](bool flip) {
    return numbers{200} | wick::shuffle() |
           wick::map("flip",
                     [flip](cell c) {
                       if (flip && c.target == 77) c.data[7] ^= 0x10;
                       return c;
                     }) |
           wick::array_batch(10);
  };
  const auto named = [](bool flip) {
    return numbers{200} | wick::shuffle() |
           wick::map("name",
                     [flip](cell c) {
                       return std::pair<std::string, std::int64_t>(flip && c.target == 77 ? "x" : "a name",
                                                                   c.target);
                     }) |
           wick::array_batch(10);
  };
  const wick::loader_options with{.seed = 1, .workers = 2, .content_fingerprint = true},
      without{.seed = 1, .workers = 2};
  CHECK(of(flipped(false), 0, without) == of(flipped(true), 0, without));
  CHECK(!(of(flipped(false), 0, with) == of(flipped(true), 0, with)));
  CHECK(of(flipped(true), 0, with) ==
        of(flipped(true), 0, {.seed = 1, .workers = 1, .content_fingerprint = true}));
  CHECK(!(of(named(false), 0, with) == of(named(true), 0, with)));
  CHECK(of(named(false), 0, without) == of(named(true), 0, without));
}

TEST_CASE("without batch() positions are counted as they are handed over") {
  const auto make = [](std::uint64_t rank, std::uint64_t world) {
    return numbers{100} | wick::shuffle() | wick::shard(rank, world) | hop;
  };
  const epoch_fingerprint whole = of(make(0, 1));
  CHECK(whole.samples == 100);
  wick::loader l(make(0, 1), {.seed = 3, .workers = 2});
  l.epoch(0);
  for (int i = 0; i < 21; ++i) REQUIRE(l.next());
  CHECK(l.fingerprint(0).samples == 21);
  wick::loader rest(make(0, 1), {.seed = 3, .workers = 2});
  rest.load_state(l.state());
  while (rest.next()) {
  }
  CHECK(l.fingerprint(0) + rest.fingerprint(0) == whole);
}

TEST_CASE("content hashes tell lengths, seeds, any byte and any swap of words apart") {
  std::set<std::uint64_t> seen;
  std::size_t n = 0;
  std::vector<std::byte> bytes(200, std::byte{0});
  const auto add = [&](std::size_t size, std::uint64_t seed) {
    seen.insert(wick::detail::content_of(bytes.data(), size, seed));
    ++n;
  };
  for (std::size_t size = 0; size <= 200; ++size) add(size, 1);
  for (std::uint64_t seed = 2; seed < 50; ++seed) add(200, seed);
  for (std::size_t i = 0; i < 200; ++i) {
    bytes[i] = std::byte{1};
    add(200, 1);
    bytes[i] = std::byte{0};
  }
  CHECK(seen.size() == n);
  for (std::size_t i = 0; i < 200; ++i) bytes[i] = static_cast<std::byte>(i * 37);
  seen.clear();
  for (std::size_t a = 0; a + 8 <= 200; a += 8) {
    for (std::size_t b = a + 8; b + 8 <= 200; b += 8) {
      std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                       bytes.begin() + static_cast<std::ptrdiff_t>(a + 8),
                       bytes.begin() + static_cast<std::ptrdiff_t>(b));
      seen.insert(wick::detail::content_of(bytes.data(), 200, 1));
      std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a),
                       bytes.begin() + static_cast<std::ptrdiff_t>(a + 8),
                       bytes.begin() + static_cast<std::ptrdiff_t>(b));
    }
  }
  CHECK(seen.size() == 25 * 24 / 2);
}

TEST_CASE("the hashes are the same in every release") {
  CHECK(wick::detail::print_of(1, 2) == 17835814974728543209u);
  const std::string text = "wick feeds a torch, and this is longer than thirty-two bytes";
  CHECK(wick::detail::content_of(reinterpret_cast<const std::byte*>(text.data()), text.size(), 7) ==
        7265985958743203613u);
}

}  // namespace wick_test::epoch_fingerprint_tests
