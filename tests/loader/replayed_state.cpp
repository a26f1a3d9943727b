// What a replay leaves as it was, and what is refused.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "loader/replayed.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

using namespace wick_test;
using wick::on_error;

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

TEST_CASE("batches, state, failure log, fingerprint and report are those of a run without replays") {
  const auto run = [](bool with_replays) {
    outcome out;
    wick::loader l(
        plain(100),
        {.seed = 6, .workers = 3, .on_error = on_error(on_error::replace), .content_fingerprint = true});
    wick::random_stream random(1, 0, 0, 0);
    for (std::uint64_t e = 0; e < 3; ++e) {
      for (auto& b : l.epoch(e)) {
        out.batches.push_back(parts_of(b));
        if (with_replays) {
          const auto before = l.state();
          const auto failures = l.failure_log().total();
          for (int i = 0; i < 3; ++i) {
            l.replay(random.below(4), random.below(l.batches()));
            l.receipt(random.below(4), random.below(l.batches()));
          }
          CHECK(l.state() == before);
          CHECK(l.failure_log().total() == failures);
          CHECK(l.current_epoch() == e);
        }
        out.states.push_back(l.state());
      }
      out.prints.push_back(l.fingerprint(e));
    }
    for (const auto& f : l.failure_log().entries()) out.failures.push_back(f.key + f.text + f.substitute);
    return out;
  };
  const outcome expected = run(false);
  CHECK(expected.failures.size() > 30);
  CHECK(run(true) == expected);
}

TEST_CASE("what is made again counts neither in the report nor in the books") {
  const pictures all(60);
  wick::loader l(
      all | wick::shuffle() | wick::decode() | wick::random_resized_crop(8) | wick::mixup(10, {.p = 0.5}) |
          wick::array_batch(8),
      {.seed = 6, .workers = 2, .prefetch_next_epoch = false, .on_error = on_error(on_error::replace)});
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

TEST_CASE("without batch() a sample is made again by its position") {
  const auto make = [] {
    return numbers{90} | wick::shuffle() | wick::map("draws", draws) | wick::map("fails", fails) |
           wick::filter([](const cell& c) { return c.target % 5 != 0; });
  };
  std::vector<std::int64_t> order;
  wick::loader plainly(numbers{90} | wick::shuffle(), {.seed = 3});
  for (const auto& c : plainly.epoch(2)) order.push_back(c.target);
  for (const auto& policy :
       {on_error(on_error::fail), on_error(on_error::skip), on_error(on_error::replace)}) {
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
  wick::loader l(plain(100), {.seed = 6, .workers = 2, .on_error = on_error(on_error::replace)});
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
      {.seed = 6, .workers = 2, .on_error = on_error(on_error::skip)});
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
  CHECK(contains(message_of([&] { l.replay(std::uint64_t{1} << 32, 0); }),
                 "replay(4294967296): epochs are counted from 0 to 4294967295"));
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
