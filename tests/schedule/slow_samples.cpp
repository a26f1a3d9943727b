// Samples that are known to take long are begun before their turn, and nothing else changes.
// WICK_ORDER_EFFORT=10 tries ten times as many random loaders.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/failure/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/order/order.hpp>
#include <wick/read/location.hpp>
#include <wick/read/record.hpp>
#include <wick/run/sleep.hpp>
#include <wick/sample/random.hpp>
#include <wick/schedule/detail/slow_samples.hpp>

using wick::detail::slow_samples;
using wick_test::cell;
using wick_test::eventually;
using wick_test::numbers;

namespace {

/// Of which one in `every` is a hundred times as long as the others, from `first` on.
struct uneven : numbers {
  std::uint64_t every = 20, first = 7;
  bool is_long(std::uint64_t i) const { return i % every == first; }
  std::uint64_t length(std::uint64_t i) const { return is_long(i) ? 1000 : 10; }
};

constexpr std::uint64_t long_ticks = 1'000'000'000;  // surely slow

/// As if the samples of a test took longer, for as long as this lives.
struct shorter_is_slow {
  wick::detail::slow_bounds before = slow_samples::bounds;
  shorter_is_slow() { slow_samples::bounds = {200'000, 1}; }
  ~shorter_is_slow() { slow_samples::bounds = before; }
};

/// What a sample does on its way.
struct conduct {
  std::uint64_t seed = 0;
  std::size_t reserve = 0;  // a long one ten times as much
  bool fails = false;       // one in 30, and one long in five
  std::uint64_t every = 20, first = 7;

  bool is_long(std::uint64_t i) const { return i % every == first; }
  bool is_bad(std::uint64_t i) const {
    const std::uint64_t drawn = wick::random_stream(seed, 0, i, 0).below(30);
    return fails && (drawn == 0 || (is_long(i) && drawn < 6));
  }
};

wick::task<cell> walk(cell c, wick::context& context, conduct how) {
  const auto i = static_cast<std::uint64_t>(c.target);
  if (how.reserve != 0) co_await context.reserve(how.is_long(i) ? 10 * how.reserve : how.reserve);
  co_await wick::sleep_for(std::chrono::microseconds(how.is_long(i) ? 500 : i % 7), context);
  if (how.reserve != 0 && how.is_long(i)) co_await context.reserve(how.reserve);
  if (how.is_bad(i)) throw std::runtime_error("bad");
  c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
  co_return c;
}
cell walk_at_once(cell c, wick::context& context, const conduct& how) {
  const auto i = static_cast<std::uint64_t>(c.target);
  if (how.is_bad(i)) throw std::runtime_error("bad");
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(how.is_long(i) ? 500 : 5);
  while (std::chrono::steady_clock::now() < until) {
  }
  c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
  return c;
}

/// Two epochs, left at `leave_at` of the second, resumed by another loader, and what is left of the second.
template <class Make>
std::vector<std::string> told(Make make, wick::loader_options options, std::size_t leave_at) {
  std::vector<std::string> out;
  const auto tell = [&](const wick_test::batches& all) {
    for (const auto& batch : all) {
      std::string line;
      for (const std::int64_t t : batch) line += std::to_string(t) + ' ';
      out.push_back(line);
    }
  };
  std::vector<std::byte> state;
  {
    auto l = make(options);
    tell(wick_test::targets_of(l, 0));
    out.push_back(std::to_string(l.fingerprint(0).value));
    l.epoch(1);
    tell(wick_test::rest_of(l, leave_at));
    state = l.state();
    for (const auto& e : l.ledger().entries()) out.push_back(e.key + " in " + e.stage);
  }
  auto l = make(options);
  l.load_state(state);
  tell(wick_test::rest_of(l));
  out.push_back(std::to_string(l.fingerprint(1).value));
  // Left once more, in the middle, for an epoch that was not foreseen.
  l.epoch(2);
  tell(wick_test::rest_of(l, leave_at));
  out.push_back(std::to_string(wick_test::bytes_of(l, 5)));
  for (const auto& e : l.ledger().entries()) out.push_back(e.key + " in " + e.stage);
  return out;
}

std::uint64_t effort() {
  const char* const e = std::getenv("WICK_ORDER_EFFORT");
  return e == nullptr ? 1 : std::strtoull(e, nullptr, 10);
}

/// A stage in which a sample waits until it is let go; notes which have come.
struct gate {
  std::vector<std::atomic<bool>> seen = std::vector<std::atomic<bool>>(1000);
  std::atomic<bool> open{false};

  static wick::task<cell> pass(cell c, wick::context& context, gate* of, bool waits) {
    of->seen[static_cast<std::size_t>(c.target)] = true;
    while (waits && !of->open && !context.stop().stop_requested())
      co_await wick::sleep_for(std::chrono::milliseconds(1), context);
    co_return c;
  }
};

}  // namespace

TEST_CASE(
    "a slow sample is begun while its batch's turn has not come, and a batch that has its turn is not held "
    "up") {
  for (const bool on : {true, false}) {
    CAPTURE(on);
    gate g;
    uneven source{{100}};
    wick::loader l(wick::from(source) |
                       [&](cell c, wick::context& context) {
                         const bool waits = source.is_long(static_cast<std::uint64_t>(c.target));
                         return gate::pass(c, context, &g, waits);
                       } |
                       wick::array_batch(5),
                   {.workers = 2, .prefetch = 3, .in_flight = 16, .begin_slow_early = on});
    l.epoch(0);
    // Batch 1 has the first, 7; batch 5, behind the window of three, has 27.
    REQUIRE(eventually([&] { return g.seen[14].load() && g.seen[7].load(); }));
    CHECK(l.next());
    if (on) {
      REQUIRE(eventually([&] { return g.seen[27].load(); }));
      CHECK_FALSE(g.seen[26]);
    } else {
      REQUIRE(eventually([&] { return g.seen[19].load(); }));
      CHECK_FALSE(g.seen[27]);
    }
    CHECK_FALSE(g.seen[47]);
    g.open = true;
    CHECK(wick_test::rest_of(l).size() == 19);
  }
}

TEST_CASE("slow samples that were begun early are at most half of those under way") {
  gate g;
  uneven source{{400}};
  source.every = 10;
  wick::loader l(wick::from(source) |
                     [&](cell c, wick::context& context) {
                       const bool waits =
                           source.is_long(static_cast<std::uint64_t>(c.target)) && c.target >= 40;
                       return gate::pass(c, context, &g, waits);
                     } |
                     wick::array_batch(5),
                 {.workers = 2, .prefetch = 8, .in_flight = 4});
  l.epoch(0);
  REQUIRE(eventually([&] { return g.seen[47].load() && g.seen[57].load(); }));
  for (int b = 0; b < 9; ++b) REQUIRE(l.next());  // would wait for ever if all four were slow ones
  g.open = true;
  CHECK(wick_test::rest_of(l).size() == 71);
}

TEST_CASE(
    "random loaders give the same with slow samples begun early and without, also resumed and with "
    "failures") {
  const shorter_is_slow bounds;
  for (std::uint64_t n = 0; n < 40 * effort(); ++n) {
    wick::random_stream draw(n, 1, 0, 0);
    conduct how{.seed = n, .fails = draw.below(2) == 0};
    if (draw.below(2) == 0) how.reserve = 1 + draw.below(100);
    uneven source{{100 + draw.below(200)}};
    const bool suspends = draw.below(3) != 0, long_batches = draw.below(2) == 0;
    const std::size_t batch = long_batches ? 16 + draw.below(16) : 1 + draw.below(8);
    wick::loader_options options{.seed = n, .workers = 1 + draw.below(4), .prefetch = 1 + draw.below(5)};
    options.memory = 100 + draw.below(3000);
    options.in_flight = draw.below(2) == 0 ? 0 : 1 + draw.below(12);
    options.prefetch_next_epoch = draw.below(4) != 0;
    options.content_fingerprint = true;
    options.on_error =
        draw.below(2) == 0 ? wick::on_error(wick::skip) : wick::on_error(wick::retry(2).then(wick::replace));
    const std::size_t leave_at = draw.below(10);
    CAPTURE(n);
    const auto both = [&](auto make) {
      options.begin_slow_early = false;
      const auto without = told(make, options, leave_at);
      options.begin_slow_early = true;
      const auto with = told(make, options, leave_at);
      REQUIRE(with == without);
    };
    if (suspends) {
      both([&](const wick::loader_options& o) {
        return wick::loader(
            source | wick::shuffle() | [how](cell c, wick::context& x) { return walk(c, x, how); } |
                wick::array_batch(batch),
            o);
      });
    } else {
      both([&](const wick::loader_options& o) {
        return wick::loader(
            source | wick::shuffle() | [how](cell c, wick::context& x) { return walk_at_once(c, x, how); } |
                wick::array_batch(batch),
            o);
      });
    }
  }
}

TEST_CASE("a slow sample that fails, begun early, fails its own batch and no other") {
  uneven source{{100}};
  wick::loader l(
      wick::from(source) | [&](cell c, wick::context& context) -> wick::task<cell> {
        co_await wick::sleep_for(std::chrono::microseconds(1), context);
        if (c.target == 47) throw std::runtime_error("bad");
        co_return c;
      } | wick::array_batch(5),
      {.workers = 2, .prefetch = 4});
  l.epoch(0);
  for (int b = 0; b < 9; ++b) REQUIRE(l.next());
  CHECK_THROWS(l.next());
  CHECK(wick_test::rest_of(l).size() == 10);
}

TEST_CASE("a loader is destroyed, or leaves its epoch, while slow samples that were begun early wait") {
  for (const bool leaves : {true, false}) {
    for (std::size_t workers = 1; workers <= 4; ++workers) {
      gate g;
      uneven source{{100}};
      wick::loader l(wick::from(source) |
                         [&](cell c, wick::context& context) {
                           return gate::pass(c, context, &g,
                                             source.is_long(static_cast<std::uint64_t>(c.target)));
                         } |
                         wick::array_batch(5),
                     {.workers = workers, .prefetch = 3});
      l.epoch(0);
      REQUIRE(l.next());
      REQUIRE(eventually([&] { return g.seen[27].load(); }));
      if (!leaves) continue;
      g.open = true;
      CHECK(wick_test::targets_of(l, 7).size() == 20);
    }
  }
}

TEST_CASE("early samples that hold memory don't stop the batches before them") {
  // Each long one takes all of the memory there is, and then asks for more.
  const shorter_is_slow bounds;
  uneven source{{300}};
  conduct how{.reserve = 10};
  wick::loader l(source | wick::shuffle() | [how](cell c, wick::context& x) { return walk(c, x, how); } |
                     wick::array_batch(3),
                 {.workers = 3, .prefetch = 2, .memory = 100, .in_flight = 12});
  CHECK(wick_test::targets_of(l, 0).size() == 100);
}

TEST_CASE("samples that took long are known, and forgotten when they no longer do") {
  slow_samples known;
  const numbers source{100};
  CHECK_FALSE(known.any());
  for (std::uint64_t i = 0; i < 50; ++i) known.learn(i, 100'000);
  CHECK_FALSE(known.any());
  known.learn(50, long_ticks);
  CHECK(known.any());
  CHECK(known.has(source, 50));
  CHECK_FALSE(known.has(source, 49));
  known.learn(50, 100'000);  // its turn came first: it may have been slow for another reason
  CHECK(known.has(source, 50));
  known.learn(50, 100'000, true);
  CHECK_FALSE(known.has(source, 50));
  known.learn(50, long_ticks);
  CHECK(known.has(source, 50));
  known.forget_all();
  CHECK_FALSE(known.has(source, 50));
  CHECK_FALSE(known.any());
}

TEST_CASE("where samples take a microsecond nobody asks which are slow") {
  slow_samples known;
  known.learn(0, 2'000);
  known.learn(1, long_ticks);
  for (std::uint64_t i = 2; i < 100; ++i) known.learn(i, 2'000);
  CHECK_FALSE(known.any());
}

TEST_CASE("as many slow samples as there may be are no endless search") {
  slow_samples known;
  const numbers source{1};
  known.learn(0, 100'000);
  for (std::uint64_t i = 1; i < 100'000; ++i) {
    known.learn(i, long_ticks);
    for (int n = 0; n < 3; ++n) known.learn(0, 1'000);
  }
  CHECK(known.has(source, 1));
  CHECK_FALSE(known.has(source, 99'999));
}

TEST_CASE("a sample that is much longer than the others is slow, unless most are, or it was not") {
  slow_samples known;
  const uneven one_in_twenty{{200}};
  known.look_at(one_in_twenty);
  CHECK(known.any());
  CHECK(known.has(one_in_twenty, 27));
  CHECK_FALSE(known.has(one_in_twenty, 28));
  // So short that even a hundred times as much is nothing.
  known.learn(0, 20'000);
  CHECK_FALSE(known.has(one_in_twenty, 27));
  for (int n = 0; n < 100; ++n) known.learn(0, 1'000'000);
  CHECK(known.has(one_in_twenty, 27));
  known.learn(27, 1'000'000, true);
  CHECK_FALSE(known.has(one_in_twenty, 27));
  CHECK(known.has(one_in_twenty, 47));

  slow_samples others;
  uneven half{{200}};
  half.every = 4, half.first = 1;
  others.look_at(half);
  CHECK_FALSE(others.has(half, 1));
  others.look_at(numbers{200});
  CHECK_FALSE(others.any());
}

TEST_CASE("locations say how many bytes are to be read, where they know it") {
  struct shards {
    std::uint64_t size() const { return 2; }
    wick::sample<wick::location> at(std::uint64_t i) const {
      wick::location l;
      if (i == 1) l.length = 77;
      return {l, 0};
    }
  };
  static_assert(wick::detail::knows_lengths<shards>);
  static_assert(!wick::detail::knows_lengths<numbers>);
  CHECK(wick::detail::known_length(shards{}, 0) == 0);
  CHECK(wick::detail::known_length(shards{}, 1) == 77);
  wick::record<wick::location> r;
  CHECK(wick::detail::bytes_to_read<wick::record<wick::location>>::of(r) == 0);
}
