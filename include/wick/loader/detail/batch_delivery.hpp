/// \file
/// Handing over whole batches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <wick/loader/detail/delivery.hpp>
#include <wick/receipt/detail/replayable.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/resume/state.hpp>
#include <wick/sample/stage.hpp>

namespace wick::detail {

template <class Feed>
class batch_delivery {
 public:
  using value_type = typename Feed::delivered;

  /// What is taken next stands behind `moved` samples that were moved to earlier batches.
  void begin(std::uint64_t, std::uint64_t moved) noexcept { moved_.begin(moved); }
  /// Samples of the epoch that were moved to the batches handed over so far.
  std::uint64_t moved() const noexcept { return moved_.now(); }
  /// The same in front of a batch, where that is known.
  std::optional<std::uint64_t> moved_before(std::uint64_t number) const noexcept {
    return moved_.before(number);
  }
  void write(loader_state& to) const noexcept { to.moved = moved_.now(); }

  /// \throws what one of its samples failed with, where on_error says nothing else; too_many_errors
  /// \returns nothing when it has no samples: those of an epoch's end may have been moved to earlier batches
  template <class Job>
  std::optional<value_type> take(Feed& feed, Job* job, delivery_books& books) {
    taken_job<Feed, Job> taken(feed, job);
    feed.make(job);
    tell_in_order(feed, *taken, told_);
    moved_.add(taken->number, taken->moved);
    const epoch_fingerprint print{taken->print.load(std::memory_order_relaxed), taken->rows(), 1};
    const std::uint64_t epoch = taken->epoch, number = taken->number, count = taken->count;
    const auto dropped = std::count_if(taken->failures.begin(), taken->failures.end(), is_left_out);
    std::optional<value_type> batch = std::exchange(taken->value, std::nullopt);
    taken.release();
    const auto& plan = feed.plan();
    books.account.add(epoch, 0, count, plan.passed(number + 1), plan.passed(plan.batches()), told_);
    books.drops.add(static_cast<std::uint64_t>(dropped), batch ? print.samples : told_.size());
    if (!batch) {
      for (const told_failure& f : told_) {
        if (f.entry.action == error_action::fail) throw to_exception(f);
      }
      return std::nullopt;
    }
    books.report.took(print.samples);
    books.prints.add(print);
    feed.path().for_each_batch_stage([&](auto& s) {
      if constexpr (has_hook<decltype(s), hook::deliver>) s.deliver(*batch);
    });
    return batch;
  }

 private:
  moved_samples moved_;
  std::vector<told_failure> told_;
};

}  // namespace wick::detail
