// How many failures a training takes, quarantine lists, the failure log.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "failures/faulty.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/failures/detail/failure_log_file.hpp>

namespace wick_test::limits_tests {

using wick::error_action;
using wick::on_error;

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
            .seed = 1, .workers = workers, .on_error = on_error(on_error::replace, by.options)};
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
    CHECK(b.size() == 63);  // a loop that continues gets the rest
  }
  wick::loader l(make(), {.seed = 1, .on_error = on_error(on_error::skip, {.count = 0})});
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
                   {.workers = 2, .on_error = on_error(on_error::skip, {.consecutive = 1})});
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
    // after.
    CHECK(survives([n](std::int64_t i) { return i % (3 * n) == n - 1 || i % (3 * n) == 2 * n; }));
    CHECK(!survives([n](std::int64_t i) { return i == n - 1 || i == n; }));
  }
}

TEST_CASE("a state continues under another policy: the rest is as the new one has it") {
  const on_error policies[] = {on_error(on_error::skip), on_error(on_error::replace),
                               on_error(on_error::fail)};
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
                   {.workers = 2, .on_error = on_error(on_error::skip, {.rate = rate})});
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
  CHECK(survives(200, 1, 199));
  CHECK(!survives(200, 1, 200));  // nothing is left
}

TEST_CASE("a rate is of the samples that a rank has, and 1 is no limit where it has few or none at first") {
  const auto of = [](std::uint64_t samples, std::size_t rank, std::uint64_t batch, double rate) {
    wick::loader l(numbers{samples} | wick::shard(rank, 8) |
                       wick::map("bad", [](cell) -> cell { throw std::runtime_error("bad"); }) |
                       wick::array_batch(batch),
                   {.on_error = on_error(on_error::skip, {.rate = rate})});
    return message_of([&] {
      for (auto& b : l.epoch(0)) static_cast<void>(b);
      return l.failure_log().total();
    });
  };
  for (std::size_t rank = 0; rank < 8; ++rank) {
    CHECK(of(3, rank, 8, 1).empty());
    CHECK(of(900, rank, 9, 1).empty());
  }
  // Of each 9 the last rank has 2, so that 100 batches have 200.
  CHECK(contains(of(9000, 7, 9, 0.99), "of the first ", "a rate of 0.99;"));
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
                   {.workers = 2, .on_error = on_error(on_error::replace, {.rate = rate})});
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
    CHECK(l.failure_log().total() > 3 * 100);
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
    REQUIRE(second.failure_log().entries().size() == first.failure_log().entries().size());
    for (std::size_t i = 0; i < first.failure_log().entries().size(); ++i) {
      const auto &a = first.failure_log().entries()[i], &b = second.failure_log().entries()[i];
      CHECK(b.kind == wick::error_kind::quarantined);
      CHECK(b.tries == 0);
      CHECK(std::tuple(a.key, a.stage, a.position, a.action, a.substitute) ==
            std::tuple(b.key, b.stage, b.position, b.action, b.substitute));
    }
    // The quarantined samples stay so in the list that this run writes; no limit counts it.
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
  wick::loader l(straight(500, 32),
                 {.on_error = on_error(on_error::skip), .quarantine = {folder / "a", folder / "b"}});
  seen s;
  take(l, s);
  std::set<std::string> known;
  for (const auto& e : l.failure_log().entries()) {
    if (e.kind == wick::error_kind::quarantined) known.insert(e.key + " " + e.stage);
  }
  CHECK(known == std::set<std::string>{"number 1 early", "number 2 late"});
  CHECK(contains(message_of([&] { return wick::loader(straight(500, 32), {.quarantine = {folder / "a"}}); }),
                 "quarantine: 1 sample is quarantined, but on_error neither skips nor replaces",
                 "on_error(on_error::skip)"));
  CHECK(contains(message_of([&] {
                   return wick::loader(straight(501, 32),
                                       {.on_error = on_error(on_error::skip), .quarantine = {folder / "a"}});
                 }),
                 "another data set"));
}

TEST_CASE(
    "the shape of a batch is that of its good samples, also when a bad one came first and said another") {
  struct ragged {
    wick::shape extents() const { return {wrong ? 5 : 2}; }
    wick::dtype type() const { return wick::dtype::uint8; }
    void write_to(wick::ext::slot at) const {
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
  const auto check = [](auto p, on_error policy, std::size_t workers) {
    wick::loader l(std::move(p), {.workers = workers, .on_error = policy});
    std::size_t n = 0;
    for (auto& b : l.epoch(0)) {
      const auto rows = b.target.extents()[0];
      REQUIRE(b.data.extents() == wick::shape{rows, 2});
      CHECK(rows == (policy.ever(error_action::skip) ? 13 : 16));
      for (std::int64_t i = 0; i < rows; ++i) {
        for (int k = 0; k < 2; ++k)
          CHECK(b.data.template as<std::uint8_t>()[2 * i + k] == b.target.template as<std::int64_t>()[i]);
        CHECK(b.target.template as<std::int64_t>()[i] % 16 >= 3);
      }
      ++n;
    }
    CHECK(n == 4);
    CHECK(l.failure_log().counts().size() == 1);
    CHECK(l.failure_log().counts()[0].stage == "batch");
  };
  for (const std::size_t workers : {1, 3}) {
    for (const auto& policy : {on_error(on_error::skip), on_error(on_error::replace)}) {
      check(make([](cell c) { return c; }), policy, workers);
      check(make(hop), policy, workers);
    }
  }
}

TEST_CASE("the failure log's file has what the failure log has, line by line") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  wick::loader l(
      suspending(500, 32),
      {.seed = 4, .workers = 2, .on_error = on_error(on_error::replace), .failure_log_file = path});
  seen s;
  take(l, s);
  std::string expected;
  for (const auto& e : l.failure_log().entries()) expected += wick::detail::to_json(e) + "\n";
  CHECK(read_file(path) == expected);
  CHECK(contains(
      message_of([] { return wick::loader(straight(10, 2), {.failure_log_file = "/no/such/folder/x"}); }),
      "failure_log_file: can't be opened"));
  wick::loader full(straight(500, 32),
                    {.on_error = on_error(on_error::skip), .failure_log_file = "/dev/full"});
  take(full, s);
  CHECK(contains(full.report().to_string(), "note: /dev/full: failure_log_file: ", "No space left"));
}

TEST_CASE("what makes no sense is refused with what to do") {
  using namespace std::chrono_literals;
  const auto refused = [](auto&& f) { return message_of(f); };
  CHECK(contains(refused([] { return on_error::retry(0); }), "retry(0)", "leave it out"));
  CHECK(contains(refused([] { return on_error::retry(1001); }), "retry(1001)", "at most 1000"));
  CHECK(contains(refused([] { return on_error::retry(1, -1s); }), "backoff of -1"));
  CHECK(contains(refused([] {
                   return on_error::retry(
                       1, std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
                 }),
                 "backoff"));
  CHECK(contains(refused([] { return on_error(on_error::skip, {.rate = 1.5}); }), "rate of 1.5", "0 to 1"));
  CHECK(contains(refused([] { return on_error(on_error::skip, {.rate = -0.1}); }), "rate of -0.1"));
  CHECK(contains(refused([] { return on_error(on_error::replace, {.substitutes = 0}); }), "substitutes = 0"));
  const auto loader = [](auto p, on_error policy) {
    return message_of([&] { return wick::loader(std::move(p), {.on_error = policy}); });
  };
  CHECK(contains(loader(straight(10, 2), on_error(on_error::skip).at("red", on_error::retry(1))),
                 "no stage of samples is called red", "there are: early, hop, late, batch"));
  CHECK(contains(loader(straight(10, 2), on_error(on_error::skip).at("shuffle", on_error::retry(1))),
                 "no stage of samples is called shuffle"));
  CHECK(loader(straight(10, 2), on_error(on_error::skip).at("batch", on_error::replace)).empty());
}

}  // namespace wick_test::limits_tests
