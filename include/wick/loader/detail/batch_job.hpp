// One batch in the making: its unclaimed positions, the number of unfinished samples, and its failures.
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
#include <wick/batch/detail/column.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/failures/detail/failed_sample.hpp>

namespace wick::inline v0_1::detail {

/// How far along a batch is on its way to the consumer.
enum class batch_state : unsigned char {
  making,    ///< its samples are running
  remaking,  ///< they run again: the sample that set their shape failed
  lost,      ///< it fails once all of them have ended
  whole,     ///< its columns are complete; the consumer makes the output from them
};

class pipeline_run;

/// The order of an epoch's samples, shared by its batches. Only the plan that made it knows its content.
struct epoch_order {
  virtual ~epoch_order() = default;
};
/// Takes ownership.
std::shared_ptr<const epoch_order> shared_order(const epoch_order* o);

/// A place in the loader's ring, used for one batch after another. The pipeline adds the memory for the
/// samples: see typed_batch.
struct alignas(64) batch_job {
  batch_job() = default;
  batch_job(const batch_job&) = delete;
  batch_job& operator=(const batch_job&) = delete;
  virtual ~batch_job() = default;

  // These share the line of the pointer to virtual functions, which each thread reads; they change only when
  // a batch begins or ends.
  std::uint64_t sequence = 0;  // counted since the loader began
  std::uint64_t epoch = 0;
  std::shared_ptr<const epoch_order> order;
  std::uint64_t number = 0;  // in its epoch
  std::uint32_t pass = 0;    // distinguishes passes: an epoch may be made twice, or begun again
  std::uint64_t first = 0;   // position of slot 0
  std::uint64_t count = 0;
  std::uint64_t opened = 0, published = 0;  // ticks when it was begun, and when it was ready
  pipeline_run* of = nullptr;               // the run that makes it
  std::size_t bytes = sizeof(batch_job);    // including what the pipeline adds
  std::atomic<bool> cancelled{false};

  // The number of unclaimed positions; the bits above it hold the batch's sequence number, as far as it fits.
  // So if the ring has wrapped around meanwhile, a late worker finds nothing to claim rather than positions
  // of the newest batch. The other fields are read only after a successful claim, and stay unchanged until
  // all claimed samples are finished.
  alignas(64) std::atomic<std::uint64_t> left{0};
  alignas(64) std::atomic<std::uint64_t> unfinished{0};
  std::atomic<std::uint64_t> print{
      0};  // sum over its samples, for epoch_fingerprint; written as rarely as `unfinished`

  alignas(64) owned<activity_table> under_way;  // suspending work: samples by slot, then the batch itself
  std::mutex mutex;                             // guards the members below until all samples have ended
  std::vector<failure> failures;
  std::vector<std::uint32_t> last_failures;  // by slot: index into `failures`; empty until something fails
  std::atomic<bool> others_failed{false};    // some of `failures` are of others drawn for a sample
  std::vector<std::size_t> gaps;             // slots without a sample
  batch_state state = batch_state::making;
  std::optional<failure> unlisted;  // the lowest of the failures that `failures` had no memory for

  /// Samples in the finished batch.
  std::size_t rows() const noexcept { return static_cast<std::size_t>(count) - gaps.size(); }

  struct run {
    std::uint64_t from = 0, count = 0;
  };
  /// Lets workers claim `count` slots of batch `sequence`.
  void offer() noexcept { left.store(tag_of(sequence) | count, std::memory_order_release); }
  /// Unclaimed slots.
  std::uint64_t unclaimed() const noexcept { return left.load(std::memory_order_acquire) & count_mask; }
  /// Claims up to `most` slots of batch `which`, or all that are left if that is at most `at_end`.
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
  /// Claims all that are left; returns their number.
  std::uint64_t claim_rest() noexcept { return left.exchange(0, std::memory_order_acq_rel) & count_mask; }

  /// Records a failure and its action: a slot that is left out becomes a gap, and a batch that must fail is
  /// lost. So is a batch without memory for its failures. Any thread may call it.
  void note(failure f) noexcept;
  /// Fails the batch: there was no memory to handle this failure.
  void lose(failure f) noexcept;
  /// Fails the batch: a stage after batch() failed, or the loader's work there.
  void fail_whole(std::uint32_t stage, std::exception_ptr cause) noexcept;
  /// The number of a slot's next failure.
  std::uint32_t next_number(std::uint64_t slot) const noexcept {
    const failure* const last = last_failure(slot);
    return last == nullptr ? 0 : last->number + 1;
  }
  /// A slot's last failure, and the failure before a given one. Null if there is none.
  const failure* last_failure(std::uint64_t slot) const noexcept {
    return slot < last_failures.size() ? failure_at(last_failures[static_cast<std::size_t>(slot)]) : nullptr;
  }
  const failure* failure_before(const failure& f) const noexcept { return failure_at(f.before); }
  /// Whether this sample of the source was drawn to go with the one at `position`, has failed, and must not
  /// be drawn for it again. Called while that one is made.
  bool is_no_other(std::uint64_t position, std::uint64_t index) noexcept;
  /// Clears the previous batch.
  void forget() noexcept;

  // ---- the content; without batch(), of a group of samples ----

  /// Discards the content of a slot: another sample takes the slot. Any thread.
  virtual void forget_slot(std::size_t slot) noexcept = 0;
  /// The first sample whose shape differs from that of the others.
  virtual std::optional<misfit> first_misfit() const = 0;
  /// Whether the samples must be made again, because the one that set their shape failed.
  virtual bool stale() const = 0;
  /// Adds the shape of a batch without misfits to `shape`.
  virtual void describe(fingerprint_hash& shape) const = 0;
  /// A hash of the sample in a slot; 0 without batch().
  virtual std::uint64_t content(std::size_t slot) const = 0;
  /// Closes the gaps.
  virtual void close() = 0;
  /// Without batch(): whether the slot of a finished batch holds a sample.
  virtual bool has(std::size_t slot) const noexcept = 0;
  virtual void drop() noexcept = 0;

 private:
  void link(std::uint32_t i) noexcept;
  const failure* failure_at(std::uint32_t i) const noexcept {
    return i == failure::none ? nullptr : &failures[i];
  }

  static constexpr unsigned count_bits = 40;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  static constexpr std::uint64_t tag_of(std::uint64_t of) noexcept { return of << count_bits; }
};

/// A batch that becomes an object of this type; without batch(), several.
template <class Delivered>
struct batch_of : batch_job {
  /// Moves the output out of a finished batch; without batch(), its samples, with failed ones empty. Gives
  /// nothing if there is none.
  virtual void take(std::vector<std::optional<Delivered>>& to) = 0;
};

}  // namespace wick::detail
