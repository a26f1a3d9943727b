/// pack() after orders that give other samples in each epoch: mix(), weighted(), and others.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packed_rows.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include <wick/batch/pack.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/sampling/block_shuffle.hpp>
#include <wick/sampling/mix.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/weighted.hpp>
#include <wick/sources/memory.hpp>
#include <wick/tools/measure_lengths.hpp>

namespace wick_test::pack_orders_tests {

using wick_test::contains;
using wick_test::message_of;
using wick_test::rows_of;

namespace {

/// Text i has the target `first` + i. Its values are its target, once for each place.
struct texts {
  std::int64_t first;
  std::vector<std::uint32_t> lengths;
  std::uint64_t size() const { return lengths.size(); }
  wick::sample<std::uint32_t> at(std::uint64_t i) const {
    return {lengths[i], first + static_cast<std::int64_t>(i)};
  }
  std::uint32_t length(std::uint64_t i) const { return lengths[i]; }
  std::string key(std::uint64_t i) const {
    return "text " + std::to_string(first + static_cast<std::int64_t>(i));
  }
};
texts some_texts(std::int64_t first, std::size_t n, std::uint32_t most) {
  wick::random_stream r(static_cast<std::uint64_t>(first), 0, 0, 0);
  texts out{first, {}};
  for (std::size_t i = 0; i < n; ++i) out.lengths.push_back(1 + r.below(most));
  return out;
}
wick::sample<std::vector<std::int64_t>> tokenize(const wick::sample<std::uint32_t>& s) {
  return {std::vector<std::int64_t>(s.data, s.target), s.target};
}

constexpr std::uint32_t row = 64;
const texts web = some_texts(1, 900, row), books = some_texts(10000, 250, row);

auto mixture(wick::mix_until until = wick::mix_until::first_exhausted) {
  return wick::mix(until, wick::weighted_source{web | wick::shuffle(), 3, "web"},
                   wick::weighted_source{books | wick::shuffle(), 1, "books"});
}

/// Each row of an epoch as text: values, segments, and positions.
struct packed_epoch {
  std::vector<std::vector<std::string>> rows;  // of each batch
  std::map<std::int64_t, int> times;           // of each target
  std::size_t values = 0, places = 0;
};
template <class Range>
packed_epoch read(Range&& range) {
  packed_epoch out;
  for (auto& b : range) {
    out.rows.push_back(rows_of(b));
    for (std::int64_t i = 0; i < b.values.target.extents()[0]; ++i)
      ++out.times[b.values.target.template as<std::int64_t>()[i]];
    const std::int64_t places = b.segments.extents()[0] * b.segments.extents()[1];
    out.places += static_cast<std::size_t>(places);
    for (std::int64_t i = 0; i < places; ++i)
      out.values += b.segments.template as<std::int32_t>()[i] != 0 ? 1 : 0;
  }
  return out;
}
/// What an order gives without pack().
template <class Pipeline>
std::map<std::int64_t, int> times_of(const Pipeline& order, std::uint64_t epoch) {
  wick::loader l(order | wick::array_batch(50), {.seed = 5});
  std::map<std::int64_t, int> out;
  for (auto& b : l.epoch(epoch))
    for (std::int64_t i = 0; i < b.target.extents()[0]; ++i) ++out[b.target.template as<std::int64_t>()[i]];
  return out;
}

/// The same samples as without pack(), few places empty, the same rows at any number of workers and ranks,
/// and from any batch on.
template <class Make>
void check_order(const Make& order) {
  const auto pipeline = [&](std::uint64_t rank, std::uint64_t ranks) {
    return order() | wick::shard(rank, ranks) | tokenize | wick::array_pack(4, row);
  };
  wick::loader l(pipeline(0, 1), {.seed = 5, .workers = 1});
  std::vector<packed_epoch> wanted;
  for (std::uint64_t e = 0; e < 3; ++e) {
    wanted.push_back(read(l.epoch(e)));
    const packed_epoch& now = wanted.back();
    CHECK(now.times == times_of(order(), e));
    CHECK(now.rows.size() == l.batches());
    CHECK(now.values > now.places * 95 / 100);
    for (std::size_t b = 0; b + 1 < now.rows.size(); ++b) CHECK(now.rows[b].size() == 4);
  }
  CHECK(wanted[0].rows != wanted[1].rows);
  for (const std::uint64_t ranks : {1, 2, 3}) {
    std::vector<std::vector<std::vector<std::string>>> together(wanted.size());
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      wick::loader part(pipeline(rank, ranks), {.seed = 5, .workers = 3, .prefetch = 3});
      for (std::uint64_t e = 0; e < wanted.size(); ++e) {
        const auto got = read(part.epoch(e)).rows;
        together[e].resize(got.size());
        for (std::size_t b = 0; b < got.size(); ++b)
          together[e][b].insert(together[e][b].end(), got[b].begin(), got[b].end());
      }
    }
    for (std::size_t e = 0; e < wanted.size(); ++e) CHECK(together[e] == wanted[e].rows);
  }
  for (const std::size_t stop : {std::size_t{0}, std::size_t{1}, wanted[1].rows.size() - 1}) {
    wick::loader first(pipeline(0, 1), {.seed = 5});
    auto range = first.epoch(1);
    for (std::size_t b = 0; b < stop; ++b) range.next();
    wick::loader second(pipeline(0, 1), {.seed = 5});
    second.load_state(first.state());
    auto rest = read(second.epoch(1)).rows;
    CHECK(rest ==
          std::vector(wanted[1].rows.begin() + static_cast<std::ptrdiff_t>(stop), wanted[1].rows.end()));
    CHECK(read(second.epoch(2)).rows == wanted[2].rows);
  }
  wick::loader other(pipeline(0, 1), {.seed = 5});
  other.seek(2, 1);
  CHECK(rows_of(*other.next()) == wanted[2].rows[1]);
}

}  // namespace

TEST_CASE("rows of samples of one length have them in the order of the epoch") {
  const texts short_ones{1, std::vector<std::uint32_t>(60, 2)};
  const auto order = [&] { return wick::from(short_ones) | wick::shuffle() | wick::take(40); };
  const auto targets = [](auto& loader, std::uint64_t epoch, const auto& target_of) {
    std::vector<std::int64_t> out;
    for (auto& b : loader.epoch(epoch)) {
      const wick::array& t = target_of(b);
      out.insert(out.end(), t.template as<std::int64_t>(), t.template as<std::int64_t>() + t.extents()[0]);
    }
    return out;
  };
  wick::loader one_by_one(order() | wick::array_batch(1), {.seed = 5});
  wick::loader packed(order() | tokenize | wick::array_pack(3, 8), {.seed = 5});
  for (std::uint64_t e = 0; e < 3; ++e) {
    CHECK(targets(packed, e, [](auto& b) -> auto& { return b.values.target; }) ==
          targets(one_by_one, e, [](auto& b) -> auto& { return b.target; }));
  }
}

TEST_CASE("rows are packed from a mix, and are the same for any workers, ranks, and resumes") {
  SUBCASE("until the first is exhausted") {
    check_order([] { return mixture(); });
  }
  SUBCASE("until all are exhausted") {
    check_order([] { return mixture(wick::mix_until::all_exhausted); });
  }
  SUBCASE("shuffled as a whole") {
    check_order([] { return mixture() | wick::shuffle(); });
  }
  SUBCASE("repeated") {
    check_order([] { return mixture() | wick::repeat(2); });
  }
}

TEST_CASE("rows are packed from orders that give other samples in each epoch") {
  SUBCASE("a part of a shuffle") {
    check_order([] { return web | wick::shuffle() | wick::take(400); });
  }
  SUBCASE("blocks") {
    check_order([] { return web | wick::block_shuffle(16, 4); });
  }
  SUBCASE("weights") {
    check_order([] { return web | wick::weighted(std::vector<double>(web.size(), 1), {.samples = 500}); });
  }
}

TEST_CASE("packed rows of a mix keep its shares from batch to batch") {
  wick::loader l(mixture() | tokenize | wick::array_pack(8, row), {.seed = 2});
  std::size_t from_books = 0, all = 0;
  for (auto& b : l.epoch(0)) {
    const std::int64_t n = b.values.target.extents()[0];
    for (std::int64_t i = 0; i < n; ++i) from_books += b.values.target.as<std::int64_t>()[i] >= 10000 ? 1 : 0;
    all += static_cast<std::size_t>(n);
    // The samples that wait for the next batch are 64 at most.
    CHECK(static_cast<double>(from_books) > 0.25 * static_cast<double>(all) - 40);
    CHECK(static_cast<double>(from_books) < 0.25 * static_cast<double>(all) + 40);
  }
  CHECK(all > 900);
}

TEST_CASE("the pieces of a long sample follow one another in the rows of a mix") {
  const texts longs{5, std::vector<std::uint32_t>(100, 25)}, shorts{1000, std::vector<std::uint32_t>(300, 3)};
  wick::loader l(wick::mix(wick::weighted_source{longs, 1}, wick::weighted_source{shorts, 3}) | tokenize |
                     wick::array_pack(4, 10, {.too_long = wick::too_long::split}),
                 {});
  std::map<std::int64_t, std::size_t> first, last, times;
  std::size_t batch = 0;
  for (auto& b : l.epoch(0)) {
    for (std::int64_t i = 0; i < b.values.target.extents()[0]; ++i) {
      const std::int64_t target = b.values.target.as<std::int64_t>()[i];
      first.try_emplace(target, batch);
      last[target] = batch;
      ++times[target];
    }
    ++batch;
  }
  for (const auto& [target, n] : times) CHECK(n == (target < 1000 ? 3u : 1u));
  for (const auto& [target, b] : first) CHECK(last[target] - b <= 64 / 4);
  CHECK(batch > 80);  // so that pieces at the end of the epoch would be far away
}

TEST_CASE("the weights of a packed mix change between epochs") {
  const auto pipeline = mixture() | tokenize | wick::array_pack(4, row);
  wick::loader l(pipeline, {.seed = 5});
  l.epoch(0).next();
  l.set_mix_weights({{"web", 1}, {"books", 0}});
  CHECK(read(l.epoch(0)).times == times_of(mixture(), 0));
  const packed_epoch changed = read(l.epoch(1));
  CHECK(changed.times.size() == web.size());
  CHECK(changed.times.rbegin()->first < 10000);
  CHECK(changed.rows.size() == l.batches());

  l.epoch(1).next();
  wick::loader again(pipeline, {.seed = 5});
  again.load_state(l.state());
  CHECK(read(again.epoch(1)).rows == std::vector(changed.rows.begin() + 1, changed.rows.end()));
  again.seek(1, 2);
  CHECK(rows_of(*again.next()) == changed.rows[2]);
}

namespace {

/// As texts, of which there may be more at the next refresh().
struct growing_texts {
  std::shared_ptr<texts> all;
  std::uint64_t size() const { return all->size(); }
  auto at(std::uint64_t i) const { return all->at(i); }
  std::uint32_t length(std::uint64_t i) const { return all->length(i); }
};

}  // namespace

TEST_CASE("rows are planned again when the sources of a mix have grown, and epochs follow one another") {
  const auto all = std::make_shared<texts>(some_texts(1, 50, row));
  const auto order = [&] {
    return wick::mix(wick::mix_until::all_exhausted, wick::weighted_source{growing_texts{all}, 1},
                     wick::weighted_source{books | wick::shuffle(), 5});
  };
  wick::loader l(order() | tokenize | wick::array_pack(4, row), {.seed = 5, .workers = 3});
  for (std::uint64_t e = 0; e < 2; ++e) {
    std::map<std::int64_t, int> times;
    for (auto& b : l)
      for (std::int64_t i = 0; i < b.values.target.extents()[0]; ++i)
        ++times[b.values.target.as<std::int64_t>()[i]];
    CHECK(times == times_of(order(), e));
  }
  all->lengths.resize(200, row / 2);
  l.refresh();
  for (const std::uint64_t e : {2, 0, 0, 7}) {
    const packed_epoch got = read(l.epoch(e));
    CHECK(got.times.count(200) == 1);
    CHECK(got.times == times_of(order(), e));
  }
}

TEST_CASE("packed rows of a mix: failures are padding, or are replaced by a sample of their length") {
  texts a{1, {}}, b{10000, {}};
  for (std::uint32_t i = 0; i < 400; ++i) (i % 2 == 0 ? a : b).lengths.push_back(4 + 4 * (i % 3));
  const auto pipeline = wick::mix(wick::weighted_source{a | wick::shuffle(), 1},
                                  wick::weighted_source{b | wick::shuffle(), 1}) |
                        [](const wick::sample<std::uint32_t>& s) {
                          if (s.target % 10 == 0) throw wick::error("damaged");
                          return tokenize(s);
                        } |
                        wick::array_pack(4, 32);
  for (const bool replace : {false, true}) {
    std::vector<std::vector<std::string>> wanted;
    for (const std::size_t workers : {1, 3}) {
      wick::loader l(pipeline, {.workers = workers,
                                .on_error = replace ? wick::on_error(wick::on_error::replace)
                                                    : wick::on_error(wick::on_error::skip)});
      const packed_epoch got = read(l.epoch(0));
      std::size_t samples = 0;
      for (const auto& [target, n] : got.times) {
        CHECK(target % 10 != 0);
        samples += static_cast<std::size_t>(n);
      }
      CHECK(samples == (replace ? 400 : 360));
      if (workers == 1) wanted = got.rows;
      CHECK(got.rows == wanted);
    }
  }
}

TEST_CASE("packed rows of a mix: lengths from .lengths, drop_last, and what makes no sense") {
  const auto plain = [](std::int64_t first) {
    std::vector<wick::sample<std::uint32_t>> all;
    for (std::uint32_t i = 0; i < 40; ++i) all.push_back({1 + i % 7, first + i});
    return wick::in_memory(std::move(all));
  };
  const auto both = [&](wick::mix_until until) {
    return wick::mix(until, wick::weighted_source{plain(1), 1}, wick::weighted_source{plain(100), 1});
  };
  const auto lengths = wick::measure_lengths(wick::from(wick::concat(plain(1), plain(100))) | tokenize);
  wick::loader l(both(wick::mix_until::first_exhausted) | tokenize |
                     wick::array_pack(3, 10, {.drop_last = true, .lengths = lengths}),
                 {});
  for (auto& b : l.epoch(0)) CHECK(b.segments.extents()[0] == 3);
  CHECK(contains(message_of([&] {
                   wick::loader(both(wick::mix_until::forever) | tokenize |
                                    wick::array_pack(3, 10, {.lengths = lengths}),
                                {});
                 }),
                 "leave repeat() and mix_until::forever out"));
  CHECK(contains(message_of([&] {
                   wick::loader(both(wick::mix_until::first_exhausted) | tokenize | wick::array_pack(3, 10),
                                {});
                 }),
                 "does not say how long its samples are"));
}

}  // namespace wick_test::pack_orders_tests
