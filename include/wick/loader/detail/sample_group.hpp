// Hands over single samples, for pipelines without batch(): a batch is then a group that only the loader
// sees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/delivery_records.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

/// The consumer's place in the group that it has taken. The typed loader holds the samples themselves.
class sample_group {
 public:
  /// The first `sample` samples of the next group were handed over before.
  void begin(std::uint64_t sample) noexcept {
    size_ = next_ = 0;
    skip_ = sample;
  }
  /// Writes the place of the next sample: in the group being handed over, which counts as taken, or in the
  /// one after it.
  void write(loader_state& to) const noexcept {
    to.sample = skip_;
    if (!under_way()) return;
    --to.batch;
    to.sample = next_;
  }
  /// Whether samples of the next group were handed over before.
  bool resumes() const noexcept { return skip_ != 0; }
  /// Whether the group has samples left.
  bool under_way() const noexcept { return next_ < size_; }
  /// The samples left, given `in_groups` in the groups to come.
  std::uint64_t left_with(std::uint64_t in_groups) const noexcept {
    return in_groups - std::min(skip_, in_groups) + (size_ - next_);
  }

  /// Starts handing over the group, by next(). `reported`: its failures, by rising slot.
  void take(const erased_plan& plan, const batch_job& j, std::vector<reported_failure>& reported,
            delivery_records& records);
  /// The slot of the group's next sample; nothing if there are no more. `has(slot)`: whether the slot holds
  /// one. \throws the error that the sample failed with, if on_error has no other action; too_many_errors
  template <class Has>
  std::optional<std::size_t> next(const erased_plan& plan, delivery_records& records, Has has) {
    while (under_way()) {
      const std::size_t slot = next_++;
      if (!reported_.empty()) tell(plan, slot, records);  // otherwise, take() has counted all of them
      const bool good = has(slot);
      records.prints.add({print_of(first_ + slot, indexes_[slot]), good ? 1u : 0u, 0});
      if (!good) {
        const bool filtered = std::find(dropped_.begin(), dropped_.end(), slot) != dropped_.end();
        records.drops.add({.filtered = filtered ? 1u : 0u, .failed = filtered ? 0u : 1u}, 0);
        continue;
      }
      records.drops.add({}, 1);
      records.report.took(1);
      return slot;
    }
    return std::nullopt;
  }

 private:
  void look_up(const erased_plan& plan, const batch_job& j);
  void tell(const erased_plan& plan, std::size_t slot, delivery_records& records);

  std::vector<std::uint64_t> indexes_;  // of its samples, in the source
  std::vector<reported_failure> reported_;
  std::vector<std::uint64_t> dropped_;  // filtered slots of the group
  std::size_t size_ = 0, next_ = 0, next_reported_ = 0;
  std::uint64_t number_ = 0, epoch_ = 0, first_ = 0;
  std::uint64_t skip_ = 0;  // samples of the next group that were handed over before the state was written
};

}  // namespace wick::detail
