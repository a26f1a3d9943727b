#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/sha256.hpp"
#include <wick/batch/batch.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/sampling/bucket.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/weighted.hpp>

namespace wick_test::bucket_tests {

using wick_test::contains;
using wick_test::message_of;

namespace {

/// Lengths as texts have them: many short ones, few long ones.
std::vector<std::uint32_t> lengths(std::size_t n, std::uint64_t seed = 1) {
  wick::random_stream r(seed, 0, 0, 0);
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double normal =
        std::sqrt(-2 * std::log(1 - r.uniform())) * std::cos(6.283185307179586 * r.uniform());
    out.push_back(static_cast<std::uint32_t>(std::clamp(std::exp(4 + 0.8 * normal), 1.0, 1000.0)));
  }
  return out;
}

/// Sample i is its number, as often as its length says.
struct texts {
  std::vector<std::uint32_t> lengths_;
  std::uint64_t size() const { return lengths_.size(); }
  wick::sample<std::uint32_t> at(std::uint64_t i) const {
    return {lengths_[i], static_cast<std::int64_t>(i)};
  }
  std::uint32_t length(std::uint64_t i) const { return lengths_[i]; }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(i); }
};
wick::sample<std::vector<std::int32_t>> tokenize(wick::sample<std::uint32_t> s, wick::context& c) {
  std::vector<std::int32_t> out(s.data, static_cast<std::int32_t>(s.target));
  if (!out.empty()) out[0] += static_cast<std::int32_t>(c.random().below(2)) << 24;
  return {std::move(out), s.target};
}

struct seen {
  std::vector<std::int64_t> targets;
  std::vector<std::vector<std::int32_t>> rows;
  std::int64_t width = 0;
};
template <class Loader>
std::vector<seen> epoch_of(Loader& l, std::uint64_t epoch) {
  std::vector<seen> out;
  for (auto& b : l.epoch(epoch)) {
    seen one;
    const std::int64_t n = b.target.extents()[0];
    one.width = b.data.values.extents()[1];
    for (std::int64_t i = 0; i < n; ++i) {
      one.targets.push_back(b.target.template as<std::int64_t>()[i]);
      const auto* row = b.data.values.template as<std::int32_t>() + i * one.width;
      one.rows.emplace_back(row, row + b.data.lengths.template as<std::int64_t>()[i]);
    }
    out.push_back(std::move(one));
  }
  return out;
}
const auto ragged = [](std::size_t n) { return wick::array_batch(n, {.ragged = wick::pad_with(0)}); };

double padding_of(const std::vector<seen>& epoch) {
  double real = 0, all = 0;
  for (const seen& b : epoch) {
    for (const auto& r : b.rows) real += static_cast<double>(r.size());
    all += static_cast<double>(b.width) * static_cast<double>(b.rows.size());
  }
  return 1 - real / all;
}

}  // namespace

TEST_CASE("buckets: each sample comes once an epoch, in batches of like length, others each epoch") {
  const auto all = lengths(5003);
  wick::loader plain(texts{all} | wick::shuffle() | tokenize | ragged(32), {.workers = 2});
  wick::loader l(texts{all} | wick::shuffle() | wick::bucket() | tokenize | ragged(32), {.workers = 2});
  CHECK(l.batches() == 157);
  CHECK(l.samples() == 5003);
  std::set<std::vector<std::int64_t>> batches;
  std::vector<std::int64_t> firsts;
  for (std::uint64_t e = 0; e < 3; ++e) {
    std::vector<std::int64_t> targets;
    const auto epoch = epoch_of(l, e);
    CHECK(epoch.size() == 157);
    std::size_t full = 0;
    for (const seen& b : epoch) {
      full += b.targets.size() == 32 ? 1 : 0;
      targets.insert(targets.end(), b.targets.begin(), b.targets.end());
      std::vector<std::int64_t> sorted = b.targets;
      std::sort(sorted.begin(), sorted.end());
      batches.insert(std::move(sorted));
    }
    CHECK(full == 156);
    CHECK(padding_of(epoch) < 0.11);
    firsts.push_back(epoch.front().width);
    std::sort(targets.begin(), targets.end());
    std::vector<std::int64_t> wanted(5003);
    std::iota(wanted.begin(), wanted.end(), 0);
    CHECK(targets == wanted);
  }
  CHECK(batches.size() > 3 * 150);  // few come together twice
  CHECK(padding_of(epoch_of(plain, 0)) > 0.5);
}

TEST_CASE("buckets: a budget of tokens is not exceeded, and nearly used") {
  const auto all = lengths(8000);
  for (const std::uint64_t multiple : {1, 4}) {
    wick::loader l(texts{all} | wick::shuffle() | wick::bucket({.tokens = 4096, .multiple = multiple}) |
                       tokenize | ragged(256),
                   {.workers = 2});
    const std::uint64_t batches = l.batches();
    for (std::uint64_t e = 0; e < 2; ++e) {
      const auto epoch = epoch_of(l, e);
      CHECK(epoch.size() == batches);
      std::size_t odd = 0, samples = 0;
      double used = 0;
      for (const seen& b : epoch) {
        const auto n = static_cast<std::int64_t>(b.targets.size());
        CHECK(n <= 256);
        CHECK(n * b.width <= 4096);
        used += static_cast<double>(n * b.width) / 4096;
        odd += b.targets.size() % multiple != 0 ? 1 : 0;
        samples += b.targets.size();
      }
      CHECK(samples == 8000);
      CHECK(odd <= 1);
      CHECK(used / static_cast<double>(epoch.size()) > (multiple == 1 ? 0.85 : 0.75));
    }
  }
}

TEST_CASE("buckets: without shuffle() the longest come first, in the same order each epoch") {
  wick::loader l(texts{lengths(300)} | wick::bucket() | tokenize | ragged(7));
  const auto first = epoch_of(l, 0), second = epoch_of(l, 1);
  std::vector<std::size_t> sizes;
  for (std::size_t b = 0; b < first.size(); ++b) {
    CHECK(first[b].targets == second[b].targets);
    for (const auto& r : first[b].rows) sizes.push_back(r.size());
  }
  CHECK(sizes.size() == 300);
  CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
}

TEST_CASE("buckets: parts of a source, given lengths, groups, one class of all") {
  const auto all = lengths(1000);
  std::vector<wick::sample<std::uint32_t>> bare;
  for (std::size_t i = 0; i < all.size(); ++i) bare.push_back({all[i], static_cast<std::int64_t>(i)});
  wick::loader given(wick::from(bare) | wick::skip(100) | wick::take(500) | wick::repeat(2) |
                     wick::shuffle() | wick::shard(0, 1) | wick::bucket({.lengths = all}) | tokenize |
                     ragged(16));
  std::map<std::int64_t, int> times;
  double padding = 0;
  {
    const auto epoch = epoch_of(given, 4);
    padding = padding_of(epoch);
    for (const seen& b : epoch) {
      for (const std::int64_t t : b.targets) ++times[t];
    }
  }
  CHECK(padding < 0.12);
  CHECK(times.size() == 500);
  CHECK(times.begin()->first == 100);
  CHECK(std::all_of(times.begin(), times.end(), [](const auto& t) { return t.second == 2; }));

  wick::loader grouped(texts{std::vector<std::uint32_t>(50, 3)} | wick::shuffle() | wick::bucket() |
                       tokenize | wick::group(8));
  std::size_t samples = 0;
  for (auto& g : grouped.epoch(0)) samples += g.size();
  CHECK(samples == 50);
}

TEST_CASE("buckets: drop_last drops the batch that is short, of other samples each epoch") {
  wick::loader l(texts{lengths(1003)} | wick::shuffle() | wick::bucket() | tokenize |
                 wick::array_batch(8, {.drop_last = true, .ragged = wick::pad_with(0)}));
  CHECK(l.batches() == 125);
  std::set<std::int64_t> left_out;
  for (std::uint64_t e = 0; e < 4; ++e) {
    std::set<std::int64_t> there;
    for (const seen& b : epoch_of(l, e)) {
      CHECK(b.targets.size() == 8);
      there.insert(b.targets.begin(), b.targets.end());
    }
    CHECK(there.size() == 1000);
    for (std::int64_t i = 0; i < 1003; ++i) {
      if (there.count(i) == 0) left_out.insert(i);
    }
  }
  CHECK(left_out.size() > 4);
}

TEST_CASE(
    "buckets: the same bytes for any workers, prefetch and ranks, and through resumes onto other ranks") {
  const auto all = lengths(2500, 5);
  const auto rest = [](std::uint64_t rank, std::uint64_t world) {
    return wick::shuffle() | wick::bucket({.tokens = 4096}) | wick::shard(rank, world) | tokenize |
           ragged(64);
  };
  constexpr std::uint64_t epochs = 3;
  std::vector<std::vector<seen>> wanted;
  std::uint64_t batches = 0;
  {
    wick::loader l(texts{all} | rest(0, 1), {.seed = 9, .workers = 1});
    batches = l.batches();
    for (std::uint64_t e = 0; e < epochs; ++e) wanted.push_back(epoch_of(l, e));
  }
  CHECK(wanted[0].front().targets != wanted[1].front().targets);
  const auto digest = [](const std::vector<std::vector<seen>>& epochs_) {
    std::string bytes;
    for (const auto& e : epochs_) {
      for (const seen& b : e) {
        bytes += "batch";
        for (std::size_t i = 0; i < b.targets.size(); ++i) {
          bytes += std::to_string(b.targets[i]) + ":";
          for (const std::int32_t v : b.rows[i]) bytes += std::to_string(v) + ",";
        }
      }
    }
    return wick_test::sha256().add(bytes).hex();
  };
  const std::string want = digest(wanted);
  wick::random_stream random(77, 0, 0, 0);
  for (const std::size_t workers : {1, 4}) {
    for (const std::size_t prefetch : {1, 8}) {
      for (const std::uint64_t world : {1, 2, 4}) {
        // Each batch of an epoch is put together of the ranks'; at a random one all continue from one
        // rank's state.
        std::vector<std::vector<seen>> got(epochs);
        for (std::uint64_t e = 0; e < epochs; ++e) {
          got[e].resize(batches);
          const std::uint64_t stop = random.below(static_cast<std::uint32_t>(batches));
          std::vector<std::byte> state;
          for (std::uint64_t rank = 0; rank < world; ++rank) {
            wick::loader l(texts{all} | rest(rank, world),
                           {.seed = 9, .workers = workers, .prefetch = prefetch});
            auto range = l.epoch(e);
            for (std::uint64_t b = 0; b < stop; ++b) range.next();
            const auto s = l.state();
            state.assign(s.begin(), s.end());
          }
          CHECK(state.size() <= 4096);
          for (const std::uint64_t other : {world, 5 - world}) {
            if (other == 0 || other > 4) continue;
            std::vector<seen> part(batches);
            for (std::uint64_t rank = 0; rank < other; ++rank) {
              wick::loader l(texts{all} | rest(rank, other), {.seed = 9, .workers = workers});
              l.load_state(state);
              CHECK(l.current_epoch() == e);
              std::uint64_t b = stop;
              for (seen& s : epoch_of(l, e)) {
                part[b].targets.insert(part[b].targets.end(), s.targets.begin(), s.targets.end());
                for (auto& r : s.rows) part[b].rows.push_back(std::move(r));
                ++b;
              }
              CHECK(b == batches);
            }
            for (std::uint64_t b = stop; b < batches; ++b) CHECK(part[b].targets == wanted[e][b].targets);
          }
          for (std::uint64_t rank = 0; rank < world; ++rank) {
            wick::loader l(texts{all} | rest(rank, world),
                           {.seed = 9, .workers = workers, .prefetch = prefetch});
            std::uint64_t b = 0;
            for (seen& s : epoch_of(l, e)) {
              got[e][b].targets.insert(got[e][b].targets.end(), s.targets.begin(), s.targets.end());
              for (auto& r : s.rows) got[e][b].rows.push_back(std::move(r));
              ++b;
            }
          }
        }
        CHECK(digest(got) == want);
      }
    }
  }
}

TEST_CASE("buckets: a failed sample is replaced by one of its bucket, or left out of its batch") {
  const auto all = lengths(600);
  const auto bad = [](wick::sample<std::uint32_t> s, wick::context& c) {
    if (s.target % 11 == 0) throw wick::error("bad");
    return tokenize(s, c);
  };
  for (const bool replace : {true, false}) {
    std::vector<std::vector<std::int64_t>> first;
    for (const std::size_t workers : {1, 4}) {
      wick::loader l(texts{all} | wick::shuffle() | wick::bucket({.tokens = 2000}) | bad | ragged(64),
                     {.workers = workers,
                      .on_error = replace ? wick::on_error(wick::on_error::replace)
                                          : wick::on_error(wick::on_error::skip)});
      std::vector<std::vector<std::int64_t>> got;
      std::size_t samples = 0;
      for (const seen& b : epoch_of(l, 0)) {
        CHECK(b.width * static_cast<std::int64_t>(b.targets.size()) <= 2000);
        samples += b.targets.size();
        got.push_back(b.targets);
      }
      CHECK(samples == (replace ? 600 : 545));
      if (workers == 1) first = got;
      CHECK(got == first);
    }
  }
}

TEST_CASE("buckets: what can't be is an error") {
  const texts some{{3, 9, 4}};
  const auto message = [](auto pipeline, wick::loader_options options = {}) {
    return message_of([&] {
      wick::loader l(std::move(pipeline), options);
      return 0;
    });
  };
  CHECK(message(some | wick::bucket({.tokens = 8}) | tokenize | ragged(4)) ==
        "text 1: bucket: it is 9 long, and a batch takes 8; make .tokens more, or cut such samples");
  CHECK(message(some | wick::bucket({.lengths = {1, 2}}) | tokenize | ragged(4)) ==
        "bucket: 2 lengths for a source of 3 samples; each needs one");
  CHECK(contains(message(wick::from(std::vector<std::vector<int>>{{1}, {2, 3}}) | wick::bucket() | ragged(2)),
                 "bucket: this source does not say how long its samples are"));
  struct miscounted {
    int size() const { return 2; }
    std::vector<int> at(std::uint64_t) const { return {1}; }
    std::int64_t length(std::uint64_t i) const { return i == 1 ? wrong : 1; }
    std::int64_t wrong;
  };
  for (const auto& [wrong, number] :
       {std::pair{std::int64_t{-1}, "-1"}, {std::int64_t{1} << 32, "4294967296"}}) {
    CHECK(message(miscounted{wrong} | wick::bucket() | ragged(2)) ==
          "sample 1: bucket: length(i) gives " + std::string(number) + "; lengths are from 0 to 4294967295");
  }
  CHECK(contains(message(some | wick::bucket() | tokenize |
                         wick::array_batch(2, {.pad_last = true, .ragged = wick::pad_with(0)})),
                 "pad_last with bucket() or pack()"));
  CHECK(contains(message(some | wick::repeat() | wick::bucket() | tokenize | ragged(2)),
                 "leave repeat() and mix_until::forever out"));
  CHECK(contains(message(some | wick::bucket({.tokens = 9}) | wick::shard(0, 2) | tokenize | ragged(4)),
                 "which can't be shared by 2 ranks"));
  CHECK(contains(message(some | wick::bucket() | tokenize |
                         wick::array_batch(8, {.drop_last = true, .ragged = wick::pad_with(0)})),
                 "3 samples make no full batch of 8"));
  CHECK(contains(message_of([] { return wick::bucket({.multiple = 0}).tokens(); }), "multiple of 0"));
  CHECK(contains(message_of([] { return wick::bucket({.tokens = 0}).tokens(); }), "leave .tokens out"));
  wick::loader l(some | wick::bucket() | tokenize | ragged(2));
  l.next();
  wick::loader other(some | wick::bucket({.tokens = 100}) | tokenize | ragged(2));
  CHECK(contains(message_of([&] {
                   other.load_state(l.state());
                   return 0;
                 }),
                 "bucket"));
}

}  // namespace wick_test::bucket_tests
