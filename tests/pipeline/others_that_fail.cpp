// Samples that were to go into others and fail: they are in the failure log under their own keys, and those
// that wanted them draw others.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/numbers.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/failures/detail/failure_log_file.hpp>

namespace wick_test::others_that_fail_tests {

using wick::error_action;
using wick::on_error;

namespace {

std::set<std::int64_t> digits_of(std::int64_t target) {
  std::set<std::int64_t> out;
  for (; target != 0; target /= 1000) out.insert(target % 1000);
  return out;
}
/// From one on, too.
cell break_13(cell c) {
  if (c.target == 13) throw wick::error("broken in the middle");
  ++c.target;
  return c;
}

template <class Stages>
batches run(const Stages& stages, const wick::loader_options& options, std::uint64_t rank = 0,
            std::uint64_t world = 1) {
  wick::loader l(numbers{40} | wick::shuffle() | wick::shard(rank, world) | stages | wick::array_batch(8),
                 options);
  return targets_of(l, 1);
}

}  // namespace

TEST_CASE("a batch fails by the key of the other that is damaged, and says into which it was to go") {
  wick::loader l(numbers{40} | wick::shuffle() | wick::map("look", break_13) | wick::with_others(3) |
                     wick::join(digits) | wick::array_batch(8),
                 {.seed = 3, .workers = 1});
  l.epoch(0);
  int thrown = 0, as_other = 0;
  for (bool more = true; more;) {
    try {
      more = l.next().has_value();
    } catch (const wick::sample_error& e) {
      ++thrown;
      CHECK(e.key() == "number 13");
      CHECK(e.stage() == "look");
      CHECK(message_of([&] { std::rethrow_exception(e.cause()); }) == "broken in the middle");
      CHECK(contains(e.what(), "number 13: look: broken in the middle"));
      as_other += contains(e.what(), "broken in the middle; it was drawn to go into number ");
    }
  }
  CHECK(thrown > 1);
  CHECK(as_other > 0);
  for (const auto& e : l.failure_log().entries()) {
    CHECK(e.key == "number 13");
    CHECK(contains(e.text, "it was drawn to go into " + e.into) == !e.into.empty());
  }
}

TEST_CASE("who wanted a damaged other draws another, as a list of the bad has it, on all workers and ranks") {
  const temp_dir folder;
  const auto mixing = wick::with_others(3) | wick::join(digits);
  const auto broken = wick::map("look", break_13) | mixing;
  const auto count_from_one = [](cell c) {
    ++c.target;
    return c;
  };
  const batches all = run(wick::map("look", count_from_one) | mixing, {.seed = 3, .workers = 1});
  for (const auto& rule : {on_error::skip, on_error::replace, on_error::retry(2).then(on_error::replace)}) {
    const bool skips = rule.action == error_action::skip;
    batches first;
    for (const std::size_t workers : {1, 4}) {
      for (const std::uint64_t ranks : {1, 2, 4}) {
        batches together(5);
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
          const batches mine =
              run(broken, {.seed = 3, .workers = workers, .on_error = on_error(rule)}, rank, ranks);
          REQUIRE(mine.size() == 5);
          for (std::size_t k = 0; k < 5; ++k)
            together[k].insert(together[k].end(), mine[k].begin(), mine[k].end());
        }
        if (first.empty()) first = together;
        REQUIRE(together == first);
      }
    }
    std::size_t changed = 0, count = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      count += first[k].size();
      for (std::size_t i = 0; i < first[k].size(); ++i) {
        CHECK(digits_of(first[k][i]).count(14) == 0);
        if (skips) continue;
        // An item without a damaged sample is as before.
        CHECK((first[k][i] != all[k][i]) == (digits_of(all[k][i]).count(14) == 1));
        changed += first[k][i] != all[k][i];
      }
    }
    CHECK(count == (skips ? 39 : 40));
    if (!skips) CHECK(changed > 1);

    wick::loader l(numbers{40} | wick::shuffle() | broken | wick::array_batch(8),
                   {.seed = 3, .on_error = on_error(rule, {.rate = 1.0 / 40})});
    const batches alone = targets_of(l, 1);
    int own = 0, others = 0;
    for (const auto& e : l.failure_log().entries()) {
      CHECK(e.key == "number 13");
      CHECK(e.stage == "look");
      CHECK(e.tries == (rule.retries != 0 ? 3 : 1));
      if (e.into.empty()) {
        ++own;
        CHECK(e.action == *rule.action);
      } else {
        ++others;
        CHECK(e.action == error_action::replace);
        CHECK(e.substitute.empty());
        CHECK(contains(wick::detail::to_json(e), "\"into\":\"number "));
      }
    }
    CHECK(own == 1);
    CHECK(others > 1);
    l.write_quarantine(folder / "bad.jsonl");
    wick::loader known(
        numbers{40} | wick::shuffle() | broken | wick::array_batch(8),
        {.seed = 3, .on_error = on_error(rule, {.count = 0}), .quarantine = {folder / "bad.jsonl"}});
    CHECK(targets_of(known, 1) == alone);
    REQUIRE(known.failure_log().entries().size() == l.failure_log().entries().size());
    for (std::size_t i = 0; i < l.failure_log().entries().size(); ++i) {
      const auto& e = known.failure_log().entries()[i];
      CHECK(e.kind == wick::error_kind::quarantined);
      CHECK(e.into == l.failure_log().entries()[i].into);
      CHECK(e.stage == "look");
    }
    CHECK(wick::detail::read_quarantine(folder / "bad.jsonl", numbers{40}, {}).size() == 1);
  }
}

TEST_CASE("others that fail move no sample in the fingerprint of an epoch, with and without batch()") {
  const auto mixed = wick::map("look", break_13) | wick::with_others(3) | wick::join(digits);
  const wick::loader_options skipping{.seed = 3, .on_error = on_error(on_error::skip)};
  wick::loader plain(numbers{40} | wick::shuffle() | wick::map("look", break_13), skipping);
  wick::loader one(numbers{40} | wick::shuffle() | mixed, skipping);
  wick::loader batched(numbers{40} | wick::shuffle() | wick::map("look", break_13) | wick::array_batch(8),
                       skipping);
  wick::loader mixed_batched(numbers{40} | wick::shuffle() | mixed | wick::array_batch(8), skipping);
  int samples = 0;
  for (const cell& c : plain.epoch(0)) samples += c.target != 14;
  for (const cell& c : one.epoch(0)) samples += digits_of(c.target).count(14) == 0;
  CHECK(samples == 2 * 39);
  CHECK(one.failure_log().total() > 1);
  CHECK(one.fingerprint(0) == plain.fingerprint(0));
  targets_of(batched, 0);
  targets_of(mixed_batched, 0);
  CHECK(mixed_batched.fingerprint(0) == batched.fingerprint(0));
}

TEST_CASE("an other that goes well when it is tried again gives what it would have given at once") {
  struct flaky {
    std::shared_ptr<std::array<std::atomic<int>, 40>> seen =
        std::make_shared<std::array<std::atomic<int>, 40>>();
    cell operator()(cell c) const {
      if (c.target % 3 == 0 && ++(*seen)[static_cast<std::size_t>(c.target)] < 3)
        throw wick::error("a moment");
      return c;
    }
  };
  const auto mixing = wick::with_others(3) | wick::join(digits);
  const batches expected = run(wick::map("look", [](cell c) { return c; }) | mixing, {.seed = 3});
  for (const std::size_t workers : {1, 4}) {
    wick::loader l(numbers{40} | wick::shuffle() | wick::shard(0, 1) | wick::map("look", flaky()) | mixing |
                       wick::array_batch(8),
                   {.seed = 3, .workers = workers, .on_error = on_error(on_error::retry(2))});
    CHECK(targets_of(l, 1) == expected);
    CHECK(l.failure_log().total() == 0);
    int others = 0;
    for (const auto& e : l.failure_log().entries()) {
      CHECK(e.action == error_action::retry);
      CHECK(e.tries > 1);
      others += !e.into.empty();
    }
    CHECK(others > 1);
  }
}

TEST_CASE("where all others are damaged a sample is left out, or its batch fails") {
  const auto most = [](cell c) {
    if (c.target % 40 != 0) throw wick::error("one of many");
    ++c.target;
    return c;
  };
  const auto all = numbers{400} | wick::map("look", most) | wick::with_others(1) | wick::join(digits) |
                   wick::array_batch(400);
  {
    wick::loader l(all, {.seed = 4, .on_error = on_error(on_error::skip)});
    std::size_t delivered = 0, left_out = 0;
    for (const auto& batch : targets_of(l, 0)) delivered += batch.size();
    for (const auto& e : l.failure_log().entries()) {
      left_out += !e.into.empty() && e.action == error_action::skip;
      if (e.action == error_action::skip && !e.into.empty())
        CHECK(contains(e.text, "it was drawn to go into number "));
    }
    CHECK(delivered + left_out == 10);
    CHECK(delivered > 0);
    CHECK(left_out > 0);
  }
  wick::loader l(all, {.seed = 4, .on_error = on_error(on_error::replace)});
  CHECK(contains(message_of([&] { targets_of(l, 0); }), "all 16 substitutes drawn"));
}

TEST_CASE("of others of others the one that is damaged is reported") {
  wick::loader l(numbers{40} | wick::shuffle() | wick::map("look", break_13) | wick::with_others(1) |
                     wick::join(digits) | wick::with_others(1) | wick::join("twice", digits) |
                     wick::array_batch(8),
                 {.seed = 3, .on_error = on_error(on_error::replace)});
  for (const auto& batch : targets_of(l, 0)) {
    CHECK(batch.size() == 8);
    for (const std::int64_t t : batch) CHECK(digits_of(t).count(14) == 0);
  }
  CHECK(l.failure_log().total() > 2);
  for (const auto& e : l.failure_log().entries()) {
    CHECK(e.key == "number 13");
    CHECK(e.stage == "look");
    CHECK(e.into != "number 13");
  }
}

}  // namespace wick_test::others_that_fail_tests
