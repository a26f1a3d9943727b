#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

using wick::error_action;
using wick::fail;
using wick::on_error;
using wick::replace;
using wick::retry;
using wick::skip;
using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::read_file;
using wick_test::temp_dir;

namespace {

bool bad_early(std::int64_t i) { return i % 13 == 5; }
bool bad_late(std::int64_t i) { return i % 29 == 7; }
bool bad(std::int64_t i) { return bad_early(i) || bad_late(i); }

cell early(cell c) {
  if (bad_early(c.target)) throw wick::error("it broke");
  return c;
}
cell late(cell c, wick::context& context) {
  c.data[2] = static_cast<std::uint8_t>(context.random().below(256));
  if (bad_late(c.target)) throw std::out_of_range("too late");
  return c;
}
wick::task<cell> hop(cell c, wick::context& context) {
  if (context.random().bernoulli(0.5)) co_await context.on()->schedule();
  co_return c;
}

/// Stages of the same names, numbers and random streams in both, so that both give the same bytes.
auto suspending(std::uint64_t size, std::int64_t batch, std::uint64_t rank = 0, std::uint64_t world = 1,
                wick::detail::batch_options o = {}) {
  return numbers{size} | wick::shuffle() | wick::shard(rank, world) | wick::map("early", early) |
         wick::map("hop", hop) | wick::map("late", late) | wick::array_batch(batch, o);
}
auto straight(std::uint64_t size, std::int64_t batch, std::uint64_t rank = 0, std::uint64_t world = 1,
              wick::detail::batch_options o = {}) {
  return numbers{size} | wick::shuffle() | wick::shard(rank, world) | wick::map("early", early) |
         wick::map("hop", [](cell c) { return c; }) | wick::map("late", late) | wick::array_batch(batch, o);
}

/// What a consumer saw: of each batch its bytes and targets, or what was thrown.
struct seen {
  std::vector<std::string> batches;
  std::vector<std::vector<std::int64_t>> targets;
  std::vector<std::string> ledger;
  wick::epoch_fingerprint print;
  bool operator==(const seen& o) const {
    return batches == o.batches && targets == o.targets && ledger == o.ledger && print == o.print;
  }
};

template <class Batch>
void note(seen& s, const Batch& b) {
  const auto* bytes = reinterpret_cast<const char*>(b.data.data());
  const auto* t = b.target.template as<std::int64_t>();
  s.batches.emplace_back(bytes, b.data.bytes());
  s.targets.emplace_back(t, t + b.target.extents()[0]);
}
/// The rest of the epoch, or `most` batches.
template <class Loader>
void take(Loader& from, seen& s, std::size_t most = ~std::size_t{0}) {
  for (; most > 0; --most) {
    try {
      const auto b = from.next();
      if (!b) break;
      note(s, *b);
    } catch (const wick::error& e) {
      s.batches.emplace_back(e.what());
      s.targets.emplace_back();
    }
  }
}
template <class Loader>
void note_ledger(const Loader& from, seen& s) {
  for (const auto& e : from.ledger().entries()) s.ledger.push_back(wick::detail::to_json(e));
}
template <class Pipeline>
seen run(Pipeline p, wick::loader_options o, std::uint64_t epoch = 1) {
  wick::loader l(std::move(p), o);
  seen s;
  l.epoch(epoch);
  take(l, s);
  note_ledger(l, s);
  s.print = l.fingerprint(epoch);
  return s;
}
std::vector<std::int64_t> flat(const seen& s) {
  std::vector<std::int64_t> out;
  for (const auto& t : s.targets) out.insert(out.end(), t.begin(), t.end());
  return out;
}

std::vector<std::pair<const char*, wick::detail::error_policy>> policies() {
  using namespace std::chrono_literals;
  return {{"fail", {}},
          {"skip", on_error(skip)},
          {"compact", on_error(skip, {.compact = true})},
          {"replace", on_error(replace)},
          {"retry, skip", on_error(retry(2, 1ms).then(skip))},
          {"retry one stage, replace", on_error(replace).at("late", retry(1))},
          {"skip one stage, replace the other", on_error(skip).at("late", replace)},
          {"fail one stage", on_error(replace).at("late", fail)},
          {"compact, replace one stage", on_error(skip, {.compact = true}).at("late", replace)}};
}

}  // namespace

TEST_CASE(
    "under every policy the same batches, ledger and fingerprint at any number of workers and prefetch, "
    "suspending or not") {
  for (const auto& [name, policy] : policies()) {
    CAPTURE(name);
    const seen expected =
        run(straight(500, 32), {.seed = 4, .workers = 1, .prefetch = 1, .on_error = policy});
    for (const std::size_t workers : {1, 2, 4}) {
      for (const std::size_t prefetch : {1, 2, 8}) {
        const wick::loader_options o{.seed = 4, .workers = workers, .prefetch = prefetch, .on_error = policy};
        REQUIRE(run(straight(500, 32), o) == expected);
        REQUIRE(run(suspending(500, 32), o) == expected);
      }
    }
  }
}

TEST_CASE("skip leaves out what failed and nothing else, each batch dense and in order") {
  const seen s = run(suspending(500, 32), {.seed = 4, .workers = 2, .on_error = on_error(skip)});
  const wick::detail::permutation order(500, 4, 1, 0);
  REQUIRE(s.targets.size() == 16);
  for (std::uint64_t b = 0; b < 16; ++b) {
    std::vector<std::int64_t> wanted;
    for (std::uint64_t p = 32 * b; p < std::min<std::uint64_t>(500, 32 * b + 32); ++p) {
      if (const auto i = static_cast<std::int64_t>(order(p)); !bad(i)) wanted.push_back(i);
    }
    CHECK(s.targets[b] == wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(static_cast<std::uint8_t>(s.batches[b][8 * i]) == static_cast<std::uint8_t>(wanted[i]));
    }
  }
}

TEST_CASE(
    "replace keeps batches full and good samples in their places; what is drawn is of the epoch, and good") {
  // Only even numbers are in the epoch: no other may be drawn.
  std::vector<std::uint64_t> even;
  for (std::uint64_t i = 0; i < 500; i += 2) even.push_back(i);
  wick::loader l(
      numbers{500} | wick::subset(even) | wick::shuffle() | wick::map("early", early) | wick::array_batch(25),
      {.seed = 4, .workers = 2, .on_error = on_error(replace)});
  seen s;
  std::map<std::int64_t, int> drawn;
  std::uint64_t bad_ones = 0;
  for (std::uint64_t e = 0; e < 3; ++e) {
    s = {};
    l.epoch(e);
    take(l, s);
    const wick::detail::permutation order(250, 4, e, 1);
    const std::vector<std::int64_t> all = flat(s);
    REQUIRE(all.size() == 250);
    for (std::uint64_t p = 0; p < 250; ++p) {
      const auto planned = static_cast<std::int64_t>(even[order(p)]);
      if (!bad_early(planned)) {
        CHECK(all[p] == planned);
      } else {
        ++bad_ones;
        CHECK(all[p] % 2 == 0);
        CHECK(!bad_early(all[p]));
        ++drawn[all[p]];
      }
    }
  }
  CHECK(drawn.size() > bad_ones / 2);  // not always the same one
  // Each entry says what was drawn for it: a bad one has an entry of its own, right behind.
  const auto& entries = l.ledger().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CHECK(entries[i].action == error_action::replace);
    const std::int64_t substitute = std::stoll(entries[i].substitute.substr(7));
    const bool next_is_same = i + 1 < entries.size() && entries[i + 1].position == entries[i].position &&
                              entries[i + 1].epoch == entries[i].epoch;
    CHECK(bad_early(substitute) == next_is_same);
    if (next_is_same) CHECK(entries[i + 1].key == entries[i].substitute);
  }
}

TEST_CASE(
    "ranks share what one rank delivers, under every policy but compact; ledgers and fingerprints add up") {
  for (const auto& [name, policy] : policies()) {
    if (policy.options().compact || policy.rule_for("late").action == error_action::fail) continue;
    CAPTURE(name);
    const seen whole = run(suspending(500, 32), {.seed = 4, .workers = 2, .on_error = policy});
    for (const std::uint64_t world : {2, 3, 5}) {
      std::vector<std::vector<std::int64_t>> together(whole.targets.size());
      std::vector<std::string> ledger;
      wick::epoch_fingerprint sum;
      for (std::uint64_t r = 0; r < world; ++r) {
        const seen part = run(suspending(500, 32, r, world), {.seed = 4, .workers = 2, .on_error = policy});
        REQUIRE(part.targets.size() == whole.targets.size());
        for (std::size_t b = 0; b < part.targets.size(); ++b) {
          together[b].insert(together[b].end(), part.targets[b].begin(), part.targets[b].end());
        }
        ledger.insert(ledger.end(), part.ledger.begin(), part.ledger.end());
        sum += part.print;
      }
      CHECK(together == whole.targets);
      CHECK(sum == whole.print);
      std::vector<std::string> expected = whole.ledger;
      std::sort(expected.begin(), expected.end());
      std::sort(ledger.begin(), ledger.end());
      CHECK(ledger == expected);
    }
  }
}

TEST_CASE(
    "stopped anywhere and resumed, a training has the same batches, ledger and fingerprints under every "
    "policy") {
  for (const auto& [name, policy] : policies()) {
    CAPTURE(name);
    const auto options = [&](std::size_t workers) {
      return wick::loader_options{.seed = 4, .workers = workers, .on_error = policy};
    };
    wick::loader whole(suspending(300, 16), options(2));
    seen expected;
    for (std::uint64_t e = 0; e < 3; ++e) {
      whole.epoch(e);
      take(whole, expected);
    }
    note_ledger(whole, expected);
    for (std::size_t step = 1; step < 12; step += 2) {
      seen got;
      std::vector<wick::epoch_fingerprint> prints(3);
      std::vector<std::byte> state;
      std::uint64_t training = 0;
      for (;;) {
        wick::loader l(suspending(300, 16), options(1 + step % 3));
        if (!state.empty()) l.load_state(state);
        const std::uint64_t epoch = l.current_epoch();
        if (epoch == 3) break;
        l.epoch(epoch);
        take(l, got, step);
        prints[epoch] += l.fingerprint(epoch);
        note_ledger(l, got);
        training = l.ledger().of_training();
        state = l.state();
      }
      CHECK(got.batches == expected.batches);
      CHECK(got.ledger == expected.ledger);
      for (std::uint64_t e = 0; e < 3; ++e) CHECK(prints[e] == whole.fingerprint(e));
      CHECK(training == whole.ledger().of_training());
    }
  }
}

TEST_CASE(
    "compact: every good sample once, all batches full but the last, whatever the sizes and wherever "
    "failures are") {
  for (const std::uint64_t size : {1, 5, 31, 64, 100, 517}) {
    for (const std::int64_t batch : {1, 4, 32}) {
      for (const bool drop_last : {false, true}) {
        if (drop_last && size < static_cast<std::uint64_t>(batch)) continue;
        CAPTURE(size);
        CAPTURE(batch);
        CAPTURE(drop_last);
        const wick::loader_options o{.seed = 2, .workers = 3, .on_error = on_error(skip, {.compact = true})};
        const seen s = run(straight(size, batch, 0, 1, {.drop_last = drop_last}), o);
        std::size_t good = 0;
        for (std::uint64_t i = 0; i < size; ++i) good += bad(static_cast<std::int64_t>(i)) ? 0 : 1;
        const std::size_t n = static_cast<std::size_t>(batch);
        CHECK(s.targets.size() == (drop_last ? good / n : (good + n - 1) / n));
        for (std::size_t b = 0; b + 1 < s.targets.size(); ++b) CHECK(s.targets[b].size() == n);
        std::vector<std::int64_t> all = flat(s);
        CHECK(all.size() == (drop_last ? good / n * n : good));
        std::sort(all.begin(), all.end());
        CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
        CHECK(std::none_of(all.begin(), all.end(), bad));
        if (!drop_last) CHECK(s.ledger.size() == size - good);
      }
    }
  }
}

TEST_CASE("compact: the sample of a position takes its random numbers and its bytes along") {
  const auto bytes = [](wick::detail::error_policy policy, std::int64_t batch) {
    std::map<std::int64_t, std::string> out;
    const seen s = run(suspending(500, batch), {.seed = 4, .workers = 2, .on_error = policy});
    for (std::size_t b = 0; b < s.targets.size(); ++b) {
      for (std::size_t i = 0; i < s.targets[b].size(); ++i)
        out[s.targets[b][i]] = s.batches[b].substr(8 * i, 8);
    }
    return out;
  };
  CHECK(bytes(on_error(skip, {.compact = true}), 32) == bytes(on_error(skip), 32));
}

TEST_CASE(
    "a retry is the same sample again, from the source on, with the same random numbers; its end is in the "
    "ledger") {
  using namespace std::chrono_literals;
  for (const auto backoff : {0ms, 1ms}) {
    auto tries = std::make_shared<std::vector<std::atomic<int>>>(200);
    const auto make = [&](bool flaky) {
      return numbers{200} | wick::shuffle() |
             wick::map("late",
                       [](cell c, wick::context& x) {
                         c.data[2] = static_cast<std::uint8_t>(x.random().below(256));
                         return c;
                       }) |
             wick::map("flaky",
                       [tries, flaky](cell c) {
                         // Sample i succeeds at its (i % 4)-th try more.
                         if (flaky && (*tries)[static_cast<std::size_t>(c.target)]++ < c.target % 4) {
                           throw std::system_error(std::make_error_code(std::errc::timed_out));
                         }
                         return c;
                       }) |
             wick::array_batch(16);
    };
    const seen expected = run(make(false), {.seed = 4, .workers = 2});
    wick::loader l(make(true), {.seed = 4,
                                .workers = 2,
                                .prefetch_next_epoch = false,
                                .on_error = on_error(skip).at("flaky", retry(3, backoff))});
    seen s;
    l.epoch(1);
    take(l, s);
    CHECK(s.batches == expected.batches);
    CHECK(l.fingerprint(1) == expected.print);
    CHECK(l.ledger().total() == 0);
    REQUIRE(l.ledger().entries().size() == 150);
    for (const auto& e : l.ledger().entries()) {
      CHECK(e.action == error_action::retry);
      CHECK(e.kind == wick::error_kind::system);
      CHECK(e.tries == static_cast<unsigned>(std::stoi(e.key.substr(7)) % 4 + 1));
    }
    CHECK(contains(l.report().to_string(), "0 samples failed (flaky: 150 good when tried again)"));
  }
}

TEST_CASE("without batch() samples that were left out one after the other end nothing, and are not counted") {
  wick::loader l(numbers{40} | wick::map("gone",
                                         [](cell c) {
                                           if (c.target < 2 || (c.target > 32 && c.target < 39)) {
                                             throw std::runtime_error("no");
                                           }
                                           return c;
                                         }),
                 {.workers = 2, .prefetch_next_epoch = false, .on_error = on_error(skip)});
  std::vector<std::int64_t> seen, expected;
  for (std::int64_t i = 2; i < 40; ++i) {
    if (i <= 32 || i >= 39) expected.push_back(i);
  }
  while (const auto c = l.next()) seen.push_back(c->target);
  CHECK(seen == expected);
  CHECK(l.ledger().total() == 8);
  CHECK(l.report().samples == expected.size());
}

TEST_CASE("a retry waits for its backoff, each further one for twice as long") {
  using namespace std::chrono_literals;
  using wick::detail::pause_before;
  CHECK(pause_before(retry(3, 2s), 1) == 2s);
  CHECK(pause_before(retry(3, 2s), 2) == 4s);
  CHECK(pause_before(retry(3, 2s), 3) == 8s);
  CHECK(pause_before(retry(1), 1) == 0s);
  // The most retries that there may be are no overflow.
  CHECK(pause_before(retry(1000, 1s), 1000) > std::chrono::hours(24));

  auto at = std::make_shared<std::vector<std::chrono::steady_clock::time_point>>();
  wick::loader l(
      numbers{1} |
          wick::map("never",
                    [at](cell) -> cell {
                      at->push_back(std::chrono::steady_clock::now());
                      throw std::runtime_error("no");
                    }) |
          wick::array_batch(1),
      {.workers = 2, .prefetch_next_epoch = false, .on_error = on_error(retry(3, 4ms).then(skip))});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents()[0] == 0);
  REQUIRE(at->size() == 4);
  CHECK((*at)[1] - (*at)[0] >= 4ms);
  CHECK((*at)[2] - (*at)[1] >= 8ms);
  CHECK((*at)[3] - (*at)[2] >= 16ms);
}

TEST_CASE("what a retry does not help is tried as often as was said, then left out") {
  auto calls = std::make_shared<std::atomic<int>>(0);
  wick::loader l(numbers{10} |
                     wick::map("never",
                               [calls](cell c) {
                                 if (c.target != 6) return c;
                                 ++*calls;
                                 throw std::runtime_error("no");
                               }) |
                     wick::array_batch(5),
                 {.workers = 1, .prefetch_next_epoch = false, .on_error = on_error(retry(4).then(skip))});
  seen s;
  take(l, s);
  CHECK(flat(s) == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 7, 8, 9});
  CHECK(*calls == 5);
  REQUIRE(l.ledger().entries().size() == 1);
  CHECK(l.ledger().entries()[0].tries == 5);
}

TEST_CASE("while a sample waits to be tried again the only worker goes on, also where no stage suspends") {
  using namespace std::chrono_literals;
  auto open = std::make_shared<std::atomic<bool>>(false);
  wick::loader l(
      numbers{40} |
          wick::map("meet",
                    [open](cell c) {
                      // 0 can't succeed before 39, of the last batch, was there.
                      if (c.target == 0 && !*open) throw std::runtime_error("not yet");
                      if (c.target == 39) *open = true;
                      return c;
                    }) |
          wick::array_batch(10),
      {.workers = 1, .prefetch = 4, .prefetch_next_epoch = false, .on_error = on_error(retry(1000, 1us))});
  seen s;
  take(l, s);
  std::vector<std::int64_t> all(40);
  for (std::size_t i = 0; i < 40; ++i) all[i] = static_cast<std::int64_t>(i);
  CHECK(flat(s) == all);
}

TEST_CASE("a loader is destroyed promptly while samples wait for hours to be tried again") {
  using namespace std::chrono_literals;
  for (int round = 0; round < 20; ++round) {
    auto alive = std::make_shared<int>(0);
    {
      wick::loader l(numbers{1000} |
                         wick::map("bad",
                                   [alive](cell c) -> cell {
                                     if (c.target < 10) return c;
                                     throw std::runtime_error("bad");
                                   }) |
                         wick::array_batch(10),
                     {.workers = 2, .on_error = on_error(retry(3, 10h).then(skip))});
      REQUIRE(l.next());
      if (round % 2 == 0) l.epoch(1);  // leaves them behind, too
    }
    CHECK(alive.use_count() == 1);
  }
}

TEST_CASE("substitutes are bounded: when all that may be drawn fail the batch fails, and says so") {
  wick::loader l(numbers{100} |
                     wick::map("all",
                               [](cell c) -> cell {
                                 if (c.target < 10) return c;
                                 throw std::runtime_error("bad");
                               }) |
                     wick::array_batch(10),
                 {.workers = 2, .on_error = on_error(replace, {.substitutes = 3})});
  CHECK(l.next());
  const std::string text = message_of([&] { return l.next(); });
  CHECK(contains(text, ": all: bad; none of the 3 samples drawn for this position could be had"));
  for (const auto& e : l.ledger().entries()) {
    const auto same = [&](const wick::ledger_entry& o) { return o.position == e.position; };
    CHECK(std::count_if(l.ledger().entries().begin(), l.ledger().entries().end(), same) <= 4);
  }
  // One sample alone: there is nobody else.
  wick::loader one(numbers{1} | wick::map("bad", [](cell) -> cell { throw std::runtime_error("bad"); }) |
                       wick::array_batch(1),
                   {.workers = 1, .on_error = on_error(replace)});
  CHECK(contains(message_of([&] { return one.next(); }), "number 0: bad: bad; none of the 16"));
}

TEST_CASE("limits throw in place of always the same batch, at any number of workers, and across a resume") {
  struct limit {
    wick::error_options options;
    const char* text;
  };
  // Of 2,000 samples about one in nine is bad; those of 700 to 719 all are.
  const auto make = [] {
    return numbers{2000} | wick::map("early", early) |
           wick::map("run",
                     [](cell c) {
                       if (c.target >= 700 && c.target < 720) throw std::runtime_error("gone");
                       return c;
                     }) |
           wick::array_batch(32);
  };
  for (const limit& by :
       {limit{{.count = 50},
              " samples failed in this training, and on_error allows 50; the last was number "},
        limit{{.rate = 0.083}, "and on_error allows a rate of 0.083"},
        limit{{.consecutive = 20},
              " samples failed one after another, and on_error allows 20; the last was number "}}) {
    CAPTURE(std::string(by.text));
    std::vector<seen> all;
    for (const std::size_t workers : {1, 2, 4}) {
      for (const bool resumes : {false, true}) {
        const wick::loader_options o{
            .seed = 1, .workers = workers, .on_error = on_error(replace, by.options)};
        wick::loader l(make(), o), second(make(), o);
        seen s;
        if (resumes) {
          take(l, s, 15);
          second.load_state(l.state());
          take(second, s);
        } else {
          take(l, s);
        }
        all.push_back(std::move(s));
        CHECK(all.back().batches == all.front().batches);
      }
    }
    const auto& b = all.front().batches;
    const auto first = std::find_if(b.begin(), b.end(), [&](const auto& t) { return contains(t, by.text); });
    REQUIRE(first != b.end());
    CHECK(std::none_of(b.begin(), first, [](const auto& t) { return contains(t, "on_error allows"); }));
    CHECK(b.size() == 63);  // who goes on gets the rest
  }
  wick::loader l(make(), {.seed = 1, .on_error = on_error(skip, {.count = 0})});
  CHECK_THROWS_AS(l.next(), wick::too_many_errors);
}

TEST_CASE(
    "failures one after another are those without a good sample between them, whatever batches they are in") {
  const auto survives = [](auto bad, auto... batched) {
    const auto some = [bad](cell c) {
      if (bad(c.target)) throw std::runtime_error("bad");
      return c;
    };
    wick::loader l(((numbers{3000} | wick::map("some", some)) | ... | batched),
                   {.workers = 2, .on_error = on_error(skip, {.consecutive = 1})});
    return message_of([&] {
             while (l.next()) {
             }
             return 0;
           })
        .empty();
  };
  const auto batch = wick::array_batch(32);
  CHECK(survives([](std::int64_t i) { return i % 32 == 0; }, batch));  // the first of each batch
  CHECK(survives([](std::int64_t i) { return i % 2 == 0; }, batch));
  CHECK(!survives([](std::int64_t i) { return i == 31 || i == 32; }, batch));
  CHECK(survives([](std::int64_t i) { return i % 2 == 0; }));
  for (const std::int64_t n : {16, 32, 64, 128, 256, 512}) {
    // Without batch(), samples come in groups: the last of one, none of the next, the first of the one
    // behind.
    CHECK(survives([n](std::int64_t i) { return i % (3 * n) == n - 1 || i % (3 * n) == 2 * n; }));
    CHECK(!survives([n](std::int64_t i) { return i == n - 1 || i == n; }));
  }
}

TEST_CASE("a state goes on under another policy: the rest is as the new one has it") {
  const wick::detail::error_policy policies[] = {on_error(skip), on_error(replace), on_error(fail)};
  for (const auto& before : policies) {
    for (const auto& after : policies) {
      const seen whole = run(straight(300, 16), {.seed = 5, .workers = 2, .on_error = after});
      for (const std::size_t taken : {0u, 1u, 7u, 18u}) {
        seen first, rest;
        wick::loader a(straight(300, 16), {.seed = 5, .workers = 3, .on_error = before});
        a.epoch(1);
        take(a, first, taken);
        wick::loader b(straight(300, 16), {.seed = 5, .workers = 1, .on_error = after});
        b.load_state(a.state());
        take(b, rest);
        REQUIRE(rest.batches.size() == whole.batches.size() - taken);
        CHECK(std::equal(rest.batches.begin(), rest.batches.end(),
                         whole.batches.begin() + static_cast<std::ptrdiff_t>(taken)));
      }
    }
  }
  // Where samples were moved to batches before, only the same policy knows which ones are left.
  wick::loader a(straight(300, 16), {.seed = 5, .workers = 2, .on_error = on_error(skip, {.compact = true})});
  seen s;
  a.epoch(1);
  take(a, s, 7);
  wick::loader b(straight(300, 16), {.seed = 5, .workers = 2, .on_error = on_error(skip)});
  CHECK(contains(message_of([&] { return b.load_state(a.state()), 0; }), "compact"));
}

TEST_CASE(
    "an early failure is no reason to stop: the first 1,000 samples count as 1,000, a small epoch as a "
    "whole") {
  const auto survives = [](std::uint64_t size, double rate, std::int64_t bad_ones) {
    wick::loader l(numbers{size} |
                       wick::map("few",
                                 [bad_ones](cell c) {
                                   if (c.target < bad_ones) throw std::runtime_error("bad");
                                   return c;
                                 }) |
                       wick::array_batch(10),
                   {.workers = 2, .on_error = on_error(skip, {.rate = rate})});
    return message_of([&] {
             while (l.next()) {
             }
             return 0;
           })
        .empty();
  };
  CHECK(survives(5000, 0.01, 10));
  CHECK(!survives(5000, 0.01, 11));
  CHECK(survives(200, 0.01, 2));
  CHECK(!survives(200, 0.01, 3));
  CHECK(!survives(200, 0, 1));
  CHECK(survives(200, 1, 200));
}

TEST_CASE("a rate counts samples, not their substitutes that failed as well, and 1 is no limit") {
  // Four in five are bad, so most substitutes are, too.
  const auto told_at = [](double rate) {
    wick::loader l(numbers{100} | wick::shuffle() |
                       wick::map("few",
                                 [](cell c) {
                                   if (c.target % 5 != 0) throw std::runtime_error("bad");
                                   return c;
                                 }) |
                       wick::array_batch(10),
                   {.workers = 2, .on_error = on_error(replace, {.rate = rate})});
    std::vector<std::string> thrown;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      l.epoch(epoch);
      for (;;) {
        try {
          if (!l.next()) break;
        } catch (const wick::too_many_errors& e) {
          thrown.emplace_back(e.what());
        } catch (const wick::sample_error&) {  // none of 16 was good
        }
      }
    }
    CHECK(l.ledger().total() > 3 * 100);
    return thrown;
  };
  CHECK(told_at(1).empty());
  CHECK(told_at(0.8).empty());
  const std::vector<std::string> thrown = told_at(0.79);
  REQUIRE(thrown.size() == 3);
  CHECK(contains(thrown[0], "80 samples of the first 100 of epoch 0 failed", "a rate of 0.79"));
}

TEST_CASE(
    "a run with the quarantine list gives the same batches as the one that made it, and tries none of the "
    "listed") {
  const temp_dir folder;
  const auto list = folder / "bad.jsonl";
  for (const auto& [name, policy] : policies()) {
    if (policy.only_fails() || policy.rule_for("late").action == error_action::fail) continue;
    CAPTURE(name);
    auto tried = std::make_shared<std::atomic<int>>(0);
    const auto make = [&] {
      return numbers{500} | wick::shuffle() |
             wick::map("early",
                       [tried](cell c) {
                         if (bad(c.target)) ++*tried;
                         return early(c);
                       }) |
             wick::map("hop", hop) | wick::map("late", late) | wick::array_batch(32);
    };
    wick::loader first(make(), {.seed = 4, .workers = 2, .prefetch_next_epoch = false, .on_error = policy});
    seen one, two;
    first.epoch(1);
    take(first, one);
    first.write_quarantine(list);
    *tried = 0;
    wick::loader second(make(), {.seed = 4, .workers = 3, .on_error = policy, .quarantine = {list}});
    second.epoch(1);
    take(second, two);
    CHECK(*tried == 0);
    CHECK(two.batches == one.batches);
    CHECK(second.fingerprint(1) == first.fingerprint(1));
    REQUIRE(second.ledger().entries().size() == first.ledger().entries().size());
    for (std::size_t i = 0; i < first.ledger().entries().size(); ++i) {
      const auto &a = first.ledger().entries()[i], &b = second.ledger().entries()[i];
      CHECK(b.kind == wick::error_kind::quarantined);
      CHECK(b.tries == 0);
      CHECK(std::tuple(a.key, a.stage, a.position, a.action, a.substitute) ==
            std::tuple(b.key, b.stage, b.position, b.action, b.substitute));
    }
    // What was quarantined stays so in the list that this run writes; no limit counts it.
    const auto again = folder / "again.jsonl";
    second.write_quarantine(again);
    CHECK(read_file(again) == read_file(list));
    auto strict = policy.options();
    strict.count = 0;
    CHECK(run(make(), {.seed = 4,
                       .workers = 1,
                       .on_error = on_error(policy.rule_for("early"), strict),
                       .quarantine = {list}})
              .batches.size() ==
          run(make(),
              {.seed = 4, .workers = 1, .on_error = on_error(policy.rule_for("early"), policy.options())})
              .batches.size());
  }
}

TEST_CASE("several quarantine lists add up, and one without a policy is refused") {
  const temp_dir folder;
  const std::vector<std::string> names = {"shuffle", "shard", "early", "hop", "late", "batch"};
  wick::detail::write_quarantine(folder / "a", numbers{500},
                                 std::vector<wick::detail::quarantine::entry>{{1, 2}}, names);
  wick::detail::write_quarantine(folder / "b", numbers{500},
                                 std::vector<wick::detail::quarantine::entry>{{1, 3}, {2, 4}}, names);
  wick::loader l(straight(500, 32), {.on_error = on_error(skip), .quarantine = {folder / "a", folder / "b"}});
  seen s;
  take(l, s);
  std::set<std::string> known;
  for (const auto& e : l.ledger().entries()) {
    if (e.kind == wick::error_kind::quarantined) known.insert(e.key + " " + e.stage);
  }
  CHECK(known == std::set<std::string>{"number 1 early", "number 2 late"});
  CHECK(contains(message_of([&] { return wick::loader(straight(500, 32), {.quarantine = {folder / "a"}}); }),
                 "quarantine: 1 samples are not to be tried", "on_error(skip)"));
  CHECK(contains(message_of([&] {
                   return wick::loader(straight(501, 32),
                                       {.on_error = on_error(skip), .quarantine = {folder / "a"}});
                 }),
                 "another data set"));
}

TEST_CASE(
    "the shape of a batch is that of its good samples, also when a bad one came first and said another") {
  struct ragged {
    wick::shape extents() const { return {wrong ? 5 : 2}; }
    wick::dtype type() const { return wick::dtype::uint8; }
    void write_to(wick::slot at) const {
      if (wrong) throw std::runtime_error("damaged");
      at.data[0] = at.data[1] = static_cast<std::byte>(value);
    }
    bool wrong;
    std::int64_t value;
  };
  const auto make = [](auto hopping) {
    return wick::from(numbers{64}) | hopping | [](cell c) {
      return wick::sample<ragged, std::int64_t>{{c.target % 16 < 3, c.target}, c.target};
    } | wick::array_batch(16);
  };
  const auto check = [](auto p, wick::detail::error_policy policy, std::size_t workers) {
    wick::loader l(std::move(p), {.workers = workers, .on_error = policy});
    std::size_t n = 0;
    for (auto& b : l.epoch(0)) {
      const auto rows = b.target.extents()[0];
      REQUIRE(b.data.extents() == wick::shape{rows, 2});
      CHECK(rows == (policy.options().compact          ? (n < 3 ? 16 : 4)
                     : policy.ever(error_action::skip) ? 13
                                                       : 16));
      for (std::int64_t i = 0; i < rows; ++i) {
        for (int k = 0; k < 2; ++k)
          CHECK(b.data.template as<std::uint8_t>()[2 * i + k] == b.target.template as<std::int64_t>()[i]);
        CHECK(b.target.template as<std::int64_t>()[i] % 16 >= 3);
      }
      ++n;
    }
    CHECK(n == 4);
    CHECK(l.ledger().counts().size() == 1);
    CHECK(l.ledger().counts()[0].stage == "batch");
  };
  for (const std::size_t workers : {1, 3}) {
    for (const auto& policy : {on_error(skip), on_error(replace), on_error(skip, {.compact = true})}) {
      check(make([](cell c) { return c; }), policy, workers);
      check(make(hop), policy, workers);
    }
  }
}

TEST_CASE(
    "different shapes and batch stages that throw fail their batch under every policy: no sample is to "
    "blame") {
  struct ragged {
    wick::shape extents() const { return {n}; }
    wick::dtype type() const { return wick::dtype::uint8; }
    void write_to(wick::slot) const {}
    int n;
  };
  for (const auto& policy : {on_error(skip), on_error(replace), on_error(skip, {.compact = true})}) {
    wick::loader l(wick::from(numbers{40}) | [](cell c) { return ragged{c.target == 17 ? 3 : 2}; } |
                       wick::array_batch(10),
                   {.workers = 2, .on_error = policy});
    seen s;
    std::vector<std::string> got;
    for (int i = 0; i < 4; ++i) got.push_back(message_of([&] { return l.next(); }));
    CHECK(got[0].empty());
    CHECK(contains(got[1], "number 17: batch: shape [3]", "first sample has [2]"));
    CHECK(got[2].empty());
    CHECK(l.ledger().entries().at(0).kind == wick::error_kind::shape);
    wick::loader b(numbers{40} | wick::array_batch(10) |
                       wick::map("check",
                                 [](wick::sample<wick::array, wick::array> x) {
                                   if (x.target.as<std::int64_t>()[0] == 20) throw std::runtime_error("no");
                                   return x;
                                 }),
                   {.workers = 2, .on_error = policy});
    CHECK(b.next());
    CHECK(b.next());
    CHECK(message_of([&] { return b.next(); }) == "batch 2: check: no");
    CHECK(b.ledger().entries().at(0).kind == wick::error_kind::batch);
    CHECK(b.next());
  }
}

TEST_CASE("a batch all of whose samples are left out is empty, and the same each time") {
  for (int round = 0; round < 10; ++round) {
    wick::loader l(wick::from(numbers{50}) | hop |
                       [](cell c) {
                         if (c.target / 10 == 2) throw std::runtime_error("bad");
                         return c;
                       } |
                       wick::array_batch(10),
                   {.workers = 3, .on_error = on_error(skip)});
    seen s;
    take(l, s);
    REQUIRE(s.targets.size() == 5);
    CHECK(s.targets[2].empty());
    CHECK(s.batches[2].empty());
    CHECK(flat(s).size() == 40);
  }
}

TEST_CASE("groups, strings and structs close their gaps like tensors") {
  struct named {
    std::string name;
    std::int64_t number;
  };
  const auto source = [] {
    return numbers{60} | wick::shuffle() | wick::map("early", early) | [](cell c) {
      return named{"n" + std::to_string(c.target), c.target};
    };
  };
  const wick::loader_options o{.seed = 1, .workers = 3, .on_error = on_error(skip)};
  wick::loader grouped(source() | wick::group(7), o);
  wick::loader batched(source() | wick::array_batch(7), o);
  std::size_t n = 0;
  for (auto& g : grouped.epoch(0)) {
    auto b = batched.next();
    REQUIRE(b);
    REQUIRE(std::get<0>(*b).size() == g.size());
    for (std::size_t i = 0; i < g.size(); ++i, ++n) {
      CHECK(g[i].name == "n" + std::to_string(g[i].number));
      CHECK(std::get<0>(*b)[i] == g[i].name);
      CHECK(std::get<1>(*b).as<std::int64_t>()[i] == g[i].number);
    }
  }
  CHECK(n == 60 - 5);
}

TEST_CASE(
    "without batch() what is left out is not there, what is replaced stands in its place, and a resume is "
    "exact") {
  const auto make = [] {
    return numbers{200} | wick::shuffle() | hop | wick::map("early", early) | [](cell c) { return c.target; };
  };
  for (const auto& policy : {on_error(skip), on_error(replace), wick::detail::error_policy()}) {
    const wick::loader_options o{.seed = 1, .workers = 2, .on_error = policy};
    wick::loader whole(make(), o);
    const auto take_singles = [](auto& from, std::vector<std::string>& into, std::size_t most) {
      for (; most > 0; --most) {
        try {
          const auto v = from.next();
          if (!v) return false;
          into.push_back(std::to_string(*v));
        } catch (const wick::sample_error& e) {
          into.emplace_back(e.what());
        }
      }
      return true;
    };
    std::vector<std::string> expected, ledger;
    take_singles(whole, expected, 1000);
    for (const auto& e : whole.ledger().entries()) ledger.push_back(wick::detail::to_json(e));
    CHECK(expected.size() == (policy.ever(error_action::skip) ? 185 : 200));
    std::vector<std::string> got, got_ledger;
    wick::epoch_fingerprint print;
    std::vector<std::byte> state;
    for (bool more = true; more;) {
      wick::loader l(make(), o);
      if (!state.empty()) l.load_state(state);
      more = take_singles(l, got, 7);
      state = l.state();
      for (const auto& e : l.ledger().entries()) got_ledger.push_back(wick::detail::to_json(e));
      print += l.fingerprint(0);
      if (!more) CHECK(l.ledger().of_training() == whole.ledger().of_training());
    }
    CHECK(got == expected);
    CHECK(got_ledger == ledger);
    CHECK(print == whole.fingerprint(0));
  }
}

TEST_CASE("the ledger's file has what the ledger has, line by line") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  wick::loader l(suspending(500, 32),
                 {.seed = 4, .workers = 2, .on_error = on_error(replace), .ledger_file = path});
  seen s;
  take(l, s);
  std::string expected;
  for (const auto& e : l.ledger().entries()) expected += wick::detail::to_json(e) + "\n";
  CHECK(read_file(path) == expected);
  CHECK(
      contains(message_of([] { return wick::loader(straight(10, 2), {.ledger_file = "/no/such/folder/x"}); }),
               "ledger_file: can't be opened"));
  wick::loader full(straight(500, 32), {.on_error = on_error(skip), .ledger_file = "/dev/full"});
  take(full, s);
  CHECK(contains(full.report().to_string(), "note: /dev/full: ledger_file: ", "No space left"));
}

TEST_CASE("the report says what became of failures, by stage, since the last one") {
  wick::loader l(suspending(500, 32),
                 {.seed = 4, .workers = 2, .on_error = on_error(skip).at("late", replace)});
  seen s;
  take(l, s);
  const std::string text = l.report().to_string();
  CHECK(contains(text, "(early: ", " skipped, late: ", " replaced); see loader.ledger()"));
  CHECK(!contains(l.report().to_string(), "skipped"));
}

TEST_CASE("policies say of each stage what is done, and rules combine") {
  using namespace std::chrono_literals;
  const auto p =
      on_error(retry(2, 1s).then(skip)).at("read", retry(5)).at("decode", replace).at("crop", fail);
  CHECK(p.rule_for("other").action == error_action::skip);
  CHECK(p.rule_for("other").retries == 2);
  CHECK(p.rule_for("other").backoff == 1s);
  CHECK(p.rule_for("read").retries == 5);
  CHECK(p.rule_for("read").action == error_action::skip);
  CHECK(p.rule_for("decode").retries == 0);
  CHECK(p.rule_for("decode").action == error_action::replace);
  CHECK(p.rule_for("crop").action == error_action::fail);
  CHECK(!p.only_fails());
  CHECK(on_error(retry(1)).rule_for("x").action == error_action::fail);
  CHECK(!on_error(retry(1)).only_fails());
  CHECK(on_error(fail).at("read", fail).only_fails());
  CHECK(!on_error(fail).at("read", retry(1)).only_fails());
  CHECK(wick::detail::error_policy().only_fails());
  CHECK(on_error(skip).at("read", skip).at("read", replace).rule_for("read").action == error_action::replace);
}

TEST_CASE("what makes no sense is refused with what to do") {
  using namespace std::chrono_literals;
  const auto refused = [](auto&& f) { return message_of(f); };
  CHECK(contains(refused([] { return retry(0); }), "retry(0)", "leave it out"));
  CHECK(contains(refused([] { return retry(1001); }), "retry(1001)", "at most 1000"));
  CHECK(contains(refused([] { return retry(1, -1s); }), "backoff of -1"));
  CHECK(contains(refused([] {
                   return retry(1, std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
                 }),
                 "backoff"));
  CHECK(contains(refused([] { return on_error(skip, {.rate = 1.5}); }), "rate of 1.5", "0 to 1"));
  CHECK(contains(refused([] { return on_error(skip, {.rate = -0.1}); }), "rate of -0.1"));
  CHECK(contains(refused([] { return on_error(replace, {.substitutes = 0}); }), "substitutes = 0"));
  const auto loader = [](auto p, wick::detail::error_policy policy) {
    return message_of([&] { return wick::loader(std::move(p), {.on_error = policy}); });
  };
  CHECK(contains(loader(straight(10, 2), on_error(skip).at("red", retry(1))),
                 "no stage of samples is called red", "there are: early, hop, late, batch"));
  CHECK(contains(loader(straight(10, 2), on_error(skip).at("shuffle", retry(1))),
                 "no stage of samples is called shuffle"));
  CHECK(loader(straight(10, 2), on_error(skip).at("batch", replace)).empty());
  CHECK(contains(loader(straight(10, 2, 0, 2), on_error(skip, {.compact = true})), "compact with 2 ranks",
                 "use replace"));
  CHECK(contains(loader(straight(10, 2, 0, 1, {.pad_last = true}), on_error(skip, {.compact = true})),
                 "compact with pad_last"));
  CHECK(contains(loader(straight(10, 2), on_error(replace, {.compact = true})), "compact is for skip"));
  wick::loader compact(straight(500, 32), {.seed = 4, .on_error = on_error(skip, {.compact = true})});
  for (int i = 0; i < 5; ++i) CHECK(compact.next());
  wick::loader other(straight(500, 32), {.seed = 4, .on_error = on_error(skip)});
  CHECK(contains(message_of([&] {
                   other.load_state(compact.state());
                   return 0;
                 }),
                 "were delivered already, in the place of others", "error_options::compact"));
}

TEST_CASE(
    "compact: a sample that was moved is run once and counted once, also where its own place comes later") {
  // All of the first two batches are bad, and so is one of those that are to fill them.
  const std::uint64_t size = 40;
  const auto is_bad = [](std::int64_t i) { return i < 8 || i == 37; };
  for (const std::size_t in_flight : {1, 8}) {
    for (const std::size_t workers : {1, 3}) {
      CAPTURE(in_flight);
      CAPTURE(workers);
      const auto check = [&](auto pass) {
        auto runs = std::make_shared<std::vector<std::atomic<int>>>(size);
        const auto count = [runs](cell c) {
          ++(*runs)[static_cast<std::size_t>(c.target)];
          return c;
        };
        const auto choosy = [is_bad](cell c) {
          if (is_bad(c.target)) throw std::runtime_error("bad");
          return c;
        };
        // One batch at a time: when the last ones are begun, what has been moved of them is known.
        wick::loader l(numbers{size} | wick::map("count", count) | wick::map("pass", pass) |
                           wick::map("choosy", choosy) | wick::array_batch(4),
                       {.workers = workers,
                        .prefetch = 1,
                        .in_flight = in_flight,
                        .prefetch_next_epoch = false,
                        .on_error = on_error(skip, {.compact = true})});
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
          for (auto& n : *runs) n = 0;
          l.epoch(epoch);
          seen s;
          take(l, s);
          std::vector<std::int64_t> wanted;
          for (const std::int64_t i : {39, 38, 36, 35, 34, 33, 32, 31}) wanted.push_back(i);
          for (std::int64_t i = 8; i < 31; ++i) wanted.push_back(i);
          CHECK(flat(s) == wanted);
          CHECK(std::all_of(runs->begin(), runs->end(), [](int n) { return n == 1; }));
          CHECK(l.ledger().total() == 9 * (epoch + 1));
          CHECK(l.fingerprint(epoch).samples == wanted.size());
          const wick::report r = l.report();
          CHECK(r.samples == wanted.size());
          CHECK(r.failures == 9);
          for (const auto& stage : r.stages) {
            CAPTURE(stage.name);
            if (stage.name == "order" || stage.name == "count" || stage.name == "pass")
              CHECK(stage.count == size);
          }
        }
      };
      check([](cell c) { return c; });
      check(&hop);
    }
  }
}

TEST_CASE("what compaction has moved in one pass is forgotten in the next, wherever that one begins") {
  // The passes have the same distance between a batch's number and its place among all that were made.
  struct positions {
    std::uint64_t size() const noexcept { return 32; }
    std::int64_t at(std::uint64_t i) const noexcept { return static_cast<std::int64_t>(i) + 1000; }
  };
  const auto pipeline = [] {
    return wick::from(positions{}) |
           wick::map("choosy",
                     [](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
                       if (c.epoch() == 0 && c.position() < 8) throw wick::error("bad");
                       if (c.epoch() == 7 && c.position() == 20) {
                         for (int i = 0; i < 2000; ++i) co_await c.on()->schedule();  // the others come first
                       }
                       co_return v;
                     }) |
           wick::array_batch(4);
  };
  const wick::loader_options options{
      .workers = 2, .prefetch = 4, .on_error = wick::on_error(wick::skip, {.compact = true})};
  std::vector<std::byte> state;
  {
    wick::loader l(pipeline(), options);
    l.epoch(7);
    for (int i = 0; i < 5; ++i) REQUIRE(l.next());
    state = l.state();
  }
  wick::loader l(pipeline(), options);
  l.epoch(0);
  REQUIRE(l.next());
  REQUIRE(l.next());
  l.epoch(0);  // all of it moved again
  REQUIRE(l.next());
  l.load_state(state);
  std::int64_t wanted = 1020;
  while (auto batch = l.next()) {
    REQUIRE(batch->extents()[0] == 4);
    for (int i = 0; i < 4; ++i) CHECK(batch->template as<std::int64_t>()[i] == wanted++);
  }
  CHECK(wanted == 1032);
}
