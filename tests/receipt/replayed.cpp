// Batches that are made again, alone: to the byte what the run gave, and the run goes on as if nothing had
// been.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

using namespace wick_test;
using wick::fail;
using wick::on_error;
using wick::replace;
using wick::retry;
using wick::skip;

namespace {

// ---- what is trained on ----

/// Encoded pictures of ten classes; one in eleven is damaged.
struct pictures {
  std::shared_ptr<const std::vector<std::string>> files;
  explicit pictures(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
      const int width = 24 + static_cast<int>(i * 5 % 17), height = 20 + static_cast<int>(i * 7 % 13);
      const wick::image picture = photo(width, height, 3, i + 1);
      all.push_back(i % 3 == 0 ? encode_png(picture) : encode_jpeg(picture));
      if (i % 11 == 4) all.back().resize(25);
    }
    files = std::make_shared<const std::vector<std::string>>(std::move(all));
  }
  std::uint64_t size() const { return files->size(); }
  wick::sample<wick::bytes> at(std::uint64_t i) const {
    return {as_bytes((*files)[static_cast<std::size_t>(i)]), static_cast<std::int64_t>(i % 10)};
  }
  std::string key(std::uint64_t i) const { return "picture " + std::to_string(i); }
};

/// Fails the first time that anybody makes some samples.
struct shaky {
  struct seen {
    std::mutex mutex;
    std::set<std::array<std::uint64_t, 4>> places;
  };
  std::shared_ptr<seen> before = std::make_shared<seen>();
  wick::sample<wick::bytes> operator()(wick::sample<wick::bytes> s, wick::context& c) const {
    if (c.index() % 5 == 2) {
      const std::lock_guard lock(before->mutex);
      if (before->places.insert({c.epoch(), c.position(), c.index(), c.where().drawn}).second)
        throw wick::error("not yet");
    }
    return s;
  }
};

/// Sample i is its number, as often as its length says.
struct texts {
  std::uint64_t count, first = 0;
  std::uint64_t size() const { return count; }
  std::uint32_t length(std::uint64_t i) const {
    return 1 + wick::random_stream(7, 0, first + i, 0).below(60) / (1 + static_cast<std::uint32_t>(i % 4));
  }
  wick::sample<std::uint32_t> at(std::uint64_t i) const {
    return {length(i), static_cast<std::int64_t>(first + i)};
  }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(first + i); }
};
using tokens = wick::sample<std::vector<std::int32_t>>;
wick::task<tokens> tokenize(wick::sample<std::uint32_t> s, wick::context& c) {
  tokens out{std::vector<std::int32_t>(s.data, static_cast<std::int32_t>(s.target)), s.target};
  out.data[0] += static_cast<std::int32_t>(c.random().below(2)) << 24;
  if (c.random().below(4) == 0) {
    auto elsewhere = c.on()->schedule();
    co_await elsewhere;
  }
  if (s.target % 17 == 5) throw wick::error("no text");
  co_return out;
}

// ---- batches as bytes ----

void append(std::string& to, const wick::array& a) {
  to.append(reinterpret_cast<const char*>(a.data()), static_cast<std::size_t>(a.bytes()));
}
/// Data and target of a batch, each for itself.
using parts = std::pair<std::string, std::string>;
template <class Batch>
parts parts_of(const Batch& b) {
  parts out;
  if constexpr (requires { b.cu_seqlens; }) {
    append(out.first, b.values.data);
    append(out.second, b.segments);
  } else if constexpr (requires { b.data.values; }) {
    append(out.first, b.data.values);
    append(out.second, b.data.lengths);
    append(out.second, b.target);
  } else if constexpr (requires { b.data.bytes(); }) {
    append(out.first, b.data);
    append(out.second, b.target);
  } else {
    out.first.assign(b.data.begin(), b.data.end());
    out.second = std::to_string(b.target);
  }
  return out;
}
/// What comes, or what is thrown.
template <class F>
parts parts_or_error(F&& f) {
  try {
    return parts_of(f());
  } catch (const wick::error& e) {
    return {"thrown", e.what()};
  }
}

// ---- a training that is resumed now and then, and of which batches are made again meanwhile ----

struct no_edits {
  template <class Loader>
  void operator()(Loader&, std::uint64_t, std::uint64_t) const {}
};

struct plan {
  std::uint64_t world = 1;
  std::size_t workers = 2;
  int replays = 50;
  bool whole = true;  // the ranks' parts, one behind the other, are the whole
  std::uint64_t epochs = 3;
  double resumes = 0.05;  // before a step
};

template <class Make, class Edit = no_edits>
class training {
  using loader =
      decltype(wick::loader(std::declval<const Make&>()(wick::shard(0, 1)), wick::loader_options{}));

 public:
  training(const Make& make, const wick::loader_options& options, const plan& p, const Edit& edit = {})
      : make_(make), options_(options), plan_(p), edit_(edit) {
    begin();
  }

  /// All epochs; how many batches were made again.
  int run() {
    for (epoch_ = 0; epoch_ < plan_.epochs; ++epoch_) {
      for (auto& l : ranks_) l->epoch(epoch_);
      for (batch_ = 0;; ++batch_) {
        for (auto& l : ranks_) edit_(*l, epoch_, batch_);
        if (batch_ == ranks_[0]->batches()) break;
        if (random_.bernoulli(plan_.resumes)) resume();
        given_[epoch_].emplace_back();
        for (std::uint64_t rank = 0; rank < plan_.world; ++rank) {
          loader& l = *ranks_[rank];
          given_[epoch_].back().push_back(parts_or_error([&] { return *l.next(); }));
        }
        if (random_.bernoulli(0.7)) again();
      }
      for (auto& l : ranks_) REQUIRE(!l->next());
    }
    while (count_ < plan_.replays) again();
    for (const auto& [where, found] : early_) {
      CAPTURE(std::get<0>(where));
      CAPTURE(std::get<1>(where));
      if (std::get<1>(where) < given_[std::get<0>(where)].size())
        CHECK(found == given_[std::get<0>(where)][std::get<1>(where)][std::get<2>(where)]);
    }
    return count_;
  }

 private:
  void begin() {
    ranks_.clear();
    for (std::uint64_t rank = 0; rank < plan_.world; ++rank)
      ranks_.push_back(std::make_unique<loader>(make_(wick::shard(rank, plan_.world)), options_));
  }
  void resume() {
    std::vector<std::vector<std::byte>> states;
    for (const auto& l : ranks_) states.push_back(l->state());
    options_.workers = 1 + random_.below(4);
    begin();
    for (std::uint64_t e = 0; e <= epoch_; ++e) {
      for (std::uint64_t b = 0; b < (e == epoch_ ? batch_ + 1 : given_[e].size()); ++b) {
        for (auto& l : ranks_) edit_(*l, e, b);
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r]->load_state(states[r]);
    if (random_.bernoulli(0.5)) again();  // before it goes on
    for (auto& l : ranks_) l->epoch(epoch_);
  }
  /// Makes a batch again, mostly one that was given.
  void again() {
    ++count_;
    std::uint64_t e = random_.below(std::min(epoch_ + 1, plan_.epochs));
    if (given_[e].empty()) e = 0;
    const std::uint64_t rank = random_.below(plan_.world);
    loader& l = *ranks_[rank];
    if (e == epoch_ && random_.bernoulli(0.2) && std::is_same_v<Edit, no_edits>) {
      const std::uint64_t b = random_.below(l.batches());
      early_.push_back({{e, b, rank}, parts_or_error([&] { return l.replay(e, b); })});
      return;
    }
    const std::uint64_t b = random_.below(given_[e].size());
    const std::vector<parts>& expected = given_[e][b];
    CAPTURE(e);
    CAPTURE(b);
    CAPTURE(rank);
    const std::uint64_t way = random_.below(5);
    if (way == 0) {
      const std::uint64_t other = random_.below(plan_.world);
      CAPTURE(other);
      CHECK(parts_or_error([&] { return l.replay(e, b, {.rank = other}); }) == expected[other]);
    } else if (way == 1 && plan_.whole) {
      parts whole;
      for (const parts& p : expected) {
        whole.first += p.first;
        whole.second += p.second;
      }
      CHECK(parts_or_error([&] { return l.replay(e, b, {.all_ranks = true}); }) == whole);
    } else {
      CHECK(parts_or_error([&] { return l.replay(e, b); }) == expected[rank]);
    }
  }

  const Make& make_;
  wick::loader_options options_;
  const plan plan_;
  const Edit& edit_;
  wick::random_stream random_{plan_.world * 100 + plan_.workers, 0, 0, 0};
  std::vector<std::unique_ptr<loader>> ranks_;
  std::uint64_t epoch_ = 0, batch_ = 0;
  std::vector<std::vector<std::vector<parts>>> given_{plan_.epochs + 1};  // by epoch, batch and rank
  std::vector<std::pair<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, parts>> early_;
  int count_ = 0;
};

const auto ragged = wick::array_batch(16, {.ragged = wick::pad_with(0)});

}  // namespace

TEST_CASE(
    "1,000 random batches with augmentation, mixing, replacement and resume are made again to the byte") {
  const pictures all(66);
  int made = 0;
  for (const auto& [world, workers] : {std::pair{1, 1}, {1, 4}, {2, 2}, {3, 3}}) {
    const shaky first_fails;
    const auto make = [&](auto shard) {
      return all | wick::shuffle() | shard | wick::map("shaky", first_fails) | wick::decode() |
             wick::random_resized_crop(16) | wick::random_horizontal_flip() | wick::color_jitter(0.4, 0.4) |
             wick::mixup(10, {.p = 0.6}) | wick::array_batch(12);
    };
    training run(make,
                 {.seed = 5,
                  .workers = static_cast<std::size_t>(workers),
                  .on_error = on_error(retry(1).then(replace))},
                 {.world = static_cast<std::uint64_t>(world),
                  .workers = static_cast<std::size_t>(workers),
                  .replays = rounds(250, 100)});
    made += run.run();
  }
  CHECK(made >= rounds(1000, 400));
}

TEST_CASE("batches of stages that don't suspend, with gaps, are made again to the byte") {
  const pictures all(66);
  const auto make = [&](auto shard) {
    return all | wick::shuffle() | shard | wick::decode() | wick::random_crop(14) |
           wick::random_vertical_flip() |
           wick::filter([](const auto&, wick::context& c) { return c.random().below(9) != 0; }) |
           wick::random_erasing({.noise = true}) | wick::array_batch(12, {.pad_last = true});
  };
  for (const std::uint64_t world : {1, 3}) {
    training run(make, {.seed = 8, .workers = 3, .on_error = on_error(skip)},
                 {.world = world, .replays = rounds(150, 60)});
    run.run();
  }
}

TEST_CASE("a batch that fails throws the same when it is made again") {
  const pictures all(44);
  const auto make = [&](auto shard) {
    return all | wick::shuffle() | shard | wick::decode() | wick::random_resized_crop(8) |
           wick::array_batch(4);
  };
  training run(make, {.seed = 2, .workers = 2}, {.world = 2, .replays = 60, .whole = false, .epochs = 2});
  run.run();
}

TEST_CASE("bucketed, packed, filtered and mixed streams are made again to the byte") {
  const wick::loader_options options{.seed = 11, .workers = 3, .on_error = on_error(replace)};
  SUBCASE("bucketed") {
    const auto make = [](auto shard) {
      return texts{300} | wick::shuffle() | wick::bucket({.tokens = 900, .multiple = 4}) | shard |
             wick::map("tokenize", tokenize) | ragged;
    };
    for (const std::uint64_t world : {1, 2}) training(make, options, {.world = world, .whole = false}).run();
  }
  SUBCASE("packed") {
    const auto make = [](auto shard) {
      return texts{300} | wick::shuffle() | shard | wick::map("tokenize", tokenize) |
             wick::array_pack(8, 96, {.pad = wick::pad_with(-7)});
    };
    for (const std::uint64_t world : {1, 2}) training(make, options, {.world = world, .whole = false}).run();
  }
  SUBCASE("filtered") {
    const auto make = [](auto shard) {
      return texts{300} | wick::shuffle() | shard | wick::map("tokenize", tokenize) |
             wick::filter([](const tokens& t, wick::context& c) {
               return t.target % 5 != 0 && c.random().below(8) != 0;
             }) |
             ragged;
    };
    for (const std::uint64_t world : {1, 2}) training(make, options, {.world = world, .whole = false}).run();
  }
}

namespace {

struct some_edits {
  template <class Loader>
  void operator()(Loader& l, std::uint64_t epoch, std::uint64_t number) const {
    const struct {
      std::uint64_t epoch, batch;
      std::vector<wick::source_weight> weights;
    } all[] = {{0, 3, {{"code", 1}}},
               {0, 7, {{"books", 0}}},
               {1, 0, {{"books", 2}, {"code", 0}}},
               {1, 5, {{"web", 0.5}}}};
    for (const auto& e : all) {
      if (e.epoch == epoch && e.batch == number)
        l.edit(e.weights, {.at_epoch = e.epoch, .at_batch = e.batch});
    }
  }
};

}  // namespace

TEST_CASE("batches of a mixture that was edited are made again with the weights that held there") {
  const auto make = [](auto shard) {
    return wick::mix(wick::mix_until::all_exhausted,
                     wick::weighted_source{texts{150} | wick::shuffle(), 1, "web"},
                     wick::weighted_source{texts{100, 1000} | wick::shuffle(), 0.5, "books"},
                     wick::weighted_source{texts{40, 2000}, 0, "code"}) |
           shard | wick::map("tokenize", tokenize) | ragged;
  };
  for (const std::uint64_t world : {1, 2}) {
    training(make, {.seed = 4, .workers = 2, .on_error = on_error(replace)},
             {.world = world, .replays = 150, .whole = false}, some_edits{})
        .run();
  }
}

namespace {

cell fails(cell c) {
  if (c.target % 7 == 3) throw wick::error("it broke");
  return c;
}
cell draws(cell c, wick::context& context) {
  c.data[0] = static_cast<std::uint8_t>(context.random().below(256));
  return c;
}
auto plain(std::uint64_t size) {
  return numbers{size} | wick::shuffle() | wick::map("draws", draws) | wick::map("fails", fails) |
         wick::array_batch(8);
}
/// All that a run gives.
struct outcome {
  std::vector<parts> batches;
  std::vector<std::vector<std::byte>> states;
  std::vector<std::string> failures;
  std::vector<wick::epoch_fingerprint> prints;
  bool operator==(const outcome&) const = default;
};

}  // namespace

TEST_CASE("batches, state, ledger, fingerprint and report are those of a run without replays") {
  const auto run = [](bool with_replays) {
    outcome out;
    wick::loader l(plain(100),
                   {.seed = 6, .workers = 3, .on_error = on_error(replace), .content_fingerprint = true});
    wick::random_stream random(1, 0, 0, 0);
    for (std::uint64_t e = 0; e < 3; ++e) {
      for (auto& b : l.epoch(e)) {
        out.batches.push_back(parts_of(b));
        if (with_replays) {
          const auto before = l.state();
          const auto failures = l.ledger().total();
          for (int i = 0; i < 3; ++i) {
            l.replay(random.below(4), random.below(l.batches()));
            l.receipt(random.below(4), random.below(l.batches()));
          }
          CHECK(l.state() == before);
          CHECK(l.ledger().total() == failures);
          CHECK(l.current_epoch() == e);
        }
        out.states.push_back(l.state());
      }
      out.prints.push_back(l.fingerprint(e));
    }
    for (const auto& f : l.ledger().entries()) out.failures.push_back(f.key + f.text + f.substitute);
    return out;
  };
  const outcome expected = run(false);
  CHECK(expected.failures.size() > 30);
  CHECK(run(true) == expected);
}

TEST_CASE("what is made again counts neither in the report nor in the books") {
  const pictures all(60);
  wick::loader l(all | wick::shuffle() | wick::decode() | wick::random_resized_crop(8) |
                     wick::mixup(10, {.p = 0.5}) | wick::array_batch(8),
                 {.seed = 6, .workers = 2, .prefetch_next_epoch = false, .on_error = on_error(replace)});
  for (auto& b : l.epoch(0)) static_cast<void>(b);
  CHECK(l.report().samples == 60);
  const auto blocks = l.slab_allocations();
  for (std::uint64_t b = 0; b < 8; ++b) l.replay(0, b);
  CHECK(l.slab_allocations() == blocks);
  const wick::report r = l.report();
  CHECK(r.samples == 0);
  CHECK(r.batches == 0);
  for (const auto& s : r.stages) {
    CAPTURE(s.name);
    CHECK(s.count == 0);
  }
}

TEST_CASE("where gaps are filled from the end of the epoch, what this loader has handed over is made again") {
  const wick::loader_options options{.seed = 9, .workers = 2, .on_error = on_error(skip, {.compact = true})};
  std::vector<parts> given;
  std::vector<std::byte> state;
  wick::loader first(plain(100), options);
  first.epoch(1);
  while (const auto batch = first.next()) {
    given.push_back(parts_of(*batch));
    for (std::uint64_t b = 0; b < given.size(); ++b) CHECK(parts_of(first.replay(1, b)) == given[b]);
    if (given.size() == 5) state = first.state();
  }
  CHECK(given.size() == 11);  // of 13
  CHECK(contains(message_of([&] { first.replay(1, 12); }), "replay: batch 12 of epoch 1"));
  CHECK(contains(message_of([&] { first.replay(0, 0); }),
                 "replay: batch 0 of epoch 0: with error_options::compact it depends on all failures"));

  wick::loader second(plain(100), options);
  second.load_state(state);
  CHECK(contains(message_of([&] { second.replay(1, 5); }), "compact"));
  second.epoch(1);
  for (std::uint64_t b = 5; b < given.size(); ++b) {
    CHECK(parts_of(*second.next()) == given[b]);
    CHECK(parts_of(second.replay(1, b)) == given[b]);
  }
  CHECK(contains(message_of([&] { second.replay(1, 4); }), "compact"));
}

TEST_CASE("without batch() a sample is made again by its position") {
  const auto make = [] {
    return numbers{90} | wick::shuffle() | wick::map("draws", draws) | wick::map("fails", fails) |
           wick::filter([](const cell& c) { return c.target % 5 != 0; });
  };
  std::vector<std::int64_t> order;
  wick::loader plainly(numbers{90} | wick::shuffle(), {.seed = 3});
  for (const auto& c : plainly.epoch(2)) order.push_back(c.target);
  for (const auto& policy : {on_error(fail), on_error(skip), on_error(replace)}) {
    wick::loader l(make(), {.seed = 3, .workers = 2, .on_error = policy});
    std::vector<parts> given, again;
    l.epoch(2);
    for (bool more = true; more;) {
      given.push_back(parts_or_error([&] {
        auto c = l.next();
        more = c.has_value();
        return more ? *c : cell();
      }));
    }
    given.pop_back();
    std::erase_if(given, [](const parts& p) { return p.first == "thrown"; });
    for (std::uint64_t p = 0; p < 90; ++p) {
      const parts found = parts_or_error([&] { return l.replay(2, p); });
      if (found.first != "thrown") {
        again.push_back(found);
        continue;
      }
      const std::string key = "number " + std::to_string(order[p]);
      CHECK(contains(found.second, order[p] % 7 == 3 ? key + ": fails: it broke" : key + ", position "));
    }
    CHECK(given == again);
    CHECK(given.size() > 50);
  }
}

TEST_CASE("a coroutine has batches made again on a worker") {
  wick::loader l(plain(100), {.seed = 6, .workers = 2, .on_error = on_error(replace)});
  std::vector<parts> given;
  for (auto& b : l.epoch(0)) given.push_back(parts_of(b));
  const auto consume = [](auto* from, std::vector<parts>* out) -> wick::task<void> {
    auto elsewhere = from->on().schedule();
    co_await elsewhere;
    for (std::uint64_t b = 0; b < from->batches(); ++b) {
      auto making = from->replay_async(0, b);
      auto batch = co_await making;
      out->push_back(parts_of(batch));
    }
    CHECK_THROWS_WITH_AS(
        from->replay(0, 0),
        "wick: replay() would block a worker of the executor; write co_await replay_async() there",
        std::logic_error);
  };
  std::vector<parts> again;
  wick::sync_wait(consume(&l, &again));
  CHECK(again == given);
}

TEST_CASE("what is made again shares the run's bound on memory, and neither is stuck") {
  const auto reserves = [](cell c, wick::context& context) -> wick::task<cell> {
    auto room = context.reserve(600);
    co_await room;
    auto elsewhere = context.on()->schedule();
    co_await elsewhere;
    auto more = context.reserve(600);
    co_await more;
    co_return c;
  };
  wick::loader l(numbers{60} | wick::shuffle() | wick::map("reserves", reserves) | wick::array_batch(8),
                 {.seed = 6, .workers = 3, .memory = 1500});
  std::uint64_t k = 0;
  for (auto& b : l.epoch(0)) CHECK(parts_of(l.replay(0, k++)) == parts_of(b));
  CHECK(k == 8);
}

TEST_CASE("random numbers of stages behind batch() are the same again") {
  using batch = wick::sample<wick::array, wick::array>;
  wick::loader l(
      plain(100) | wick::map("shift",
                             [](batch b, wick::context& c) {
                               auto* const bytes = b.data.template as<std::uint8_t>();
                               for (std::size_t i = 0; i < static_cast<std::size_t>(b.data.bytes()); ++i)
                                 bytes[i] = static_cast<std::uint8_t>(bytes[i] + c.random().below(256));
                               return b;
                             }),
      {.seed = 6, .workers = 2, .on_error = on_error(skip)});
  std::uint64_t k = 0;
  for (auto& b : l.epoch(1)) CHECK(parts_of(l.replay(1, k++)) == parts_of(b));
  CHECK(k == 13);
}

TEST_CASE("what can't be made again is refused with the reason") {
  wick::loader l(plain(100), {.seed = 6, .workers = 2});
  CHECK(contains(message_of([&] { l.replay(3, 13); }),
                 "replay: batch 13 of epoch 3, which has 13 batches, counted from 0"));
  CHECK(contains(message_of([&] { l.replay(3, 0, {.rank = 1}); }), "rank 1 of 1; ranks are counted from 0"));
  CHECK(contains(message_of([&] { l.replay(3, 0, {.rank = 0, .all_ranks = true}); }), "leave one out"));
  wick::loader unbatched(numbers{20} | wick::shuffle(), {.workers = 1});
  CHECK(contains(message_of([&] { unbatched.replay(0, 20); }),
                 "position 20 of epoch 0, which has 20 positions"));
  CHECK(contains(message_of([&] { unbatched.replay(0, 0, {.rank = 0}); }), "without batch()"));
}

TEST_CASE("batches of data that were there before refresh() are refused") {
  wick::loader l(numbers{50} | wick::shuffle() | wick::array_batch(8), {.seed = 6, .workers = 2});
  for (std::uint64_t e = 0; e < 2; ++e) targets_of(l, e);
  l.replay(0, 0);
  l.refresh();
  CHECK(contains(message_of([&] { l.replay(1, 0); }), "epoch 1: since refresh() no epoch was begun"));
  l.epoch(2);
  l.next();
  const auto state = l.state();
  l.replay(2, 0);
  l.replay(3, 0);
  CHECK(contains(message_of([&] { l.replay(1, 0); }),
                 "epoch 1 is of data that were there before refresh(), and are gone; epochs from 2 on"));
  wick::loader other(numbers{50} | wick::shuffle() | wick::array_batch(8), {.seed = 6, .workers = 2});
  other.load_state(state);
  other.replay(2, 0);
  CHECK(contains(message_of([&] { other.replay(1, 0); }), "before refresh()"));
}
