// What becomes of failed samples under each policy.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "failures/faulty.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/failures/detail/failure_log_file.hpp>

namespace wick_test::on_error_tests {

using wick::error_action;
using wick::on_error;

TEST_CASE(
    "under every policy the same batches, failure log and fingerprint at any number of workers and prefetch, "
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
  const seen s = run(suspending(500, 32), {.seed = 4, .workers = 2, .on_error = on_error(on_error::skip)});
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
      {.seed = 4, .workers = 2, .on_error = on_error(on_error::replace)});
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
  // Each entry names the sample drawn for it: a bad one has an entry of its own, right after.
  const auto& entries = l.failure_log().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CHECK(entries[i].action == error_action::replace);
    const std::int64_t substitute = std::stoll(entries[i].substitute.substr(7));
    const bool next_is_same = i + 1 < entries.size() && entries[i + 1].position == entries[i].position &&
                              entries[i + 1].epoch == entries[i].epoch;
    CHECK(bad_early(substitute) == next_is_same);
    if (next_is_same) CHECK(entries[i + 1].key == entries[i].substitute);
  }
}

TEST_CASE("ranks share what one rank delivers, under every policy; failure logs and fingerprints add up") {
  for (const auto& [name, policy] : policies()) {
    if (policy.rule_for("late").action == error_action::fail) continue;
    CAPTURE(name);
    const seen whole = run(suspending(500, 32), {.seed = 4, .workers = 2, .on_error = policy});
    for (const std::uint64_t world : {2, 3, 5}) {
      std::vector<std::vector<std::int64_t>> together(whole.targets.size());
      std::vector<std::string> failure_log;
      wick::epoch_fingerprint sum;
      for (std::uint64_t r = 0; r < world; ++r) {
        const seen part = run(suspending(500, 32, r, world), {.seed = 4, .workers = 2, .on_error = policy});
        REQUIRE(part.targets.size() == whole.targets.size());
        for (std::size_t b = 0; b < part.targets.size(); ++b) {
          together[b].insert(together[b].end(), part.targets[b].begin(), part.targets[b].end());
        }
        failure_log.insert(failure_log.end(), part.failure_log.begin(), part.failure_log.end());
        sum += part.print;
      }
      CHECK(together == whole.targets);
      CHECK(sum == whole.print);
      std::vector<std::string> expected = whole.failure_log;
      std::sort(expected.begin(), expected.end());
      std::sort(failure_log.begin(), failure_log.end());
      CHECK(failure_log == expected);
    }
  }
}

TEST_CASE(
    "stopped anywhere and resumed, a training has the same batches, failure log and fingerprints under every "
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
    note_failure_log(whole, expected);
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
        note_failure_log(l, got);
        training = l.failure_log().of_training();
        state = l.state();
      }
      CHECK(got.batches == expected.batches);
      CHECK(got.failure_log == expected.failure_log);
      for (std::uint64_t e = 0; e < 3; ++e) CHECK(prints[e] == whole.fingerprint(e));
      CHECK(training == whole.failure_log().of_training());
    }
  }
}

TEST_CASE(
    "a retry is the same sample again, from the source on, with the same random numbers; its end is in the "
    "failure log") {
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
    wick::loader l(make(true),
                   {.seed = 4,
                    .workers = 2,
                    .prefetch_next_epoch = false,
                    .on_error = on_error(on_error::skip).at("flaky", on_error::retry(3, backoff))});
    seen s;
    l.epoch(1);
    take(l, s);
    CHECK(s.batches == expected.batches);
    CHECK(l.fingerprint(1) == expected.print);
    CHECK(l.failure_log().total() == 0);
    REQUIRE(l.failure_log().entries().size() == 150);
    for (const auto& e : l.failure_log().entries()) {
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
                 {.workers = 2, .prefetch_next_epoch = false, .on_error = on_error(on_error::skip)});
  std::vector<std::int64_t> seen, expected;
  for (std::int64_t i = 2; i < 40; ++i) {
    if (i <= 32 || i >= 39) expected.push_back(i);
  }
  while (const auto c = l.next()) seen.push_back(c->target);
  CHECK(seen == expected);
  CHECK(l.failure_log().total() == 8);
  CHECK(l.report().samples == expected.size());
}

TEST_CASE(
    "different shapes and batch stages that throw fail their batch under every policy: no sample is to "
    "blame") {
  struct ragged {
    wick::shape extents() const { return {n}; }
    wick::dtype type() const { return wick::dtype::uint8; }
    void write_to(wick::ext::slot) const {}
    int n;
  };
  for (const auto& policy : {on_error(on_error::skip), on_error(on_error::replace)}) {
    wick::loader l(wick::from(numbers{40}) | [](cell c) { return ragged{c.target == 17 ? 3 : 2}; } |
                       wick::array_batch(10),
                   {.workers = 2, .on_error = policy});
    seen s;
    std::vector<std::string> got;
    for (int i = 0; i < 4; ++i) got.push_back(message_of([&] { return l.next(); }));
    CHECK(got[0].empty());
    CHECK(contains(got[1], "number 17: batch: shape [3]", "first sample has [2]"));
    CHECK(got[2].empty());
    CHECK(l.failure_log().entries().at(0).kind == wick::error_kind::shape);
    wick::loader b(numbers{40} | wick::array_batch(10) |
                       wick::map("check",
                                 [](wick::sample<wick::array, wick::array> x) {
                                   if (x.target.as<std::int64_t>()[0] == 20) throw std::runtime_error("no");
                                   return x;
                                 }),
                   {.workers = 2, .on_error = policy});
    CHECK(b.next());
    CHECK(b.next());
    CHECK(message_of([&] { return b.next(); }) == "batch 2: check: std::runtime_error: no");
    CHECK(b.failure_log().entries().at(0).kind == wick::error_kind::batch);
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
                   {.workers = 3, .on_error = on_error(on_error::skip)});
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
  const wick::loader_options o{.seed = 1, .workers = 3, .on_error = on_error(on_error::skip)};
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
  for (const auto& policy : {on_error(on_error::skip), on_error(on_error::replace), on_error()}) {
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
    std::vector<std::string> expected, failure_log;
    take_singles(whole, expected, 1000);
    for (const auto& e : whole.failure_log().entries()) failure_log.push_back(wick::detail::to_json(e));
    CHECK(expected.size() == (policy.ever(error_action::skip) ? 185 : 200));
    std::vector<std::string> got, got_failure_log;
    wick::epoch_fingerprint print;
    std::vector<std::byte> state;
    for (bool more = true; more;) {
      wick::loader l(make(), o);
      if (!state.empty()) l.load_state(state);
      more = take_singles(l, got, 7);
      state = l.state();
      for (const auto& e : l.failure_log().entries()) got_failure_log.push_back(wick::detail::to_json(e));
      print += l.fingerprint(0);
      if (!more) CHECK(l.failure_log().of_training() == whole.failure_log().of_training());
    }
    CHECK(got == expected);
    CHECK(got_failure_log == failure_log);
    CHECK(print == whole.fingerprint(0));
  }
}

TEST_CASE("the report says what became of failures, by stage, since the last one") {
  wick::loader l(
      suspending(500, 32),
      {.seed = 4, .workers = 2, .on_error = on_error(on_error::skip).at("late", on_error::replace)});
  seen s;
  take(l, s);
  const std::string text = l.report().to_string();
  CHECK(contains(text, "(early: ", " skipped, late: ", " replaced); see", "loader.failure_log()"));
  CHECK(!contains(l.report().to_string(), "skipped"));
}

TEST_CASE("policies say of each stage what is done, and rules combine") {
  using namespace std::chrono_literals;
  const auto p = on_error(on_error::retry(2, 1s).then(on_error::skip))
                     .at("read", on_error::retry(5))
                     .at("decode", on_error::replace)
                     .at("crop", on_error::fail);
  CHECK(p.rule_for("other").action == error_action::skip);
  CHECK(p.rule_for("other").retries == 2);
  CHECK(p.rule_for("other").backoff == 1s);
  CHECK(p.rule_for("read").retries == 5);
  CHECK(p.rule_for("read").action == error_action::skip);
  CHECK(p.rule_for("decode").retries == 0);
  CHECK(p.rule_for("decode").action == error_action::replace);
  CHECK(p.rule_for("crop").action == error_action::fail);
  CHECK(!p.only_fails());
  CHECK(on_error(on_error::retry(1)).rule_for("x").action == error_action::fail);
  CHECK(!on_error(on_error::retry(1)).only_fails());
  CHECK(on_error(on_error::fail).at("read", on_error::fail).only_fails());
  CHECK(!on_error(on_error::fail).at("read", on_error::retry(1)).only_fails());
  CHECK(on_error().only_fails());
  CHECK(on_error(on_error::skip)
            .at("read", on_error::skip)
            .at("read", on_error::replace)
            .rule_for("read")
            .action == error_action::replace);
}

}  // namespace wick_test::on_error_tests
