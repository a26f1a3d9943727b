/// \file
/// Handing over sample by sample, for pipelines without batch(): a batch is a group that only the loader
/// sees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <wick/failure/detail/failed_sample.hpp>
#include <wick/loader/detail/delivery.hpp>
#include <wick/resume/epoch_fingerprint.hpp>
#include <wick/resume/state.hpp>

namespace wick::detail {

template <class Feed>
class sample_delivery {
 public:
  using value_type = typename Feed::delivered;

  /// Of the group that is taken next, `sample` were handed over before.
  void begin(std::uint64_t sample, std::uint64_t) noexcept {
    group_.clear();
    next_ = 0;
    skip_ = sample;
  }
  static constexpr std::uint64_t moved() noexcept { return 0; }
  static constexpr std::optional<std::uint64_t> moved_before(std::uint64_t) noexcept { return 0; }
  /// Where the next sample stands: in the group being handed over, which counts as taken, or in the one after
  /// it.
  void write(loader_state& to) const noexcept {
    to.sample = skip_;
    if (!under_way()) return;
    --to.batch;
    to.sample = next_;
  }
  /// Whether the group has samples left.
  bool under_way() const noexcept { return next_ < group_.size(); }
  /// Samples that are left, when the groups to come have so many.
  std::uint64_t left_with(std::uint64_t in_groups) const noexcept {
    return in_groups - std::min(skip_, in_groups) + (group_.size() - next_);
  }

  /// The group is handed over from now on, by next().
  template <class Job>
  void take(Feed& feed, Job* job, delivery_books& books) {
    taken_job<Feed, Job> taken(feed, job);
    tell_in_order(feed, *taken, told_);
    next_ = static_cast<std::size_t>(std::exchange(skip_, 0));
    next_told_ = 0;
    number_ = taken->number;
    epoch_ = taken->epoch;
    first_ = taken->first;
    group_.clear();
    look_up(feed, *taken);
    dropped_.clear();
    for (const failure& f : taken->failures) {
      if (is_left_out(f)) dropped_.push_back(f.slot);
    }
    if (taken->value) {
      group_.swap(*taken->value);
      taken->columns.reuse(std::move(*taken->value));
    }
    group_.resize(static_cast<std::size_t>(taken->count));
    if (told_.empty()) books.account.add(epoch_, 0, taken->count, 0, 0, told_);
    taken.release();
    next_ = std::min(next_, group_.size());
    while (next_told_ < told_.size() && told_[next_told_].slot < next_) ++next_told_;
  }
  /// The next sample of the group; nothing when it has no more.
  /// \throws what it failed with, where on_error says nothing else; too_many_errors
  std::optional<value_type> next(Feed& feed, delivery_books& books) {
    while (under_way()) {
      const std::size_t slot = next_++;
      if (!told_.empty()) tell(feed, slot, books);  // else take() has counted all of them
      std::optional<value_type>& sample = group_[slot];
      books.prints.add({print_of(first_ + slot, indexes_[slot]), sample ? 1u : 0u, 0});
      if (!sample) {
        if (std::find(dropped_.begin(), dropped_.end(), slot) != dropped_.end()) books.drops.add(1, 0);
        continue;
      }
      books.drops.add(0, 1);
      books.report.took(1);
      return std::exchange(sample, std::nullopt);
    }
    return std::nullopt;
  }

 private:
  /// Which sample of the source stands at each position of a group, for the fingerprint.
  template <class Job>
  void look_up(const Feed& feed, const Job& job) {
    indexes_.resize(static_cast<std::size_t>(job.count));
    feed.plan().indexes(job.order, job.first, job.count, indexes_.data());
    for (const failure& f : job.failures) {
      if (f.slot == failure::whole_batch) continue;
      std::uint64_t& index = indexes_[static_cast<std::size_t>(f.slot)];
      if (f.action == error_action::skip) index = left_out;
      if (f.action == error_action::replace && !f.of_other()) index = f.substitute;
    }
  }
  /// Counts a sample of a group in which some failed. Apart from next(), which is called for each sample.
  /// \throws what is told in its place
  [[gnu::noinline]] void tell(const Feed& feed, std::size_t slot, delivery_books& books) {
    const auto& plan = feed.plan();
    const std::uint64_t before = plan.passed(number_), all = plan.passed(plan.batches());
    if (next_told_ < told_.size() && told_.front().slot == failure::whole_batch) {
      next_ = group_.size();
      books.account.add(epoch_, 0, 0, before, all, told_);
      throw to_exception(told_[next_told_++]);
    }
    std::vector<told_failure> here;
    for (; next_told_ < told_.size() && told_[next_told_].slot == slot; ++next_told_) {
      here.push_back(std::move(told_[next_told_]));
    }
    books.account.add(epoch_, slot, 1, before + slot + 1, all, here);
    for (const told_failure& f : here) {
      if (f.entry.action == error_action::fail) throw to_exception(f);
    }
  }

  std::vector<std::optional<value_type>> group_;
  std::vector<std::uint64_t> indexes_;  // of its samples, in the source
  std::vector<told_failure> told_;
  std::vector<std::uint64_t> dropped_;  // slots of the group
  std::size_t next_ = 0, next_told_ = 0;
  std::uint64_t number_ = 0, epoch_ = 0, first_ = 0;
  std::uint64_t skip_ = 0;  // samples of the next group that were handed over before the state was written
};

}  // namespace wick::detail
