// Data that changes under a loader: what is safe, and what is an error.
#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

namespace wick_test::changed_source_tests {

using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::targets_of;

namespace {

/// Texts that the test owns and may change; counts what is asked for.
struct borrowed {
  const std::vector<std::string>* texts;
  std::shared_ptr<std::atomic<std::uint64_t>> asked = std::make_shared<std::atomic<std::uint64_t>>(0);

  std::uint64_t size() const { return texts->size(); }
  const std::string& at(std::uint64_t i) const {
    asked->fetch_add(1, std::memory_order_relaxed);
    return (*texts)[i];
  }
};

struct named_texts : borrowed {
  std::string key(std::uint64_t i) const { return (*texts)[i]; }
};

std::int64_t number_in(const std::string& text) { return std::stoll(text.substr(text.rfind(' ') + 1)); }

std::vector<std::string> texts(std::int64_t from, std::int64_t count) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back("a text that lies in memory of its own, " + std::to_string(from + i));
  return out;
}

template <class Loader>
std::int64_t sum_of(Loader& from, std::uint64_t epoch) {
  std::int64_t sum = 0;
  for (auto& batch : from.epoch(epoch)) {
    for (std::int64_t i = 0; i < batch.extents()[0]; ++i) sum += batch.template as<std::int64_t>()[i];
  }
  return sum;
}

/// A size that is changed while workers run.
struct elastic : numbers {
  std::shared_ptr<std::atomic<std::uint64_t>> now;
  explicit elastic(std::uint64_t n) : numbers{n}, now(std::make_shared<std::atomic<std::uint64_t>>(n)) {}
  std::uint64_t size() const { return *now; }
};

/// Asked for its size it gives these answers, each once, and the last of them from then on. 0: it throws.
struct answering : numbers {
  std::shared_ptr<std::deque<std::uint64_t>> answers = std::make_shared<std::deque<std::uint64_t>>();
  explicit answering(std::uint64_t n) : numbers{n} { answers->push_back(n); }
  void answer(std::initializer_list<std::uint64_t> all) const { answers->assign(all); }
  std::uint64_t size() const {
    const std::uint64_t n = answers->front();
    if (answers->size() > 1) answers->pop_front();
    if (n == 0) throw wick::error("nobody knows how many there are");
    return n;
  }
};

}  // namespace

TEST_CASE("a source whose size has changed is refused at the next epoch, and taken again when it has not") {
  for (const bool ahead : {false, true}) {
    for (const std::uint64_t changed : {120, 60, 0}) {
      const elastic source(100);
      wick::loader l(source | wick::shuffle() | wick::array_batch(10),
                     {.workers = 2, .prefetch_next_epoch = ahead});
      const auto first = targets_of(l, 0), second = targets_of(l, 1);
      const auto state = l.state();
      *source.now = changed;
      for (int i = 0; i < 2; ++i) {
        const std::string text = message_of([&] { return l.epoch(2); });
        CHECK(contains(text, "loader: ", "100 samples when this loader was made",
                       "has " + std::to_string(changed) + " now", "make a new loader"));
      }
      CHECK(l.current_epoch() == 1);
      CHECK(l.state() == state);
      CHECK(l.samples() == 100);
      *source.now = 100;
      CHECK(targets_of(l, 0) == first);
      CHECK(targets_of(l, 1) == second);
    }
  }
}

TEST_CASE("next() that begins an epoch by itself refuses a changed source as well") {
  const elastic source(100);
  wick::loader l(source | wick::array_batch(10), {.workers = 1});
  *source.now = 99;
  CHECK(contains(message_of([&] { return l.next(); }), "has 99 now"));
  *source.now = 100;
  CHECK(l.next());
}

TEST_CASE("nothing of the next epoch is begun once the size has changed") {
  const elastic source(40);
  wick::loader l(source | wick::array_batch(10), {.workers = 2, .prefetch = 1});
  l.epoch(0);
  for (int i = 0; i < 2; ++i) REQUIRE(l.next());
  *source.now = 30;
  for (int i = 0; i < 2; ++i) REQUIRE(l.next());  // this epoch continues to its end
  CHECK(!l.next());
  CHECK(source.asked->load() == 40);
  CHECK(contains(message_of([&] { return l.epoch(1); }), "40 samples", "30 now"));
  CHECK(source.asked->load() == 40);
  *source.now = 40;
  CHECK(targets_of(l, 1).size() == 4);
}

TEST_CASE("sources that were put together are refused when one of them has changed its size") {
  const elastic a(30), b(70);
  wick::loader end_to_end(wick::concat(a, b) | wick::array_batch(10), {.workers = 1});
  wick::loader mixed(
      wick::mix(wick::weighted_source{a, 1}, wick::weighted_source{b, 1}) | wick::array_batch(10),
      {.workers = 1});
  *b.now = 71;
  CHECK(contains(message_of([&] { return end_to_end.epoch(0); }), "100 samples", "101 now"));
  CHECK(contains(message_of([&] { return mixed.epoch(0); }), "100 samples", "101 now"));
}

TEST_CASE("refresh() takes the new sizes of sources that were put together") {
  const elastic a(30), b(50), of_b(50);
  const auto numbered = [](std::uint64_t n) { return elastic(n); };
  wick::loader joined(wick::concat(a, b) | wick::array_batch(10), {.workers = 2});
  const auto mix_of = [](const elastic& first, const elastic& second) {
    return wick::mix(wick::mix_until::all_exhausted, wick::weighted_source{first | wick::shuffle(), 1},
                     wick::weighted_source{second, 2}) |
           wick::array_batch(10);
  };
  wick::loader mixed(mix_of(a, b), {.workers = 2});
  wick::loader paired(wick::zip(wick::pair_by::position, b, of_b) |
                          wick::map("both",
                                    [](wick::sample<cell, cell> s) {
                                      CHECK(s.data.target == s.target.target);
                                      return std::move(s.data);
                                    }) |
                          wick::array_batch(10),
                      {.workers = 2});
  std::uint64_t epoch = 0;
  for (const auto& [now_a, now_b] : {std::pair{40, 50}, {40, 20}, {7, 90}, {30, 50}}) {
    *a.now = static_cast<std::uint64_t>(now_a);
    *b.now = *of_b.now = static_cast<std::uint64_t>(now_b);
    const auto check = [&](auto& l, const auto& as_new) {
      CHECK(contains(message_of([&] { return l.epoch(epoch); }), "call refresh()"));
      l.refresh();
      wick::loader anew(as_new, {.workers = 1});
      CHECK(targets_of(l, epoch) == targets_of(anew, epoch));
    };
    const elastic new_a = numbered(*a.now), new_b = numbered(*b.now);
    check(joined, wick::concat(new_a, new_b) | wick::array_batch(10));
    check(mixed, mix_of(new_a, new_b));
    if (now_b != 50) check(paired, new_b | wick::array_batch(10));
    ++epoch;
  }
  *a.now = 0;
  CHECK(contains(message_of([&] { return mixed.refresh(), 0; }), "mix: the 1st source", "is empty"));
  CHECK(contains(message_of([&] { return mixed.epoch(epoch); }), "last refresh() has failed"));
  *a.now = 30;
  mixed.refresh();
  wick::loader anew(mix_of(elastic(30), elastic(50)), {.workers = 1});
  CHECK(targets_of(mixed, epoch) == targets_of(anew, epoch));
  *of_b.now = 51;
  CHECK(contains(message_of([&] { return paired.refresh(), 0; }), "zip: the 2nd source", "51"));
}

TEST_CASE("sources that are paired by their names are not paired again") {
  std::vector<std::string> a = texts(0, 10), b = texts(0, 10);
  const auto by = [](std::string_view key) { return std::string(key); };
  wick::loader l(wick::zip(by, named_texts{{&a}}, named_texts{{&b}}) |
                     wick::map("number", [](const auto& s) { return number_in(s.data); }) |
                     wick::array_batch(2),
                 {.workers = 1, .prefetch_next_epoch = false});
  CHECK(sum_of(l, 0) == 45);
  a = b = texts(0, 12);
  CHECK(contains(message_of([&] { return l.refresh(), 0; }), "zip: the sources had 10 samples",
                 "paired by their names", "12 now"));
}

TEST_CASE(
    "without prefetch across epochs data may be exchanged between epochs, and the next one is of the new "
    "data") {
  std::vector<std::string> data = texts(0, 100);
  const borrowed source{&data};
  wick::loader l(source | wick::shuffle() | wick::map("number", number_in) | wick::array_batch(7),
                 {.workers = 3, .prefetch_next_epoch = false});
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    CHECK(sum_of(l, static_cast<std::uint64_t>(epoch)) == 100 * (99 + 2000 * epoch) / 2);
    // Taken to its end: no thread looks at the source now.
    std::vector<std::string>().swap(data);
    data = texts(1000 * (epoch + 1), 100);
  }
  CHECK(source.asked->load() == 2000);
}

TEST_CASE("the same where stages suspend and samples fail") {
  struct stages {
    static wick::task<std::int64_t> number(const std::string& text, wick::context& c) {
      if (c.position() % 3 == 0) co_await c.on()->schedule();
      const std::int64_t n = number_in(text);
      if (n % 10 == 3) throw wick::error("not this one");
      co_return n;
    }
  };
  for (const auto& policy : {wick::on_error(wick::on_error::skip), wick::on_error(wick::on_error::replace)}) {
    std::vector<std::string> data = texts(0, 100);
    const borrowed source{&data};
    wick::loader l(source | wick::shuffle() | wick::map("number", &stages::number) | wick::array_batch(7),
                   {.workers = 3, .prefetch_next_epoch = false, .on_error = policy});
    for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
      CHECK(sum_of(l, static_cast<std::uint64_t>(epoch)) >= 90 * 1000 * epoch);
      std::vector<std::string>().swap(data);
      data = texts(1000 * (epoch + 1), 100);
    }
  }
}

TEST_CASE("an epoch that was left early still reads: data may change when the loader is gone") {
  std::vector<std::string> data = texts(0, 100);
  for (int round = 0; round < 20; ++round) {
    {
      wick::loader l(borrowed{&data} | wick::map("number", number_in) | wick::array_batch(7),
                     {.workers = 3, .prefetch_next_epoch = false});
      REQUIRE(l.next());
    }
    std::vector<std::string>().swap(data);
    data = texts(round, 100 + round);
  }
}

TEST_CASE("a size that changes between epoch() and the first batch is an error in place of that batch") {
  const auto check = [](const answering& source, auto& l, std::uint64_t epoch) {
    for (const std::uint64_t changed : {120, 60}) {
      source.answer({100, changed});  // the first is for epoch() itself, which finds nothing wrong
      l.epoch(epoch);
      for (int i = 0; i < 3; ++i) {
        CHECK(contains(message_of([&] { return l.next(); }),
                       "loader: ", "100 samples when this loader was made",
                       "has " + std::to_string(changed) + " now", "make a new loader"));
      }
      CHECK(l.current_epoch() == epoch);
    }
    // Back again: nothing of the epoch is lost.
    source.answer({100});
    std::size_t n = 0;
    while (l.next()) ++n;
    CHECK(n == l.batches());
    n = 0;
    for (auto& batch : l.epoch(epoch + 1)) n += batch.target.extents()[0] == 10;
    CHECK(n == l.batches());
  };
  for (const bool ahead : {false, true}) {
    CAPTURE(ahead);
    const wick::loader_options options{.workers = 2, .prefetch = 3, .prefetch_next_epoch = ahead};
    {  // the first epoch
      const answering source(100);
      wick::loader l(source | wick::shuffle() | wick::array_batch(10), options);
      check(source, l, 0);
    }
    {  // one that was not foreseen, with the one before under way
      const answering source(100);
      wick::loader l(source | wick::shuffle() | wick::array_batch(10), options);
      REQUIRE(l.next());
      check(source, l, 5);
    }
    {  // the one that comes next
      const answering source(100);
      wick::loader l(source | wick::shuffle() | wick::array_batch(10), options);
      for (int i = 0; i < 7; ++i) REQUIRE(l.next());
      source.answer({120});  // so that it is not begun ahead
      for (int i = 7; i < 10; ++i) REQUIRE(l.next());
      REQUIRE(!l.next());
      check(source, l, 1);
    }
  }
}

TEST_CASE("the same without batch()") {
  const answering source(100);
  wick::loader l(source | wick::shuffle(), {.workers = 1});
  source.answer({100, 99});
  l.epoch(0);
  CHECK(contains(message_of([&] { return l.next(); }), "100 samples", "has 99 now"));
  source.answer({100});
  std::size_t n = 0;
  while (l.next()) ++n;
  CHECK(n == 100);
}

TEST_CASE("the same in a coroutine, which leaves an epoch on a worker") {
  struct consumer {
    static wick::task<std::string> first_of(wick::executor* on,
                                            decltype(wick::loader(answering(1) | wick::array_batch(1)))* from,
                                            std::uint64_t epoch) {
      co_await on->schedule();
      from->epoch(epoch);
      std::string told;
      try {
        auto taking = from->next_async();
        const auto batch = co_await taking;
        if (batch) told = "batch of " + std::to_string(batch->target.extents()[0]);
      } catch (const wick::error& e) {
        told = e.what();
      }
      co_return told;
    }
  };
  wick::executor ex(2);
  const answering source(100);
  wick::loader l(source | wick::array_batch(10), {.executor = &ex});
  source.answer({100, 101});
  CHECK(contains(wick::ext::sync_wait(consumer::first_of(&ex, &l, 0)), "100 samples", "has 101 now"));
  source.answer({100});
  CHECK(wick::ext::sync_wait(consumer::first_of(&ex, &l, 0)) == "batch of 10");
  source.answer({100, 101});  // nothing is asked before what is under way has been left
  CHECK(contains(wick::ext::sync_wait(consumer::first_of(&ex, &l, 7)), "100 samples", "has 101 now"));
  source.answer({100});
  CHECK(wick::ext::sync_wait(consumer::first_of(&ex, &l, 7)) == "batch of 10");
}

TEST_CASE(
    "a size that changes back and forth is reported as that, and one that can't be had as what it throws") {
  const answering source(100);
  wick::loader l(source | wick::array_batch(10), {.workers = 1});
  source.answer({100, 99, 99, 100});  // epoch() looks twice, and so does next()
  l.epoch(0);
  CHECK(message_of([&] { return l.next(); }) ==
        "loader: the source's size changes while an epoch is begun; see the concept source for when it may");
  source.answer({100, 0});
  l.epoch(0);
  CHECK(message_of([&] { return l.next(); }) == "nobody knows how many there are");
  source.answer({0});
  CHECK(message_of([&] { return l.epoch(1); }) == "nobody knows how many there are");
  source.answer({100});
  CHECK(targets_of(l, 0).size() == 10);
}

}  // namespace wick_test::changed_source_tests
