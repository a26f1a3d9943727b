// Edits of a mixture in mid-run: the same batches at any worker and rank count, resumed and replayed.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include "loader/elastic.hpp"
#include "support/decimal_comma.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

using wick::mix_until;
using wick::source_weight;
using wick::weighted_source;
using wick::detail::loader_state;
using namespace wick_test;

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

/// Adds the targets of the next batch; false at the end of the epoch.
template <class Batch>
bool take_one(wick::loader<Batch>& from, batches& to) {
  const auto b = from.next();
  if (!b) return false;
  const std::int64_t* const t = b->target.template as<std::int64_t>();
  to.emplace_back(t, t + b->target.extents()[0]);
  return true;
}

struct planned {
  std::vector<source_weight> weights;
  std::uint64_t epoch, batch;
};
const std::vector<planned> plan = {{{{"web", 3}}, 0, 7},
                                   {{{"code", 2}, {"books", 0}}, 0, 15},
                                   {{{"books", 1}}, 1, 0},
                                   {{{"code", 0}}, 1, 9},
                                   {{{"web", 1}, {"code", 0.25}}, 2, 4}};

/// Batches of epochs up to `epochs`, of all ranks together; each edit is made when its batch comes, or
/// `early` batches before it.
struct training {
  std::vector<std::unique_ptr<loader>> ranks;
  explicit training(std::uint64_t world, std::size_t workers, const std::string& journal = {}) {
    for (std::uint64_t r = 0; r < world; ++r) {
      ranks.push_back(std::make_unique<loader>(
          pipeline(r, world), wick::loader_options{.seed = 5, .workers = workers, .journal_file = journal}));
    }
  }
  void take(batches& out, std::size_t most, std::uint64_t early, bool edits = true) {
    for (std::uint64_t epoch = ranks[0]->current_epoch(); epoch < 3; ++epoch) {
      std::uint64_t number = loader_state::from_bytes(ranks[0]->state()).batch;
      if (loader_state::from_bytes(ranks[0]->state()).epoch != epoch) number = 0;
      for (auto& l : ranks) l->epoch(epoch);
      for (;; ++number) {
        for (const planned& p : plan) {
          if (!edits || p.epoch != epoch || p.batch != number + std::min(early, p.batch)) continue;
          for (auto& l : ranks) l->set_mix_weights(p.weights, {.at_epoch = p.epoch, .at_batch = p.batch});
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

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("edits hold from their batch on, and each source continues where it stood") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 1, .workers = 2});
  wick::loader plain(three() | wick::array_batch(10), {.seed = 1, .workers = 2});
  const batches before = targets_of(plain, 0);
  l.epoch(0);
  batches got;
  const auto taken = [&] {
    const auto b = l.next();
    if (!b) return false;
    const std::int64_t* const t = b->target.as<std::int64_t>();
    got.emplace_back(t, t + b->target.extents()[0]);
    return true;
  };
  for (int i = 0; i < 6; ++i) REQUIRE(taken());
  CHECK(l.mixture() == std::vector<source_weight>{{"web", 1}, {"books", 1}, {"code", 0}});
  l.set_mix_weights({{"web", 0.5}, {"code", 1}, {"books", 0}});
  CHECK(l.mixture() == std::vector<source_weight>{{"web", 0.5}, {"books", 0}, {"code", 1}});
  while (taken()) {
  }
  CHECK(l.batches() == got.size());
  for (std::size_t i = 0; i < 6; ++i) CHECK(got[i] == before[i]);
  std::map<std::int64_t, int> times;
  std::vector<std::int64_t> web, code;
  for (std::size_t i = 0; i < got.size(); ++i) {
    for (const std::int64_t n : got[i]) {
      ++times[n];
      if (n >= 1000 && n < 2000) CHECK(i < 6);
      if (n < 1000) web.push_back(n);
      if (n >= 2000 && code.size() < 60) code.push_back(n);
      if (i < 6) CHECK(n < 2000);
    }
  }
  // Until the web is gone through: all of it once, 30 of the books, and the code begins again.
  CHECK(web.size() == 200);
  for (const std::int64_t n : web) CHECK(times[n] == 1);
  for (std::size_t i = 0; i < code.size(); ++i) CHECK(code[i] == 2000 + static_cast<std::int64_t>(i));
}

TEST_CASE(
    "an edited training gives the same batches at any worker and rank count, whenever edits are given") {
  const batches& expected = undisturbed();
  REQUIRE(expected.size() > 60);
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t world : {1, 2, 4}) {
      for (const std::uint64_t early : {0, 1, 5}) {
        if (early == 5 && workers == 1) continue;
        batches got;
        training(world, workers).take(got, ~std::size_t{0}, early);
        CHECK(got == expected);
      }
    }
  }
}

TEST_CASE(
    "stopped anywhere and resumed with its journal on other ranks, an edited training continues as it was") {
  const batches& expected = undisturbed();
  std::uint64_t random = 1;
  for (int round = 0; round < 8; ++round) {
    const wick_test::temp_dir dir;
    const std::string journal = (dir / "journal").string();
    batches got;
    std::vector<std::byte> state;
    std::size_t at = 0;  // batches behind which the state was written
    while (got.size() < expected.size()) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t world = std::uint64_t{1} << ((random >> 40) % 3);
      training t(world, 1 + (random >> 50) % 4, journal);
      got.resize(at);  // the batches behind the last checkpoint are made again
      if (!state.empty()) {
        for (auto& l : t.ranks) l->load_state(state);
      }
      t.take(got, (random >> 33) % 23, round % 3 == 0 ? 3 : 0);
      if (((random >> 20) & 1) != 0 || got.size() == expected.size()) {
        at = got.size();
        state = t.ranks.back()->state();
        for (auto& l : t.ranks) CHECK(l->state() == state);
        CHECK(state.size() <= loader_state::max_bytes);
      }
    }
    CHECK(got == expected);
    // From its journal alone, and by replay_edits().
    batches again, replayed;
    training(2, 2, journal).take(again, ~std::size_t{0}, 0, false);
    CHECK(again == expected);
    training r(1, 4);
    r.ranks[0]->replay_edits(journal);
    CHECK(r.ranks[0]->mixture() == std::vector<source_weight>{{"web", 1}, {"books", 1}, {"code", 0}});
    r.take(replayed, ~std::size_t{0}, 0, false);
    CHECK(replayed == expected);
  }
}

TEST_CASE("samples that are replaced are the same whether an edit behind them was known or not") {
  const auto run = [](bool known) {
    wick::loader l(three() |
                       wick::map("fragile",
                                 [](cell c) {
                                   if (c.target % 7 == 3) throw wick::error("it broke");
                                   return c;
                                 }) |
                       wick::array_batch(10),
                   {.seed = 4, .workers = 2, .on_error = wick::on_error::replace});
    batches out;
    if (known) l.set_mix_weights({{"code", 5}, {"web", 0.1}}, {.at_epoch = 0, .at_batch = 20});
    l.epoch(0);
    while (const auto b = l.next()) {
      const std::int64_t* const t = b->target.as<std::int64_t>();
      out.emplace_back(t, t + b->target.extents()[0]);
      if (out.size() == 20) l.set_mix_weights({{"code", 5}, {"web", 0.1}});
    }
    return out;
  };
  CHECK(run(false) == run(true));
}

TEST_CASE("an epoch ends where the weights have it end") {
  const auto length = [](mix_until until, std::vector<source_weight> to) {
    wick::loader l(three(until) | wick::array_batch(10), {.workers = 2});
    l.epoch(0);
    for (int i = 0; i < 6; ++i) REQUIRE(l.next());  // 30 of web, 30 of books
    l.set_mix_weights(to);
    std::size_t n = 6;
    while (l.next()) ++n;
    CHECK(l.batches() == n);
    return l.samples();
  };
  CHECK(length(mix_until::all_exhausted, {{"books", 0}}) == 60 + 170);
  CHECK(length(mix_until::first_exhausted, {{"books", 0}}) == 60 + 170);
  CHECK(length(mix_until::first_exhausted, {{"web", 0}}) == 60 + 120);
  CHECK(length(mix_until::first_exhausted, {{"web", 0}, {"books", 0}, {"code", 1}}) == 60 + 60);
  // All of web in 170, at its end 170 of code, which begins again: 60 + 340, as evenly as can be.
  const std::uint64_t both = length(mix_until::all_exhausted, {{"books", 0}, {"code", 1}});
  CHECK(both >= 60 + 338);
  CHECK(both <= 60 + 341);
  // What has become exhausted is not waited for: nothing of the others is left to wait for here.
  wick::loader l(wick::mix(mix_until::all_exhausted, weighted_source{numbers{20}, 1, "a"},
                           weighted_source{numbers{200}, 1, "b"}) |
                     wick::array_batch(10),
                 {.workers = 1});
  l.epoch(0);
  for (int i = 0; i < 4; ++i) REQUIRE(l.next());
  l.set_mix_weights({{"b", 0}});
  CHECK(!l.next());
  CHECK(l.batches() == 4);
  CHECK(targets_of(l, 1).size() == 2);
  CHECK(targets_of(l, 0).size() == 4);
}

TEST_CASE("an edit of an epoch that has become shorter since holds from the next epoch on") {
  for (const mix_until until : {mix_until::first_exhausted, mix_until::all_exhausted}) {
    const elastic a(60), b(60);
    wick::loader l(
        wick::mix(until, weighted_source{a, 1, "a"}, weighted_source{b, 1, "b"}) | wick::array_batch(4),
        {.workers = 2});
    l.set_mix_weights({{"a", 3}}, {.at_epoch = 1, .at_batch = 20});
    CHECK(targets_of(l, 0).size() == 30);
    *a.now = 10;
    *b.now = 10;
    l.refresh();
    std::map<std::int64_t, int> times;
    for (const auto& batch : targets_of(l, 1)) {
      for (const std::int64_t t : batch) ++times[t];
    }
    CHECK(times.size() == 10);
    for (const auto& [target, n] : times) CHECK(n == 2);  // once of a, once of b
    l.epoch(2);
    CHECK(l.mixture().at(0).weight == 3);
    CHECK(l.mixture().at(1).weight == 1);
    CHECK(l.samples() != 20);
  }
}

TEST_CASE("edits that make no sense are refused, say where the loader stands, and change nothing") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  wick::loader same(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  const auto refused = [&](std::vector<source_weight> to, wick::edit_options at = {}) {
    return message_of([&] { l.set_mix_weights(to, at); });
  };
  l.epoch(0);
  batches got;
  const auto take = [&] { return take_one(l, got); };
  for (int i = 0; i < 5; ++i) REQUIRE(take());
  CHECK(contains(refused({{"web", 1}}, {.at_epoch = 0, .at_batch = 4}), "batch 4 of epoch 0 was handed over",
                 "stands at batch 5 of epoch 0"));
  CHECK(contains(refused({{"films", 1}}), "no source of the mix is called films", "web, books, code"));
  CHECK(contains(refused({{"web", -1}}), "a weight of -1"));
  CHECK(contains(refused({{"web", 0}, {"books", 0}}), "one at least must be above 0"));
  CHECK(contains(refused({{"web", 2}}, {.at_epoch = 0, .at_batch = 1000}), "and the edit is for batch 1000",
                 "the beginning of the next epoch"));
  CHECK(l.mixture()[0].weight == 1);
  while (take()) {
  }
  CHECK(got == targets_of(same, 0));
  l.set_mix_weights({{"web", 2}}, {.at_epoch = 4});
  CHECK(contains(refused({{"web", 3}}, {.at_epoch = 3}), "lies before the last edit"));
  CHECK(loader_state::from_bytes(l.state()).edits == 1);
  l.set_mix_weights({{"web", 2}}, {.at_epoch = 4});  // made already
  CHECK(loader_state::from_bytes(l.state()).edits == 1);

  wick::loader ranked(three() | wick::shard(0, 2) | wick::array_batch(10), {.workers = 1});
  CHECK(contains(message_of([&] {
                   ranked.set_mix_weights({{"web", 2}});
                 }),
                 "on several ranks", "say .at_batch"));
  CHECK(contains(message_of([] {
                   wick::mix(weighted_source{numbers{3}, 1, "a"}, weighted_source{numbers{3}, 1, "a"});
                 }),
                 "two sources are called a"));
  CHECK(contains(message_of([] { wick::mix(weighted_source{numbers{3}, 1, "a b"}); }), "is called a b"));
}

TEST_CASE("weights of what is no mix, or of one that is shuffled as a whole, are not edited") {
  wick::loader shuffled(three() | wick::shuffle() | wick::array_batch(4), {.workers = 1});
  CHECK(contains(message_of([&] {
                   shuffled.set_mix_weights({{"web", 2}});
                 }),
                 "are for a mix() with batch() or pack()", "shuffle the mix's sources instead"));
  wick::loader plain(numbers{100} | wick::array_batch(4), {.workers = 1});
  CHECK(contains(message_of([&] { return plain.mixture(); }), "are for a mix() with batch() or pack()"));
  CHECK(contains(message_of([&] { plain.replay_edits("/nowhere"); }),
                 "are for a mix() with batch() or pack()"));
}

TEST_CASE("an edit that leaves a later epoch without a batch is refused, and the journal has nothing of it") {
  const wick_test::temp_dir folder;
  const auto small_and_large = [] {
    return wick::mix(mix_until::all_exhausted, weighted_source{from_number(10, 0), 1, "a"},
                     weighted_source{from_number(200, 1000), 1, "b"}) |
           wick::array_batch(64, {.drop_last = true});
  };
  const wick::loader_options options{.workers = 2, .journal_file = folder / "journal"};
  wick::loader l(small_and_large(), options);
  wick::loader same(small_and_large(), {.workers = 1});
  const auto unwanted = [&] {
    return message_of([&] { l.set_mix_weights({{"a", 1}, {"b", 0}}, {.at_epoch = 1, .at_batch = 0}); });
  };
  // In the middle of an epoch, which continues with all of its batches.
  batches got;
  const auto take = [&] { return take_one(l, got); };
  l.epoch(0);
  REQUIRE(take());
  CHECK(contains(unwanted(), "make no full batch of 64"));
  CHECK(contains(message_of([&] {
                   l.set_mix_weights({{"a", 1}, {"b", 0}}, {.at_epoch = 0, .at_batch = 2});
                 }),
                 "make no full batch of 64"));  // epoch 1 would have 10
  l.epoch(0);
  got.clear();
  while (take()) {
  }
  CHECK(got == targets_of(same, 0));
  CHECK(targets_of(l, 1) == targets_of(same, 1));
  wick::loader again(small_and_large(), options);
  CHECK(targets_of(again, 0) == targets_of(same, 0));
}

TEST_CASE("a change that is refused in the middle of an epoch costs no batch of it") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  wick::loader same(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  l.set_mix_weights({{"web", 2}}, {.at_epoch = 3});
  same.set_mix_weights({{"web", 2}}, {.at_epoch = 3});
  batches got;
  const auto take = [&] { return take_one(l, got); };
  l.epoch(0);
  for (int i = 0; i < 2; ++i) REQUIRE(take());
  CHECK(message_of([&] { l.set_mix_weights({{"web", -1}}); }) != "");
  CHECK(message_of([&] { l.epoch(std::uint64_t{1} << 40); }) != "");
  CHECK(message_of([&] { l.load_state(std::vector<std::byte>(3)); }) != "");
  while (take()) {
  }
  CHECK(got == targets_of(same, 0));
}

TEST_CASE("a journal is the same in a process that writes 0,5") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string(), other = (dir / "other").string();
  batches some;
  training t(1, 2, path);
  t.take(some, 20, 0);
  const wick_test::decimal_comma locale;
  if (!locale.there) return;
  training same(1, 2, other);
  same.take(some, 20, 0);
  CHECK(read(other) == read(path));
  training(1, 1, path).ranks[0]->load_state(t.ranks[0]->state());
}

TEST_CASE("a state needs its journal, and one that is damaged, cut or of another run is refused") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string(), other = (dir / "other").string();
  training t(1, 2, path);
  batches some;
  t.take(some, 20, 0);
  const auto state = t.ranks[0]->state();
  CHECK(loader_state::from_bytes(state).edits == 2);
  const std::string text = read(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);

  const auto load = [&](const std::string& journal) {
    return message_of([&] { training(1, 1, journal).ranks[0]->load_state(state); });
  };
  CHECK(contains(load(""), "behind 2 edits of the mixture, and this loader has 0", "journal_file"));
  write(other, text.substr(0, text.rfind("{\"edit\"")));
  CHECK(contains(load(other), "behind 2 edits of the mixture, and this loader has 1"));
  // The last line torn by a kill: as if it had not been.
  write(other, text.substr(0, text.size() - 5));
  CHECK(contains(load(other), "and this loader has 1"));
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '7' ? '8' : '7';
    write(other, damaged);
    CHECK(contains(load(other), "journal"));
  }
  std::string without = text;
  const std::size_t first = text.find("{\"edit\":1");
  without.erase(first, text.find('\n', first) + 1 - first);
  write(other, without);
  CHECK(contains(load(other), "journal: line 2 is damaged, is missing one before it"));
  // Twice the same line is two ranks with one file.
  write(other, text + text.substr(first));
  CHECK(load(other).empty());
  // Other edits.
  training u(1, 1, (dir / "third").string());
  u.ranks[0]->set_mix_weights({{"web", 9}}, {.at_epoch = 0, .at_batch = 2});
  u.ranks[0]->set_mix_weights({{"web", 8}}, {.at_epoch = 0, .at_batch = 3});
  CHECK(contains(message_of([&] { u.ranks[0]->load_state(state); }), "behind other edits of the mixture"));
  // Of another pipeline.
  CHECK(contains(message_of([&] { wick::loader(three() | wick::array_batch(7), {.journal_file = path}); }),
                 "is of another data set, pipeline or global batch"));
  write(other, "once upon a time\n");
  CHECK(contains(load(other), "is not the beginning of a journal"));
  CHECK(contains(message_of([&] { training(1, 1).ranks[0]->replay_edits((dir / "none").string()); }),
                 "can't be read"));
  CHECK(contains(message_of([&] { wick::loader(numbers{3} | wick::array_batch(1), {.journal_file = path}); }),
                 "no mixture that can be edited"));
  CHECK(load(path).empty());
}

TEST_CASE("a state behind a place that was edited since is refused, and one in front of it is not") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  training t(1, 2, path);
  batches some;
  t.take(some, 10, 0, false);
  const auto before = t.ranks[0]->state();  // at batch 10
  for (int i = 0; i < 5; ++i) REQUIRE(t.ranks[0]->next());
  const auto behind = t.ranks[0]->state();  // at batch 15
  {
    training back(1, 2, path);
    back.ranks[0]->load_state(before);
    back.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 0, .at_batch = 12});
  }
  training again(1, 1, path);
  CHECK(contains(message_of([&] { return again.ranks[0]->load_state(behind), 0; }),
                 "edited at batch 12 of epoch 0", "at batch 15 of epoch 0"));
  again.ranks[0]->load_state(before);
  // An edit of the very batch that comes next is one that was made after the state.
  training at(1, 2, (dir / "other").string());
  batches none;
  at.take(none, 10, 0, false);
  const auto here = at.ranks[0]->state();
  at.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 0, .at_batch = 10});
  at.ranks[0]->load_state(here);
}

TEST_CASE("an epoch that no training reaches is refused") {
  training t(1, 1);
  for (const std::uint64_t epoch : {~std::uint64_t{0}, std::uint64_t{1} << 32}) {
    CHECK(contains(message_of([&] {
                     t.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = epoch});
                   }),
                   "epochs are counted from 0 to 4294967295"));
  }
  t.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 1});
}

TEST_CASE("weights that are none, twice the same name, and no weight at all are refused") {
  wick::loader l(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  const auto refused = [&](const std::vector<source_weight>& to) {
    return message_of([&] { l.set_mix_weights(to); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  CHECK(contains(refused({{"web", nan}}), "a weight of nan for web", "finite and not below 0"));
  CHECK(contains(refused({{"web", infinite}}), "a weight of inf for web", "finite"));
  CHECK(contains(refused({{"web", 1e308}, {"books", 1e308}}), "the sum finite"));
  CHECK(contains(refused({{"web", -0.5}}), "not below 0"));
  CHECK(contains(refused({{"web", 0}, {"books", 0}, {"code", 0}}), "one at least must be above 0"));
  CHECK(contains(refused({{"web", 1}, {"web", 2}}), "web has two weights; give it one"));
  CHECK(contains(refused({}), "no weight is given; write set_mix_weights({{\"web\", 2}})"));
  CHECK(contains(refused({{"films", 1}}), "has its place in the mix from the beginning, with weight 0"));
  CHECK(loader_state::from_bytes(l.state()).edits == 0);
  wick::loader same(three() | wick::array_batch(10), {.seed = 2, .workers = 2});
  CHECK(targets_of(l, 0) == targets_of(same, 0));
}

TEST_CASE("an edit can be taken back at the same batch, and made again at any time") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  std::vector<std::byte> state;
  {
    training t(1, 1, path);
    loader& l = *t.ranks[0];
    for (const double w : {3, 5, 3}) l.set_mix_weights({{"web", w}}, {.at_epoch = 0, .at_batch = 2});
    CHECK(loader_state::from_bytes(l.state()).edits == 3);
    l.set_mix_weights({{"books", 2}}, {.at_epoch = 1});
    l.set_mix_weights({{"web", 3}}, {.at_epoch = 0, .at_batch = 2});
    CHECK(l.mixture()[0].weight == 1);
    l.epoch(0);
    for (int i = 0; i < 2; ++i) REQUIRE(l.next());
    CHECK(l.mixture()[0].weight == 3);
    REQUIRE(l.next());
    for (const double w : {3, 5})
      l.set_mix_weights({{"web", w}}, {.at_epoch = 0, .at_batch = 2});  // passed: made already
    CHECK(contains(message_of([&] {
                     l.set_mix_weights({{"web", 4}}, {.at_epoch = 0, .at_batch = 2});
                   }),
                   "was handed over already"));
    state = l.state();
    CHECK(loader_state::from_bytes(state).edits == 4);
  }
  training again(1, 1, path);
  for (const double w : {3, 5, 3})
    again.ranks[0]->set_mix_weights({{"web", w}}, {.at_epoch = 0, .at_batch = 2});
  again.ranks[0]->load_state(state);
  CHECK(again.ranks[0]->mixture() == std::vector<source_weight>{{"web", 3}, {"books", 1}, {"code", 0}});
  CHECK(again.ranks[0]->state() == state);
}

TEST_CASE("an edit reads what its journal has got since the last one, not all of it") {
  const auto bytes_read = [] {
    std::ifstream io("/proc/self/io");
    std::string what;
    std::uint64_t bytes = 0;
    return io >> what >> bytes && what == "rchar:" ? std::optional(bytes) : std::nullopt;
  };
  const std::optional<std::uint64_t> before = bytes_read();
  if (!before) {
    MESSAGE("skipped: the system does not say how much a process reads");
    return;
  }
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  training t(1, 1, path);
  for (std::uint64_t e = 1; e <= 200; ++e)
    t.ranks[0]->set_mix_weights({{"web", 1 + static_cast<double>(e % 3)}}, {.at_epoch = e});
  const std::uint64_t size = std::filesystem::file_size(path);
  CHECK(loader_state::from_bytes(t.ranks[0]->state()).edits == 200);
  CHECK(*bytes_read() - *before < 4 * size + 65'536);  // all of it each time: 200 times
  // A journal that was put back is read from its beginning.
  std::filesystem::resize_file(path, size / 2);
  CHECK(contains(message_of([&] {
                   t.ranks[0]->set_mix_weights({{"web", 9}}, {.at_epoch = 300});
                 }),
                 "journal"));
}

TEST_CASE("what is reported of an epoch is the same whether an edit dropped prefetched batches or not") {
  const auto print = [](std::size_t ahead) {
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
    std::size_t number = 0;
    for (l.epoch(0);; ++number) {
      if (number + ahead == 20)
        l.set_mix_weights({{"code", 5}, {"web", 0.1}}, {.at_epoch = 0, .at_batch = 20});
      if (!l.next()) break;
    }
    CHECK(l.failure_log().total() > 10);
    return std::tuple(l.fingerprint(0), l.failure_log().total(), l.filtered(), number);
  };
  CHECK(print(0) == print(20));
  CHECK(print(7) == print(20));
}

TEST_CASE("ranks with one journal that edit differently get an error, and the first edit holds") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  training t(2, 1, path);
  const wick::edit_options there{.at_epoch = 0, .at_batch = 3};
  t.ranks[0]->set_mix_weights({{"web", 2}}, there);
  const auto refused = [&](double weight, wick::edit_options at) {
    return message_of([&] { t.ranks[1]->set_mix_weights({{"web", weight}}, at); });
  };
  CHECK(contains(refused(4, there), "another process has made edit 1 for batch 3 of epoch 0",
                 "Make the same edits on all ranks"));
  CHECK(contains(refused(2, {.at_epoch = 0, .at_batch = 4}), "another process has made edit 1"));
  CHECK(loader_state::from_bytes(t.ranks[1]->state()).edits == 0);
  t.ranks[1]->set_mix_weights({{"web", 2}}, there);
  CHECK(t.ranks[1]->state() == t.ranks[0]->state());
  const std::string text = read(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);  // one of the two wrote it
  // Written in the very moment between: the first counts, also for a process that reads it later.
  const wick_test::temp_dir others;
  training u(1, 1, (others / "journal").string());
  u.ranks[0]->set_mix_weights({{"web", 7}}, there);
  const std::string late = read((others / "journal").string());
  write(path, text + late.substr(late.find("{\"edit\":1")));
  training v(1, 1, path);
  v.ranks[0]->load_state(t.ranks[0]->state());
  CHECK(v.ranks[0]->state() == t.ranks[0]->state());
  // Another process has edited meanwhile, and this one knows nothing of it.
  t.ranks[0]->set_mix_weights({{"web", 1}}, {.at_epoch = 1});
  CHECK(contains(refused(3, {.at_epoch = 2}), "another process has made edit 2 for batch 0 of epoch 1"));
  // The file is gone.
  std::filesystem::remove(path);
  CHECK(contains(message_of([&] {
                   t.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 2});
                 }),
                 "can't be read"));
  CHECK(loader_state::from_bytes(t.ranks[0]->state()).edits == 2);
}

TEST_CASE("a journal torn anywhere by a kill is continued, also behind an end that others gave the line") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  {
    training t(1, 1, path);
    t.ranks[0]->set_mix_weights({{"web", 2}}, {.at_epoch = 0, .at_batch = 3});
    t.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 0, .at_batch = 4});
  }
  const std::string text = read(path);
  for (std::size_t size = 0; size < text.size(); size += size + 6 < text.size() ? 5 : 1) {
    for (const bool ended : {false, true}) {
      const std::string left = text.substr(0, size);
      if (ended && (left.empty() || left.back() == '\n')) continue;
      if (ended && size + 1 == text.size()) continue;  // that is whole
      write(path, ended ? left + "\n" : left);
      training t(1, 1, path);
      const auto edits = loader_state::from_bytes(t.ranks[0]->state()).edits;
      const bool whole = left.ends_with("\"}");  // but for its end, which it is given
      const std::ptrdiff_t lines = std::count(left.begin(), left.end(), '\n') + (whole ? 1 : 0);
      CHECK(edits == static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(0, lines - 1)));
      t.ranks[0]->set_mix_weights({{"web", 2}}, {.at_epoch = 0, .at_batch = 3});
      t.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 0, .at_batch = 4});
      training again(1, 1, path);
      CHECK(again.ranks[0]->state() == t.ranks[0]->state());
      CHECK(loader_state::from_bytes(again.ranks[0]->state()).edits == 2);
      if (!ended) CHECK(read(path) == text);
    }
  }
}

TEST_CASE("an edit that the disk has no room for is refused, and the mixture is as it was") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  {
    training t(1, 1, path);
    t.ranks[0]->set_mix_weights({{"web", 2}}, {.at_epoch = 0, .at_batch = 3});
  }
  const std::string text = read(path);
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit limit{text.size() + 20, text.size() + 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(1);
    training t(1, 1, path);
    const auto before = t.ranks[0]->state();
    const std::string told = message_of([&] {
      t.ranks[0]->set_mix_weights({{"web", 3}}, {.at_epoch = 0, .at_batch = 4});
    });
    const bool same = t.ranks[0]->state() == before;
    if (!contains(told, "journal_file: an edit can't be written: File too large", "the mixture is as it was"))
      ::_exit(2);
    ::_exit(same ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read(path) == text);
  const bool tried = wick_test::with_own_mounts([&] {
    const auto small = dir.path() / "small";
    std::filesystem::create_directory(small);
    if (!wick_test::mount_small(small, 64 * 1024)) return false;
    training t(1, 1, (small / "journal").string());
    { std::ofstream(small / "rest") << std::string(100'000, 'x'); }
    // Edits until the last page is full.
    std::string told;
    std::uint64_t made = 0;
    while (told.empty() && made < 100) {
      told = message_of([&] {
        t.ranks[0]->set_mix_weights({{"web", 2.0 + static_cast<double>(made)}}, {.at_epoch = made});
      });
      if (told.empty()) ++made;
    }
    CHECK(contains(told, "an edit can't be written: No space left on device"));
    CHECK(loader_state::from_bytes(t.ranks[0]->state()).edits == made);
    std::filesystem::remove(small / "rest");
    t.ranks[0]->set_mix_weights({{"web", 99}}, {.at_epoch = 200});
    training again(1, 1, (small / "journal").string());
    CHECK(again.ranks[0]->state() == t.ranks[0]->state());
    return true;
  });
  if (!tried) MESSAGE("skipped a real full disk: no file system may be mounted here");
}

TEST_CASE("a process killed while it writes its journal leaves one that all can continue with") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  std::uint64_t before = 0;
  for (int round = 0; round < 12; ++round) {
    int told[2];
    REQUIRE(::pipe(told) == 0);
    const ::pid_t child = ::fork();
    if (child == 0) {
      training t(1, 1, path);
      for (std::uint64_t e = before;; ++e) {
        t.ranks[0]->set_mix_weights({{"web", 1.0 + static_cast<double>(e)}}, {.at_epoch = e});
        if (::write(told[1], &e, sizeof e) != sizeof e) ::_exit(1);
      }
    }
    ::close(told[1]);
    std::uint64_t last = 0;
    for (int i = 0; i < 3 + round; ++i) REQUIRE(::read(told[0], &last, sizeof last) == sizeof last);
    ::kill(child, SIGKILL);
    while (::read(told[0], &last, sizeof last) == sizeof last) {
    }
    ::close(told[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    training t(1, 1, path);
    const std::uint64_t edits = loader_state::from_bytes(t.ranks[0]->state()).edits;
    CHECK(edits >= last + 1);  // all that the child reported
    CHECK(edits <= last + 2);
    before = edits;
  }
}

TEST_CASE(
    "a journal of another seed, of other names, or that is no file is refused; replay_edits() takes the "
    "first") {
  const wick_test::temp_dir dir;
  const std::string path = (dir / "journal").string();
  {
    training t(1, 1, path);
    t.ranks[0]->set_mix_weights({{"web", 2}}, {.at_epoch = 0, .at_batch = 3});
  }
  CHECK(contains(message_of([&] { loader(pipeline(), {.seed = 6, .journal_file = path}); }),
                 "of another run, with seed 5, and this one has 6", "replay_edits()"));
  loader other(pipeline(), {.seed = 6, .workers = 1, .journal_file = (dir / "other").string()});
  other.replay_edits(path);
  CHECK(loader_state::from_bytes(other.state()).edits == 1);
  const auto renamed = [&] {
    wick::loader(
        wick::mix(mix_until::all_exhausted, weighted_source{from_number(200, 0) | wick::shuffle(), 1, "net"},
                  weighted_source{from_number(150, 1000) | wick::shuffle(), 1, "books"},
                  weighted_source{from_number(60, 2000), 0, "code"}) |
            wick::shard(0, 1) | wick::map("draw", draw) | wick::array_batch(12),
        {.seed = 5, .journal_file = path});
  };
  CHECK(contains(message_of(renamed), "of another data set, pipeline or global batch"));
  CHECK(contains(message_of([&] { training(1, 1, dir.path().string()); }), "journal_file", "folder"));
  CHECK(contains(message_of([&] { training(1, 1, "/dev/full"); }), "journal_file", "not a file"));
  CHECK(contains(message_of([&] { training(1, 1, (dir / "no" / "journal").string()); }),
                 "journal_file: can't be opened: No such file or directory", "a folder that exists"));
}
