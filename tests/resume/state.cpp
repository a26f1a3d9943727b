#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::state_tests {

using wick::detail::loader_state;
using wick_test::batches;
using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

cell draw(cell c, wick::context& context) {
  c.target = c.target * 1000 + static_cast<std::int64_t>(context.random().below(1000));
  return c;
}
wick::task<cell> hop(cell c, wick::context& context) {
  if (context.random().bernoulli(0.5)) co_await context.on()->schedule();
  co_return c;
}

auto pipeline(std::uint64_t rank, std::uint64_t world, numbers source = {500}) {
  return std::move(source) | wick::shuffle() | wick::shard(rank, world) | wick::map("draw", draw) | hop |
         wick::array_batch(24);
}

template <class Batch>
std::vector<std::int64_t> of(const Batch& b) {
  const std::int64_t* const t = b.target.template as<std::int64_t>();
  return {t, t + b.target.extents()[0]};
}

/// Takes epochs [from, 4) from loaders of all ranks together, from their states on; `stop_after` batches at
/// most.
template <class Loaders>
void take(Loaders& ranks, std::size_t stop_after, batches& out) {
  for (std::uint64_t epoch = ranks.front()->current_epoch(); epoch < 4; ++epoch) {
    for (auto& r : ranks) r->epoch(epoch);
    for (;;) {
      if (stop_after-- == 0) return;
      std::vector<std::int64_t> whole;
      bool end = false;
      for (auto& r : ranks) {
        const auto batch = r->next();
        end = !batch;
        if (batch) {
          const auto part = of(*batch);
          whole.insert(whole.end(), part.begin(), part.end());
        }
      }
      if (end) {
        ++stop_after;
        break;
      }
      out.push_back(std::move(whole));
    }
  }
}

template <class Pipeline>
auto ranks_of(std::uint64_t world, std::size_t workers, Pipeline make) {
  std::vector<std::unique_ptr<decltype(wick::loader(make(0, 1)))>> out;
  for (std::uint64_t r = 0; r < world; ++r) {
    out.push_back(std::make_unique<decltype(wick::loader(make(0, 1)))>(
        make(r, world), wick::loader_options{.seed = 7, .workers = workers}));
  }
  return out;
}

loader_state example() {
  loader_state s;
  s.of = {1, 2, 3, 4, true, {{"shuffle", 5}, {std::string(100, 'x'), 6}}};
  s.epoch = 7;
  s.batch = 8;
  s.failures = 9;
  s.counted_failures = 10;
  s.epoch_failures = 11;
  s.consecutive_failures = 12;
  s.rounds = 14;
  s.filtered = 15;
  s.weights = {16, {1, 0.5}, {0, 2}};
  return s;
}

}  // namespace

TEST_CASE(
    "stopped anywhere and resumed on other workers and ranks, the training is the undisturbed one, batch by "
    "batch") {
  const auto make = [](std::uint64_t rank, std::uint64_t world) { return pipeline(rank, world); };
  batches expected;
  auto whole = ranks_of(1, 2, make);
  take(whole, ~std::size_t{0} >> 1, expected);
  REQUIRE(expected.size() == 4 * 21);
  std::uint64_t random = 1;
  for (int round = 0; round < 12; ++round) {
    batches got;
    std::vector<std::byte> state;
    while (got.size() < expected.size()) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t world = std::array<std::uint64_t, 4>{1, 3, 4, 8}[(random >> 40) % 4];
      auto ranks = ranks_of(world, 1 + (random >> 50) % 4, make);
      if (!state.empty()) {
        for (auto& r : ranks) r->load_state(state);
      }
      take(ranks, (random >> 33) % 50, got);
      state = ranks.back()->state();
      for (auto& r : ranks) CHECK(r->state() == state);
      CHECK(state.size() <= loader_state::max_bytes);
    }
    CHECK(got == expected);
  }
}

TEST_CASE("a state is taken at the consumer, whatever was prefetched, and resuming makes no batch again") {
  const numbers source{100'000};
  wick::loader l(source | wick::shuffle() | wick::array_batch(100), {.workers = 2, .prefetch = 4});
  l.epoch(3);
  for (int i = 0; i < 500; ++i) REQUIRE(l.next());
  const auto state = l.state();
  const auto next = of(*l.next());
  const numbers again{100'000};
  wick::loader resumed(again | wick::shuffle() | wick::array_batch(100), {.workers = 2, .prefetch = 4});
  resumed.load_state(state);
  CHECK(resumed.state() == state);
  CHECK(resumed.current_epoch() == 3);
  CHECK(of(*resumed.next()) == next);
  CHECK(again.asked->load() <= 100 * (1 + 4 + 1));
}

TEST_CASE("a state taken after the last batch of an epoch is the beginning of the next one") {
  wick::loader l(pipeline(0, 1), {.seed = 7, .workers = 2});
  const auto first = targets_of(l, 0), second = targets_of(l, 1), third = targets_of(l, 2);
  l.epoch(0);
  while (l.next()) {
  }
  const auto ended = l.state();
  l.epoch(0);
  for (std::size_t i = 0; i < first.size(); ++i) REQUIRE(l.next());
  CHECK(l.state() == ended);  // whether the loop has seen that there is no more or not
  CHECK(l.current_epoch() == 0);
  const auto resumed_from = [&](const std::vector<std::byte>& state) {
    auto out = std::make_unique<decltype(l)>(pipeline(0, 1), wick::loader_options{.seed = 7, .workers = 2});
    out->load_state(state);
    CHECK(out->state() == state);
    return out;
  };
  CHECK(resumed_from(ended)->current_epoch() == 1);
  // for (e = current_epoch(); e < 3; ++e)
  auto resumed = resumed_from(ended);
  batches got;
  for (std::uint64_t e = resumed->current_epoch(); e < 3; ++e) {
    const auto epoch = targets_of(*resumed, e);
    CHECK(epoch.size() == first.size());
    got.insert(got.end(), epoch.begin(), epoch.end());
  }
  batches rest = second;
  rest.insert(rest.end(), third.begin(), third.end());
  CHECK(got == rest);
  // next() without epoch(), and an epoch asked for that is not the one of the state: a validation's, always
  // 0.
  CHECK(of(*resumed_from(ended)->next()) == second[0]);
  resumed = resumed_from(ended);
  CHECK(targets_of(*resumed, 0) == first);
  CHECK(targets_of(*resumed, 0) == first);
  CHECK(targets_of(*resumed_from(ended), 2) == third);
}

TEST_CASE(
    "a state of an older wick that comes after the last batch is the beginning of the next epoch, too") {
  wick::loader l(pipeline(0, 1), {.seed = 7, .workers = 2});
  const auto first = targets_of(l, 0), second = targets_of(l, 1);
  l.epoch(0);
  while (l.next()) {
  }
  loader_state old = loader_state::from_bytes(l.state());
  CHECK(old.epoch == 1);
  CHECK(old.batch == 0);
  old.epoch = 0;
  old.batch = l.batches();
  wick::loader resumed(pipeline(0, 1), {.seed = 7, .workers = 2});
  resumed.load_state(old.to_bytes());
  CHECK(resumed.current_epoch() == 1);
  CHECK(resumed.state() == l.state());
  CHECK(targets_of(resumed, 1) == second);
  resumed.load_state(old.to_bytes());
  CHECK(targets_of(resumed, 0) == first);
}

TEST_CASE("asking for another epoch than a state's forgets the state; epochs begin at their start") {
  wick::loader l(pipeline(0, 1), {.seed = 7, .workers = 2}),
      resumed(pipeline(0, 1), {.seed = 7, .workers = 2});
  const auto first = targets_of(l, 0), second = targets_of(l, 1);
  l.epoch(0);
  for (int i = 0; i < 5; ++i) CHECK(l.next());
  resumed.load_state(l.state());
  CHECK(targets_of(resumed, 1) == second);
  CHECK(targets_of(resumed, 0) == first);
  // In the middle, and of a loader that has run already.
  resumed.load_state(l.state());
  CHECK(of(*resumed.next()) == first[5]);
  resumed.load_state(l.state());
  CHECK(of(*resumed.epoch(0).next()) == first[5]);
  CHECK(targets_of(resumed, 0) == first);
}

TEST_CASE("past the end of an epoch the limits of the next one begin at nothing") {
  // 3 of 40 fail in each epoch, and 0.1 of them may: 4.
  const auto make = [] {
    return numbers{40} |
           wick::map("fragile",
                     [](cell c) {
                       if (c.target % 13 == 7) throw wick::error("it broke");
                       return c;
                     }) |
           wick::array_batch(10);
  };
  const wick::loader_options options{
      .workers = 1, .on_error = wick::on_error(wick::on_error::skip, {.count = 1000, .rate = 0.1})};
  wick::loader l(make(), options), resumed(make(), options);
  std::size_t batches = 0;
  l.epoch(0);
  while (l.next()) ++batches;
  CHECK(batches == 4);
  const loader_state end = loader_state::from_bytes(l.state());
  CHECK(end.failures == 3);
  CHECK(end.counted_failures == 3);
  CHECK(end.epoch_failures == 0);
  // As an older wick wrote it.
  loader_state old = end;
  old.epoch = 0;
  old.batch = 4;
  old.epoch_failures = 3;
  for (const auto& state : {end, old}) {
    resumed.load_state(state.to_bytes());
    batches = 0;
    resumed.epoch(resumed.current_epoch());
    while (resumed.next()) ++batches;  // six failures of one epoch would be too many
    CHECK(batches == 4);
    CHECK(loader_state::from_bytes(resumed.state()).counted_failures == 6);
  }
}

TEST_CASE("failures counted before a state are in the count of the training that continues from it") {
  const auto make = [] {
    return numbers{40} |
           wick::map("fragile",
                     [](cell c) {
                       if (c.target % 10 == 3) throw wick::error("it broke");
                       return c;
                     }) |
           wick::array_batch(10);
  };
  wick::loader l(make(), {.workers = 1}), resumed(make(), {.workers = 1});
  l.epoch(0);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(l.next(), wick::sample_error);
  resumed.load_state(l.state());
  CHECK_THROWS_AS(resumed.next(), wick::sample_error);
  CHECK(!resumed.next());
  CHECK(resumed.failure_log().total() == 1);
  CHECK(resumed.failure_log().of_training() == 4);
  resumed.load_state(l.state());
  CHECK(resumed.failure_log().of_training() == 3);
}

TEST_CASE("without batch() a rank resumes from its own state, or all from one at an epoch's beginning") {
  const auto rank = [](std::uint64_t r) {
    return wick::loader(numbers{200} | wick::shuffle() | wick::shard(r, 2) |
                            wick::filter([](const cell& c) { return c.target % 3 != 0; }),
                        {.seed = 7, .workers = 2});
  };
  const auto next = [](auto& of) { return of.next()->target; };
  for (const std::uint64_t r : {0, 1}) {
    auto l = rank(r), again = rank(r), other = rank(1 - r);
    for (int i = 0; i < 40; ++i) next(l);
    const auto state = l.state();
    CHECK(contains(message_of([&] { return other.load_state(state), 0; }),
                   "another rank: " + std::to_string(r) + ", this loader's is " + std::to_string(1 - r)));
    again.load_state(state);
    for (int i = 0; i < 20; ++i) CHECK(next(again) == next(l));
    while (l.next()) {
    }
    other.load_state(l.state());
    CHECK(other.current_epoch() == 1);
  }
}

namespace {
struct counted {
  static constexpr wick::ext::stage_traits traits{.has_fingerprint = true};
  std::atomic<int>* asked;
  std::int64_t operator()(std::int64_t v) const { return v; }
  std::uint64_t fingerprint() const {
    ++*asked;
    return 7;
  }
};
}  // namespace

TEST_CASE("a state asks source and stages for their fingerprints once, however often it is written") {
  std::atomic<int> asked{0};
  std::vector<std::int64_t> values(100, 1);
  wick::loader l(wick::from(values) | counted{&asked} | wick::array_batch(10), {.workers = 1});
  for (auto& batch : l.epoch(0)) {
    CHECK(batch.extents()[0] == 10);
    CHECK(!l.state().empty());
  }
  CHECK(asked == 1);
  l.refresh();
  CHECK(!l.state().empty());
  CHECK(asked == 2);  // it may have taken other data
}

TEST_CASE("a fresh loader's state is the beginning") {
  wick::loader l(pipeline(0, 1), {.seed = 7, .workers = 1}), other(pipeline(0, 1), {.seed = 7, .workers = 1});
  other.load_state(l.state());
  CHECK(targets_of(other, 0) == targets_of(l, 0));
}

TEST_CASE(
    "without batch() a state counts samples, and continues in the middle of what is planned at a time") {
  const auto make = [] { return numbers{100} | wick::shuffle() | hop | [](cell c) { return c.target; }; };
  wick::loader l(make(), {.seed = 3, .workers = 2});
  std::vector<std::int64_t> expected;
  std::vector<std::vector<std::byte>> states;
  l.epoch(1);
  states.push_back(l.state());
  while (const auto v = l.next()) {
    expected.push_back(*v);
    states.push_back(l.state());
  }
  REQUIRE(expected.size() == 100);
  CHECK(loader_state::from_bytes(states[100]).epoch == 2);
  CHECK(loader_state::from_bytes(states[100]).sample == 0);
  for (std::size_t at = 0; at < 100; at += 3) {
    wick::loader resumed(make(), {.seed = 3, .workers = 1});
    resumed.load_state(states[at]);
    CHECK(resumed.state() == states[at]);
    std::vector<std::int64_t> rest;
    while (const auto v = resumed.next()) rest.push_back(*v);
    CHECK(rest ==
          std::vector<std::int64_t>(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()));
  }
}

TEST_CASE("a state with a right checksum that stands where no batch is, is refused") {
  wick::loader l(pipeline(0, 1), {.seed = 7, .workers = 1});
  const auto refused = [&](auto change) {
    loader_state s = loader_state::from_bytes(l.state());
    change(s);
    return message_of([&] { return l.load_state(s.to_bytes()), 0; });
  };
  CHECK(refused([](loader_state& s) { s.batch = 1; }) == "");
  CHECK(contains(refused([](loader_state& s) { s.batch = 1'000'000; }), "is at batch 1000000",
                 "not written by wick"));
  CHECK(contains(refused([](loader_state& s) { s.batch = ~std::uint64_t{0}; }), "not written by wick"));
  CHECK(contains(refused([](loader_state& s) { s.sample = 3; }), "not written by wick"));
}

TEST_CASE(
    "a state of another data set, pipeline, seed or global batch is refused with the difference named") {
  wick::loader l(pipeline(0, 1), {.seed = 7, .workers = 1});
  const auto state = l.state();
  const auto refused = [&](auto p, std::uint64_t seed = 7) {
    wick::loader other(std::move(p), {.seed = seed, .workers = 1});
    const std::string text = message_of([&] {
      other.load_state(state);
      return 0;
    });
    CHECK(other.current_epoch() == 0);
    return text;
  };
  const auto rest = [](auto source) {
    return std::move(source) | wick::shuffle() | wick::shard(0, 1) | wick::map("draw", draw) | hop |
           wick::array_batch(24);
  };
  struct others : numbers {
    std::uint64_t fingerprint() const { return 5; }
  };
  CHECK(refused(rest(numbers{500})).empty());
  CHECK(refused(pipeline(2, 3)).empty());
  CHECK(contains(refused(rest(numbers{499})), "another data set", "500 samples, this loader's has 499"));
  CHECK(contains(refused(rest(others{{500}})), "another data set", "of the same size"));
  CHECK(contains(refused(rest(numbers{500}), 8), "another seed: 7, this loader has 8"));
  CHECK(contains(refused(numbers{500} | wick::shuffle() | wick::shard(0, 1) | wick::map("draw", draw) | hop |
                         wick::array_batch(48)),
                 "another global batch: 24 samples over all ranks, this loader has 48"));
  CHECK(contains(refused(numbers{500} | wick::shuffle() | wick::shard(0, 1) | wick::map("scribble", draw) |
                         hop | wick::array_batch(24)),
                 "the 3rd stage was draw, now it is scribble; build the pipeline as it was"));
  CHECK(contains(refused(numbers{500} | wick::shuffle() | wick::shard(0, 1) | wick::map("draw", draw) | hop |
                         wick::array_batch(24, {.drop_last = true})),
                 "the 5th stage, batch, was made with other parameters"));
  CHECK(contains(refused(numbers{500} | wick::shuffle() | wick::shard(0, 1)), "the 3rd stage was draw",
                 "no such stage"));
  wick::loader taken(numbers{500} | wick::take(400) | wick::array_batch(10), {.workers = 1});
  wick::loader less(numbers{500} | wick::take(399) | wick::array_batch(10), {.workers = 1});
  CHECK(contains(message_of([&] {
                   less.load_state(taken.state());
                   return 0;
                 }),
                 "the 1st stage, take, was made with other parameters"));
}

TEST_CASE("what is written is what is read, and long names and many stages keep it below 4 KiB and apart") {
  const auto bytes = example().to_bytes();
  const loader_state s = loader_state::from_bytes(bytes);
  CHECK(s.to_bytes() == bytes);
  CHECK(wick::detail::difference(s, example().of).empty());
  CHECK(s.epoch == 7);
  CHECK(s.batch == 8);
  CHECK(s.failures == 9);
  CHECK(s.counted_failures == 10);
  CHECK(s.epoch_failures == 11);
  CHECK(s.consecutive_failures == 12);
  CHECK(s.rounds == 14);
  CHECK(s.filtered == 15);
  CHECK(s.weights == example().weights);
  loader_state many;
  many.weights.before.assign(wick::detail::mix_weights::most_sources, 1);
  many.weights.after.assign(wick::detail::mix_weights::most_sources, 2);
  for (int i = 0; i < 1000; ++i) many.of.stages.push_back({std::string(1000, 'a') + std::to_string(i), 1});
  const auto large = many.to_bytes();
  CHECK(large.size() <= loader_state::max_bytes);
  const loader_state read = loader_state::from_bytes(large);
  CHECK(wick::detail::difference(read, many.of).empty());
  for (const std::size_t i : {0, 500, 999}) {
    loader_state changed = many;
    changed.of.stages[i].name[999] = 'b';
    CHECK(!wick::detail::difference(read, changed.of).empty());
  }
}

TEST_CASE("the bytes of a state are the same in every release") {
  wick::ext::fingerprint_hash h;
  const auto bytes = example().to_bytes();
  CHECK(bytes.size() == 245);
  CHECK(h.add(bytes.data(), bytes.size()).value() == 1124963981858656275u);
}

TEST_CASE("a state with any byte changed, cut off anywhere, or with more after it is refused") {
  auto bytes = example().to_bytes();
  const auto refused = [](std::span<const std::byte> b) {
    return message_of([&] { return loader_state::from_bytes(b).epoch; });
  };
  CHECK(refused(bytes).empty());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const unsigned flip : {1u, 0x80u, 0xFFu}) {
      bytes[i] ^= static_cast<std::byte>(flip);
      CHECK(contains(refused(bytes), "load_state: "));
      bytes[i] ^= static_cast<std::byte>(flip);
    }
  }
  for (std::size_t n = 0; n < bytes.size(); ++n) CHECK(!refused(std::span(bytes).first(n)).empty());
  CHECK(contains(refused(std::span(bytes).first(100)), "cut off", "100 bytes"));
  CHECK(contains(refused({}), "aren't the state of a wick loader"));
  bytes.push_back({});
  CHECK(contains(refused(bytes), "exactly what state() gave"));
  bytes.pop_back();
  bytes[8] = std::byte{1};
  CHECK(contains(refused(bytes), "format 1", "older wick"));
  bytes[8] = std::byte{7};
  CHECK(contains(refused(bytes), "format 7", "newer wick"));
  const std::string other(100, 'j');
  CHECK(contains(refused(std::as_bytes(std::span(other))), "is it the right file?"));
}

}  // namespace wick_test::state_tests
