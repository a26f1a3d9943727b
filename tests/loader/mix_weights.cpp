// loader.set_mix_weights(): weights of a mix() that change between epochs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loader/elastic.hpp"
#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::mix_weights_tests {

using wick::mix_until;
using wick::source_weight;
using wick::weighted_source;
using wick::detail::loader_state;

namespace {

/// Numbers from `first` on, so that a number says which source it is from.
struct from_number : numbers {
  std::uint64_t first = 0;
  from_number(std::uint64_t n, std::uint64_t begin) : numbers{n}, first(begin) {}
  cell at(std::uint64_t i) const { return numbers::at(first + i); }
};

cell draw(cell c, wick::context& context) {
  c.target = c.target * 1000 + static_cast<std::int64_t>(context.random().below(1000));
  return c;
}

auto three(mix_until until = mix_until::all_exhausted) {
  return wick::mix(until, weighted_source{from_number(200, 0) | wick::shuffle(), 1, "web"},
                   weighted_source{from_number(150, 1000) | wick::shuffle(), 1, "books"},
                   weighted_source{from_number(60, 2000), 0, "code"});
}
auto pipeline(std::uint64_t rank = 0, std::uint64_t world = 1) {
  return three() | wick::shard(rank, world) | wick::map("draw", draw) | wick::array_batch(12);
}
using loader = decltype(wick::loader(pipeline()));

/// Which weights change in which epoch, for the ones after it.
const std::vector<std::pair<std::uint64_t, std::vector<source_weight>>> plan = {
    {0, {{"web", 3}}}, {1, {{"code", 2}, {"books", 0}}}, {3, {{"books", 1}, {"code", 0.25}}}};
constexpr std::uint64_t epochs = 5;

/// Batches of all ranks together; weights change after `at` batches of their epoch.
struct training {
  std::vector<std::unique_ptr<loader>> ranks;
  training(std::uint64_t world, std::size_t workers) {
    for (std::uint64_t r = 0; r < world; ++r)
      ranks.push_back(
          std::make_unique<loader>(pipeline(r, world), wick::loader_options{.seed = 5, .workers = workers}));
  }
  /// Up to `most` batches.
  void take(batches& out, std::size_t most, std::size_t at) {
    for (std::uint64_t epoch = ranks[0]->current_epoch(); epoch < epochs; ++epoch) {
      for (auto& l : ranks) l->epoch(epoch);
      for (std::size_t number = 0;; ++number) {
        for (const auto& [in, weights] : plan) {
          if (in != epoch || number != at) continue;
          for (auto& l : ranks) l->set_mix_weights(weights);
        }
        if (most == 0) return;
        std::vector<std::int64_t> whole;
        bool end = false;
        for (auto& l : ranks) {
          const auto b = l->next();
          end = !b;
          if (!b) continue;
          const std::int64_t* const t = b->target.as<std::int64_t>();
          whole.insert(whole.end(), t, t + b->target.extents()[0]);
        }
        if (end) break;
        --most;
        out.push_back(std::move(whole));
      }
    }
  }
};

const batches& undisturbed() {
  static const batches all = [] {
    batches out;
    training(1, 1).take(out, ~std::size_t{0}, 0);
    return out;
  }();
  return all;
}

std::map<std::int64_t, int> times_of(const batches& of) {
  std::map<std::int64_t, int> out;
  for (const auto& batch : of) {
    for (const std::int64_t n : batch) ++out[n / 1000];
  }
  return out;
}

}  // namespace

TEST_CASE("weights hold from the next epoch on, and the epoch under way keeps its own") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 1, .workers = 2});
  wick::loader plain(three() | wick::array_batch(10), {.seed = 1, .workers = 2});
  const batches before = targets_of(plain, 0);
  CHECK(l.mixture() == std::vector<source_weight>{{"web", 1}, {"books", 1}, {"code", 0}});
  l.epoch(0);
  batches got = rest_of(l, 6);
  l.set_mix_weights({{"web", 0.5}, {"code", 1}, {"books", 0}});
  CHECK(l.mixture() == std::vector<source_weight>{{"web", 1}, {"books", 1}, {"code", 0}});
  for (auto& b : rest_of(l)) got.push_back(std::move(b));
  CHECK(got == before);
  CHECK(l.mixture() == std::vector<source_weight>{{"web", 0.5}, {"books", 0}, {"code", 1}});
  const batches after = targets_of(l, 1);
  CHECK(l.batches() == after.size());
  auto times = times_of(after);
  CHECK(times[0] == 200);  // all of the web
  CHECK(times[1] == 0);
  CHECK(std::abs(times[2] - 400) <= 1);
  CHECK(targets_of(l, 0) == before);  // again, with its own
  CHECK(targets_of(l, 2).size() == after.size());
}

TEST_CASE("weights that are set before the first epoch hold in all") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 1, .workers = 2});
  wick::loader other(
      wick::mix(mix_until::all_exhausted, weighted_source{from_number(200, 0) | wick::shuffle(), 2, "web"},
                weighted_source{from_number(150, 1000) | wick::shuffle(), 1, "books"},
                weighted_source{from_number(60, 2000), 0, "code"}) |
          wick::array_batch(10),
      {.seed = 1, .workers = 2});
  l.set_mix_weights({{"web", 2}});
  for (const std::uint64_t epoch : {0, 1, 4}) CHECK(targets_of(l, epoch) == targets_of(other, epoch));
}

TEST_CASE("a training whose weights change gives the same batches at any worker and rank count") {
  const batches& expected = undisturbed();
  REQUIRE(expected.size() > 100);
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t world : {1, 2, 4}) {
      for (const std::size_t at : {0, 1, 9}) {
        if (at == 9 && workers == 1) continue;
        batches got;
        training(world, workers).take(got, ~std::size_t{0}, at);
        CHECK(got == expected);
      }
    }
  }
}

TEST_CASE("stopped anywhere and resumed on other ranks, it continues as it was: a state has the weights") {
  const batches& expected = undisturbed();
  std::uint64_t random = 1;
  for (int round = 0; round < 8; ++round) {
    batches got;
    std::vector<std::byte> state;
    std::size_t at = 0;  // batches before the state
    for (int attempt = 0; attempt < 1000 && got.size() < expected.size(); ++attempt) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      training t(std::uint64_t{1} << ((random >> 40) % 3), 1 + (random >> 50) % 4);
      got.resize(at);  // the batches after the last checkpoint are made again
      if (!state.empty()) {
        for (auto& l : t.ranks) l->load_state(state);
      }
      t.take(got, (random >> 33) % 53, 0);
      if (((random >> 20) & 1) != 0 || got.size() == expected.size()) {
        at = got.size();
        state = t.ranks.back()->state();
        for (auto& l : t.ranks) CHECK(l->state() == state);
        CHECK(state.size() <= loader_state::max_bytes);
      }
    }
    CHECK(got == expected);
  }
}

TEST_CASE("a state brings its weights, also those of no change, and a refused one leaves the loader's") {
  const auto make = [](std::int64_t batch = 10) {
    return wick::loader(three() | wick::array_batch(batch), {.seed = 1, .workers = 2});
  };
  auto changed = make(), plain = make(), other = make(12);
  const batches first = targets_of(plain, 0), second = targets_of(plain, 1);
  changed.epoch(0);
  REQUIRE(changed.next());
  changed.set_mix_weights({{"code", 1}});
  const auto with = changed.state();
  plain.epoch(0);
  REQUIRE(plain.next());
  const auto without = plain.state();

  plain.load_state(with);
  CHECK(targets_of(plain, 0) == batches(first.begin() + 1, first.end()));
  CHECK(plain.mixture()[2].weight == 1);
  CHECK(targets_of(plain, 1) != second);
  changed.load_state(without);
  CHECK(targets_of(changed, 0) == batches(first.begin() + 1, first.end()));
  CHECK(targets_of(changed, 1) == second);

  other.set_mix_weights({{"web", 7}});
  CHECK(contains(message_of([&] { return other.load_state(with), 0; }), "another global batch"));
  CHECK(other.mixture()[0].weight == 7);
  loader_state torn = loader_state::from_bytes(with);
  torn.weights.after.pop_back();
  torn.weights.before.pop_back();
  CHECK(contains(message_of([&] { return changed.load_state(torn.to_bytes()), 0; }),
                 "weights of 2 sources, and this loader mixes 3"));
  loader_state late = loader_state::from_bytes(with);
  late.batch = 1'000'000;
  CHECK(contains(message_of([&] { return changed.load_state(late.to_bytes()), 0; }), "is at batch 1000000"));
  CHECK(changed.mixture()[2].weight == 0);
  CHECK(targets_of(changed, 1) == second);
}

TEST_CASE("a seek goes by the weights of its epoch") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 1, .workers = 2});
  const batches before = targets_of(l, 0);
  l.set_mix_weights({{"code", 3}, {"web", 0}});
  const batches after = targets_of(l, 1);
  REQUIRE(after.size() > 12);
  l.seek(0, 3);
  CHECK(rest_of(l) == batches(before.begin() + 3, before.end()));
  l.seek(1, 12);
  CHECK(rest_of(l) == batches(after.begin() + 12, after.end()));
  l.seek(1, 12);
  l.set_mix_weights({{"web", 1}});  // from epoch 2 on
  CHECK(rest_of(l) == batches(after.begin() + 12, after.end()));
  CHECK(times_of(targets_of(l, 2))[0] == 200);
}

TEST_CASE("an epoch ends where its weights have it end") {
  const auto length = [](mix_until until, const std::vector<source_weight>& to) {
    wick::loader l(three(until) | wick::array_batch(10), {.workers = 2});
    l.set_mix_weights(to);
    std::size_t n = 0;
    l.epoch(0);
    while (l.next()) ++n;
    CHECK(l.batches() == n);
    return l.samples();
  };
  CHECK(length(mix_until::all_exhausted, {{"books", 0}}) == 200);
  CHECK(length(mix_until::first_exhausted, {{"books", 0}}) == 200);
  CHECK(length(mix_until::first_exhausted, {{"web", 0}}) == 150);
  CHECK(length(mix_until::first_exhausted, {{"web", 0}, {"books", 0}, {"code", 1}}) == 60);
  // All of web in 200 turns, with as many of code, which starts over: as evenly as can be.
  const std::uint64_t both = length(mix_until::all_exhausted, {{"books", 0}, {"code", 1}});
  CHECK(both >= 398);
  CHECK(both <= 401);
}

TEST_CASE("weights stay where the sources' sizes change") {
  const elastic a(60), b(60);
  wick::loader l(
      wick::mix(mix_until::first_exhausted, weighted_source{a, 1, "a"}, weighted_source{b, 1, "b"}) |
          wick::array_batch(4),
      {.workers = 2});
  CHECK(targets_of(l, 0).size() == 30);
  l.set_mix_weights({{"b", 0}});
  *a.now = 20;
  *b.now = 10;
  l.refresh();
  CHECK(targets_of(l, 1).size() == 5);
  CHECK(l.mixture()[1].weight == 0);
}

TEST_CASE("the next epoch begins ahead of time where its weights are those of this one") {
  const numbers a{50};
  wick::loader l(
      wick::mix(weighted_source{a, 1, "a"}, weighted_source{numbers{50}, 1, "b"}) | wick::array_batch(10),
      {.workers = 1, .prefetch = 4});
  l.set_mix_weights({{"b", 3}});
  CHECK(targets_of(l, 0).size() == 7);
  const std::uint64_t of_epoch = 17;  // of its 66 samples
  CHECK(eventually([&] { return *a.asked > of_epoch; }));
  targets_of(l, 1);
  l.set_mix_weights({{"b", 1}});  // from epoch 2 on, of which some samples were made
  CHECK(targets_of(l, 2).size() == 10);
}

TEST_CASE("weights that make no sense are refused, and change nothing") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  wick::loader same(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  const auto refused = [&](const std::vector<source_weight>& to) {
    return message_of([&] { l.set_mix_weights(to); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  l.epoch(0);
  batches got = rest_of(l, 5);
  CHECK(contains(refused({{"films", 1}}), "no source of the mix is called films", "web, books, code",
                 "is in the mix from the beginning, with weight 0"));
  CHECK(contains(refused({{"web", nan}}), "a weight of nan for web", "finite and not below 0"));
  CHECK(contains(refused({{"web", infinite}}), "a weight of inf for web", "finite"));
  CHECK(contains(refused({{"web", 1e308}, {"books", 1e308}}), "the sum finite"));
  CHECK(contains(refused({{"web", -0.5}}), "not below 0"));
  CHECK(contains(refused({{"web", 0}, {"books", 0}}), "one at least must be above 0"));
  CHECK(contains(refused({{"web", 1}, {"web", 2}}), "web has two weights; give it one"));
  CHECK(contains(refused({}), "no weight is given; write set_mix_weights({{\"web\", 2}})"));
  CHECK(loader_state::from_bytes(l.state()).weights.after.empty());
  for (auto& b : rest_of(l)) got.push_back(std::move(b));
  CHECK(got == targets_of(same, 0));
  CHECK(targets_of(l, 1) == targets_of(same, 1));
  CHECK(contains(message_of([] {
                   wick::mix(weighted_source{numbers{3}, 1, "a"}, weighted_source{numbers{3}, 1, "a"});
                 }),
                 "two sources are called a"));
  CHECK(contains(message_of([] { wick::mix(weighted_source{numbers{3}, 1, "a b"}); }), "is called a b"));
}

TEST_CASE("weights change only of a mix that isn't shuffled as a whole") {
  wick::loader shuffled(three() | wick::shuffle() | wick::array_batch(4), {.workers = 1});
  CHECK(contains(message_of([&] {
                   shuffled.set_mix_weights({{"web", 2}});
                 }),
                 "are for a mix() with batch() or pack()", "shuffle the mix's sources instead"));
  wick::loader plain(numbers{100} | wick::array_batch(4), {.workers = 1});
  CHECK(contains(message_of([&] { return plain.mixture(); }), "are for a mix() with batch() or pack()"));
}

TEST_CASE("weights with which an epoch would have no batch are refused in the middle of one, and cost none") {
  const auto small_and_large = [] {
    return wick::mix(mix_until::all_exhausted, weighted_source{from_number(10, 0), 1, "a"},
                     weighted_source{from_number(200, 1000), 1, "b"}) |
           wick::array_batch(64, {.drop_last = true});
  };
  wick::loader l(small_and_large(), {.workers = 2}), same(small_and_large(), {.workers = 1});
  l.epoch(0);
  batches got = rest_of(l, 1);
  CHECK(contains(message_of([&] { l.set_mix_weights({{"a", 1}, {"b", 0}}); }), "make no full batch of 64"));
  for (auto& b : rest_of(l)) got.push_back(std::move(b));
  CHECK(got == targets_of(same, 0));
  CHECK(targets_of(l, 1) == targets_of(same, 1));
}

TEST_CASE("what is reported of an epoch is the same whether a change dropped prefetched batches or not") {
  const auto print = [](bool changes) {
    wick::loader l(three() | wick::filter([](const cell& c) { return c.target % 5 != 0; }) |
                       wick::map("fragile",
                                 [](cell c) {
                                   if (c.target % 7 == 3) throw wick::error("it broke");
                                   return c;
                                 }) |
                       wick::array_batch(10),
                   {.seed = 4,
                    .workers = 4,
                    .prefetch = 8,
                    .on_error = wick::on_error::skip,
                    .content_fingerprint = true});
    l.epoch(0);
    for (int i = 0; l.next(); ++i) {
      if (changes && i % 5 == 2) l.set_mix_weights({{"code", 1.0 + i}});
    }
    CHECK(l.failure_log().total() > 10);
    return std::pair(l.fingerprint(0), std::pair(l.failure_log().total(), l.filtered()));
  };
  CHECK(print(false) == print(true));
}

}  // namespace wick_test::mix_weights_tests
