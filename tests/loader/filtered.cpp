// filter() in a loader: batches, order, ranks and resume are what they are without it, but for the samples
// left out.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::filtered_tests {

namespace {

bool keeps(const cell& c) { return c.target % 3 != 1; }
/// Drops some, breaks at some.
bool keeps_or_breaks(const cell& c) {
  if (c.target % 11 == 4) throw wick::error("can't be judged");
  return c.target % 3 != 1;
}

/// The batches of an epoch without what is not kept.
template <class Keep>
batches without(const batches& all, Keep keep) {
  batches out;
  for (const auto& b : all) {
    out.emplace_back();
    for (const std::int64_t i : b) {
      if (keep(i)) out.back().push_back(i);
    }
  }
  return out;
}
bool kept(std::int64_t i) { return i % 3 != 1; }

batches unfiltered(std::uint64_t n, std::size_t batch, std::uint64_t epoch) {
  wick::loader l(numbers{n} | wick::shuffle() | wick::array_batch(batch), {.seed = 8, .workers = 1});
  return targets_of(l, epoch);
}

}  // namespace

TEST_CASE(
    "other samples stay where they stand, at any worker and rank count, and through a resume onto others") {
  constexpr std::uint64_t n = 500;
  for (const std::uint64_t epoch : {0, 1, 2}) {
    const batches expected = without(unfiltered(n, 24, epoch), kept);
    for (const bool suspends : {false, true}) {
      const auto run = [&](auto stages) {
        for (const std::size_t workers : {1, 4}) {
          for (const std::uint64_t ranks : {1, 2, 4}) {
            batches together(expected.size()), resumed(expected.size());
            std::uint64_t dropped = 0;
            std::vector<std::byte> state;
            const std::size_t stop = 7 + ranks;
            {
              wick::loader l(numbers{n} | wick::shuffle() | stages | wick::array_batch(24),
                             {.seed = 8, .workers = workers});
              l.epoch(epoch);
              const batches first = rest_of(l, stop);
              std::copy(first.begin(), first.end(), resumed.begin());
              state = l.state();
              CHECK(state.size() <= 4096);
              std::uint64_t here = 0;
              for (const auto& b : first) here += 24 - b.size();
              CHECK(l.filtered() == here);
            }
            for (std::uint64_t rank = 0; rank < ranks; ++rank) {
              wick::loader l(
                  numbers{n} | wick::shuffle() | wick::shard(rank, ranks) | stages | wick::array_batch(24),
                  {.seed = 8, .workers = workers, .prefetch = 1 + rank});
              const batches mine = targets_of(l, epoch);
              REQUIRE(mine.size() == expected.size());
              dropped += l.filtered();
              CHECK(l.failure_log().total() == 0);
              const auto report = l.report();
              CHECK(report.filtered == l.filtered());
              CHECK(contains(report.to_string(), "left out by filter()"));
              CHECK(l.report().filtered == 0);
              for (std::size_t k = 0; k < mine.size(); ++k)
                together[k].insert(together[k].end(), mine[k].begin(), mine[k].end());
            }
            CHECK(together == expected);
            std::uint64_t left = 0;
            for (const auto& b : expected) left += b.size();
            CHECK(dropped == n - left);
            for (std::uint64_t rank = 0; rank < ranks; ++rank) {
              wick::loader l(
                  numbers{n} | wick::shuffle() | wick::shard(rank, ranks) | stages | wick::array_batch(24),
                  {.seed = 8, .workers = 5 - workers});
              // shard() is a stage, and numbers go by stages: the state is of the pipeline with it.
              if (ranks == 1) continue;
              wick::loader whole(
                  numbers{n} | wick::shuffle() | wick::shard(0, 1) | stages | wick::array_batch(24),
                  {.seed = 8, .workers = workers});
              whole.epoch(epoch);
              static_cast<void>(rest_of(whole, stop));
              l.load_state(whole.state());
              CHECK(l.filtered() == whole.filtered());
              const batches mine = rest_of(l);
              REQUIRE(mine.size() == expected.size() - stop);
              for (std::size_t k = 0; k < mine.size(); ++k)
                resumed[stop + k].insert(resumed[stop + k].end(), mine[k].begin(), mine[k].end());
            }
            if (ranks == 1) {
              wick::loader l(numbers{n} | wick::shuffle() | stages | wick::array_batch(24),
                             {.seed = 8, .workers = 5 - workers});
              l.load_state(state);
              const batches mine = rest_of(l);
              std::copy(mine.begin(), mine.end(), resumed.begin() + static_cast<std::ptrdiff_t>(stop));
            }
            CHECK(resumed == expected);
          }
        }
      };
      if (suspends)
        run(wick::map(&slowly) | wick::filter(&keeps));
      else
        run(wick::filter(&keeps) | wick::map([](cell c) { return c; }));
    }
  }
}

TEST_CASE("the fingerprint of an epoch is the same at any rank count, and another without the filter") {
  const auto print = [](std::size_t workers, std::uint64_t ranks, auto stages) {
    wick::epoch_fingerprint sum;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      wick::loader l(numbers{200} | wick::shard(rank, ranks) | stages | wick::array_batch(16),
                     {.workers = workers, .content_fingerprint = true});
      targets_of(l, 1);
      sum += l.fingerprint(1);
    }
    return sum;
  };
  const auto one = print(1, 1, wick::map([](cell c) { return c; }) | wick::filter(&keeps));
  CHECK(one == print(4, 1, wick::map([](cell c) { return c; }) | wick::filter(&keeps)));
  CHECK(one.value == print(2, 2, wick::map([](cell c) { return c; }) | wick::filter(&keeps)).value);
  CHECK(one.value == print(2, 4, wick::map([](cell c) { return c; }) | wick::filter(&keeps)).value);
  CHECK(one.value != print(1, 1, wick::map([](cell c) { return c; })).value);
}

TEST_CASE("an epoch of which nothing is kept ends with an error, once, and the next one is tried again") {
  for (const std::size_t workers : {1, 4}) {
    {
      wick::loader l(
          wick::from(numbers{40}) | wick::filter([](const cell&) { return false; }) | wick::array_batch(8),
          {.workers = workers});
      for (const std::uint64_t epoch : {0, 1}) {
        l.epoch(epoch);
        std::string text;
        std::size_t taken = 0;
        for (;;) {
          try {
            auto b = l.next();
            if (!b) break;
            ++taken;
            CHECK(b->data.extents()[0] == 0);
          } catch (const wick::error& e) {
            CHECK(text.empty());
            text = e.what();
          }
        }
        CHECK(contains(text, "all 40 samples of epoch " + std::to_string(epoch), "left out"));
        CHECK(taken == 5);
      }
    }
    wick::loader one(wick::from(numbers{40}) | wick::filter([](const cell&) { return false; }),
                     {.workers = workers});
    CHECK(contains(message_of([&] { return one.next().has_value(); }), "all 40 samples of epoch 0"));
    CHECK(!one.next());
  }
}

TEST_CASE("an epoch of which nothing is left says what filter() and failures left out") {
  const auto keep = [](const cell& c) { return c.target != 1; };
  const auto fail = [](cell c) {
    if (c.target == 1) throw wick::error("a bad one");
    return c;
  };
  const wick::on_error skip(wick::on_error::skip);
  const auto message = [](auto pipeline, const wick::loader_options& options) {
    wick::loader l(std::move(pipeline), options);
    return message_of([&] {
      while (l.next()) {
      }
      return 0;
    });
  };
  const auto two = wick::from(numbers{40}) | wick::take(2);
  const auto none = [](const cell& c) { return c.target != 0; };
  CHECK(
      contains(message(two | wick::filter(none) | wick::map(fail) | wick::array_batch(2), {.on_error = skip}),
               "nothing is left of epoch 0: filter() left out 1, 1 failed; see loader.failure_log()"));
  const auto one = wick::from(numbers{40}) | wick::subset(std::vector<std::uint64_t>{1});
  CHECK(contains(message(one | wick::map(fail), {.on_error = skip}),
                 "nothing is left of epoch 0: 1 failed; see loader.failure_log()"));
  CHECK(contains(message(one | wick::filter(keep) | wick::array_batch(2), {}),
                 "the only sample of epoch 0 was left out"));
  CHECK(message(two | wick::map(fail) | wick::array_batch(2), {.on_error = skip}).empty());
  const auto fails_always = [](const cell&) -> cell { throw wick::error("a bad stage"); };
  CHECK(contains(message(two | wick::map(fails_always) | wick::array_batch(2), {.on_error = skip}),
                 "nothing is left of epoch 0: 2 failed; see loader.failure_log()"));
}

TEST_CASE("a rank whose samples are all filtered delivers empty batches, as other ranks may keep some") {
  const auto keep = [](const cell& c) { return c.target >= 4; };  // of batches of 8, the second half
  for (const std::uint64_t rank : {0, 1}) {
    wick::loader l(wick::from(numbers{40}) | wick::take(8) | wick::shard(rank, 2) | wick::filter(keep) |
                       wick::array_batch(8),
                   {.workers = 2});
    for (const std::uint64_t epoch : {0, 1}) {
      const batches all = targets_of(l, epoch);
      CHECK(all == (rank == 0 ? batches{{}} : batches{{4, 5, 6, 7}}));
    }
    wick::loader one(wick::from(numbers{40}) | wick::take(32) | wick::shard(rank, 2) |
                         wick::filter([](const cell& c) { return c.target % 32 >= 16; }),
                     {.workers = 2});
    std::size_t n = 0;
    while (one.next()) ++n;
    CHECK(n == (rank == 0 ? 0 : 16));
  }
}

TEST_CASE(
    "a predicate that throws is a failure of the stage: the policy holds, and what is left out is none") {
  for (const std::size_t workers : {1, 4}) {
    {
      wick::loader l(
          wick::from(numbers{110}) | wick::filter("judge", &keeps_or_breaks) | wick::array_batch(11),
          {.workers = workers});
      CHECK(contains(message_of([&] { return l.next().has_value(); }), "number 4: judge: can't be judged"));
      std::size_t failed = 1;
      for (;;) {
        try {
          if (!l.next()) break;
        } catch (const wick::sample_error&) {
          ++failed;
        }
      }
      CHECK(failed == 10);
    }
    {
      wick::loader l(wick::from(numbers{110}) | wick::filter(&keeps_or_breaks) | wick::array_batch(11),
                     {.workers = workers, .on_error = wick::on_error::skip});
      const auto got = targets_of(l, 0);
      CHECK(got == without(without(
                               [] {
                                 wick::loader all(numbers{110} | wick::array_batch(11), {.workers = 1});
                                 return targets_of(all, 0);
                               }(),
                               kept),
                           [](std::int64_t i) { return i % 11 != 4; }));
      CHECK(l.failure_log().total() == 10);
      for (const auto& e : l.failure_log().entries()) CHECK(e.stage == "filter");
      std::uint64_t left_out = 0;
      for (std::int64_t i = 0; i < 110; ++i) left_out += i % 11 != 4 && !kept(i);
      CHECK(l.filtered() == left_out);
    }
    {  // what is drawn in a place is kept
      batches one;
      for (const std::size_t w : {std::size_t{1}, workers}) {
        wick::loader l(wick::from(numbers{110}) | wick::filter(&keeps_or_breaks) | wick::array_batch(11),
                       {.seed = 3, .workers = w, .on_error = wick::on_error::replace});
        const auto got = targets_of(l, 0);
        for (std::size_t k = 0; k < got.size(); ++k) {
          std::size_t planned = 0;
          for (std::size_t i = 0; i < 11; ++i)
            planned += kept(static_cast<std::int64_t>(11 * k + i)) || i == 4;
          CHECK(got[k].size() == planned);
          for (const std::int64_t i : got[k]) CHECK((kept(i) && i % 11 != 4));
        }
        if (one.empty()) one = got;
        CHECK(got == one);
      }
    }
    {  // it is not counted by limits, nor put on a list
      wick::loader l(
          wick::from(numbers{110}) | wick::filter(&keeps) | wick::array_batch(11),
          {.workers = workers,
           .on_error = wick::on_error(wick::on_error::skip, {.count = 0, .rate = 0, .consecutive = 0})});
      CHECK(targets_of(l, 0).size() == 10);
      CHECK(l.failure_log().counts().empty());
    }
  }
}

TEST_CASE("an epoch whose samples were handed over before its state is not one of which nothing is kept") {
  const auto pipeline = numbers{100} | wick::filter([](const cell& c) { return c.target < 5; });
  wick::loader l(pipeline, {.workers = 1}), rest(pipeline, {.workers = 1});
  for (int i = 0; i < 5; ++i) REQUIRE(l.next());
  rest.load_state(l.state());
  CHECK(!rest.next());
  CHECK(!l.next());
}

TEST_CASE(
    "without batch() samples that are left out do not come, and a resume continues between the others") {
  const auto take = [](auto& l, std::size_t most) {
    std::vector<std::int64_t> out;
    while (out.size() < most) {
      const auto s = l.next();
      if (!s) break;
      out.push_back(s->target);
    }
    return out;
  };
  const auto make = [] { return numbers{100} | wick::shuffle() | wick::filter(&keeps); };
  std::vector<std::int64_t> whole;
  for (const std::size_t workers : {1, 4}) {
    wick::loader l(make(), {.workers = workers});
    const auto all = take(l, 1000);
    CHECK(all.size() == 67);
    CHECK(l.filtered() == 33);
    if (whole.empty()) whole = all;
    CHECK(all == whole);
    l.epoch(0);
    for (const std::size_t k : {1, 20, 66}) {
      wick::loader before(make(), {.workers = workers});
      take(before, k);
      wick::loader behind(make(), {.workers = workers});
      behind.load_state(before.state());
      CHECK(take(behind, 1000) ==
            std::vector<std::int64_t>(whole.begin() + static_cast<std::ptrdiff_t>(k), whole.end()));
      CHECK(behind.filtered() == 33);
    }
  }
}

}  // namespace wick_test::filtered_tests
