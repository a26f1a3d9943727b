// Pipelines of which some samples fail, and what a consumer of them sees.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/failures/detail/failure_log_file.hpp>

namespace wick_test {

using wick::on_error;

inline bool bad_early(std::int64_t i) { return i % 13 == 5; }
inline bool bad_late(std::int64_t i) { return i % 29 == 7; }
inline bool bad(std::int64_t i) { return bad_early(i) || bad_late(i); }

inline cell early(cell c) {
  if (bad_early(c.target)) throw wick::error("it broke");
  return c;
}
inline cell late(cell c, wick::context& context) {
  c.data[2] = static_cast<std::uint8_t>(context.random().below(256));
  if (bad_late(c.target)) throw std::out_of_range("too late");
  return c;
}
inline wick::task<cell> hop(cell c, wick::context& context) {
  if (context.random().bernoulli(0.5)) co_await context.on()->schedule();
  co_return c;
}

/// Stages of the same names, numbers and random streams in both, so that both give the same bytes.
inline auto suspending(std::uint64_t size, std::int64_t batch, std::uint64_t rank = 0,
                       std::uint64_t world = 1, wick::batch_options o = {}) {
  return numbers{size} | wick::shuffle() | wick::shard(rank, world) | wick::map("early", early) |
         wick::map("hop", hop) | wick::map("late", late) | wick::array_batch(batch, o);
}
inline auto straight(std::uint64_t size, std::int64_t batch, std::uint64_t rank = 0, std::uint64_t world = 1,
                     wick::batch_options o = {}) {
  return numbers{size} | wick::shuffle() | wick::shard(rank, world) | wick::map("early", early) |
         wick::map("hop", [](cell c) { return c; }) | wick::map("late", late) | wick::array_batch(batch, o);
}

/// What a consumer saw: of each batch its bytes and targets, or the error.
struct seen {
  std::vector<std::string> batches;
  std::vector<std::vector<std::int64_t>> targets;
  std::vector<std::string> failure_log;
  wick::epoch_fingerprint print;
  bool operator==(const seen& o) const {
    return batches == o.batches && targets == o.targets && failure_log == o.failure_log && print == o.print;
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
void note_failure_log(const Loader& from, seen& s) {
  for (const auto& e : from.failure_log().entries()) s.failure_log.push_back(wick::detail::to_json(e));
}
template <class Pipeline>
seen run(Pipeline p, wick::loader_options o, std::uint64_t epoch = 1) {
  wick::loader l(std::move(p), o);
  seen s;
  l.epoch(epoch);
  take(l, s);
  note_failure_log(l, s);
  s.print = l.fingerprint(epoch);
  return s;
}
inline std::vector<std::int64_t> flat(const seen& s) {
  std::vector<std::int64_t> out;
  for (const auto& t : s.targets) out.insert(out.end(), t.begin(), t.end());
  return out;
}

inline std::vector<std::pair<const char*, on_error>> policies() {
  using namespace std::chrono_literals;
  return {{"fail", {}},
          {"skip", on_error(on_error::skip)},
          {"replace", on_error(on_error::replace)},
          {"retry, skip", on_error(on_error::retry(2, 1ms).then(on_error::skip))},
          {"retry one stage, replace", on_error(on_error::replace).at("late", on_error::retry(1))},
          {"skip one stage, replace the other", on_error(on_error::skip).at("late", on_error::replace)},
          {"fail one stage", on_error(on_error::replace).at("late", on_error::fail)}};
}

}  // namespace wick_test
