/// \file
/// One batch in the making: which positions are still to be claimed, how many are unfinished, what went
/// wrong.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <wick/async/detail/activity_table.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/failures/detail/failed_sample.hpp>

namespace wick::inline v0_1::detail {

/// Where a batch is on its way.
enum class batch_state : unsigned char {
  making,    ///< its samples run
  remaking,  ///< they run again: one that failed had said what shape they have
  lost,      ///< it fails, as soon as all of them have ended
  whole,     ///< its columns are: what leaves is made of them by the consumer
};

class pipeline_run;

/// Which sample stands where in an epoch. Its batches share it; what is in it, the plan knows that made it.
struct epoch_order {
  virtual ~epoch_order() = default;
};

/// A place in the loader's ring, used for one batch after another. Where its samples are put, the pipeline
/// adds: see typed_batch.
struct alignas(64) batch_job {
  batch_job() = default;
  batch_job(const batch_job&) = delete;
  batch_job& operator=(const batch_job&) = delete;
  virtual ~batch_job() = default;

  // How many positions are unclaimed, and above them which batch's they are (its sequence, as far as it
  // fits). So a worker that comes late, with the ring gone round meanwhile, finds nothing to claim rather
  // than the newest batch's. The fields below are read only after a claim succeeded, and stay until all
  // claimed samples are finished.
  std::atomic<std::uint64_t> left{0};
  alignas(64) std::atomic<std::uint64_t> unfinished{0};
  std::atomic<std::uint64_t> print{
      0};  // of its samples, as epoch_fingerprint adds them up; written as seldom

  alignas(64) std::uint64_t sequence = 0;  // number since the loader began
  std::uint64_t epoch = 0;
  std::shared_ptr<const epoch_order> order;
  std::uint64_t number = 0;  // in its epoch
  std::uint32_t pass = 0;    // distinguishes passes: an epoch may be made twice, or begun again
  std::uint64_t first = 0;   // position of slot 0
  std::uint64_t count = 0;
  std::uint64_t opened = 0, published = 0;  // ticks, at which it was begun, and ready
  pipeline_run* of = nullptr;               // by which it is made
  std::size_t bytes = sizeof(batch_job);    // with what the pipeline adds
  std::atomic<bool> cancelled{false};
  owned<activity_table> under_way;  // what suspends: samples by slot, after them the batch itself
  std::mutex mutex;                 // of what follows, until all samples have ended
  std::vector<failure> failures;
  std::vector<std::uint32_t> last_failures;  // by slot: in `failures`; empty as long as nothing has failed
  std::atomic<bool> others_failed{false};    // some of `failures` are of samples that were to go into others
  std::vector<std::size_t> gaps;             // slots without a sample
  batch_state state = batch_state::making;
  std::optional<failure> unlisted;  // the lowest of those for which `failures` had no memory

  /// Samples that it has in the end.
  std::size_t rows() const noexcept { return static_cast<std::size_t>(count) - gaps.size(); }

  struct run {
    std::uint64_t from = 0, count = 0;
  };
  /// `count` slots of batch `sequence` may be claimed from now on.
  void offer() noexcept { left.store(tag_of(sequence) | count, std::memory_order_release); }
  /// Unclaimed slots.
  std::uint64_t unclaimed() const noexcept { return left.load(std::memory_order_acquire) & count_mask; }
  /// Claims up to `most` slots of batch `which`, or all that are left when these are no more than `at_end`.
  run claim(std::uint64_t which, std::uint64_t most, std::uint64_t at_end = 0) noexcept {
    std::uint64_t seen = left.load(std::memory_order_acquire);
    while ((seen & count_mask) != 0 && (seen & ~count_mask) == tag_of(which)) {
      const std::uint64_t there = seen & count_mask, n = there <= at_end ? there : std::min(there, most);
      if (left.compare_exchange_weak(seen, seen - n, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return {count - (seen & count_mask), n};
      }
    }
    return {};
  }
  /// Claims all that are left; returns how many they were.
  std::uint64_t claim_rest() noexcept { return left.exchange(0, std::memory_order_acq_rel) & count_mask; }

  /// Writes a failure down, with what is to be done about it: a slot that is left out is a gap from then on,
  /// and a batch that has to fail is lost; so is one for whose failures there is no memory. Any thread.
  void note(failure f) noexcept;
  /// There was no memory to do what is to be done about a failure: its batch fails.
  void lose(failure f) noexcept;
  /// A stage after batch() failed, or what the loader does there.
  void fail_whole(std::uint32_t stage, std::exception_ptr cause) noexcept;
  /// Of the failures of a slot, the next.
  std::uint32_t next_number(std::uint64_t slot) const noexcept {
    const failure* const last = last_failure(slot);
    return last == nullptr ? 0 : last->number + 1;
  }
  /// Of the failures of a slot, the last; then the one before one. Null where there is none.
  const failure* last_failure(std::uint64_t slot) const noexcept {
    return slot < last_failures.size() ? failure_at(last_failures[static_cast<std::size_t>(slot)]) : nullptr;
  }
  const failure* failure_before(const failure& f) const noexcept { return failure_at(f.before); }
  /// Whether this sample of the source was to go into the one at `position`, has failed, and must not be
  /// drawn there again. For the making of that one.
  bool is_no_other(std::uint64_t position, std::uint64_t index) noexcept;
  /// Of the batch that was here before.
  void forget() noexcept;

 private:
  void link(std::uint32_t i) noexcept;
  const failure* failure_at(std::uint32_t i) const noexcept {
    return i == failure::none ? nullptr : &failures[i];
  }

  static constexpr unsigned count_bits = 40;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  static constexpr std::uint64_t tag_of(std::uint64_t of) noexcept { return of << count_bits; }
};

}  // namespace wick::detail
