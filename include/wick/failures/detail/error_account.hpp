// The account of failures, kept by the consumer in the order of delivery: the failure log, its file, the
// limits, and the samples to quarantine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/failures/detail/failure_log_file.hpp>
#include <wick/failures/detail/quarantine.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/profile/report.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

/// A failure as it is counted: its entry in the failure log, and what the entry leaves out.
struct reported_failure {
  std::uint64_t slot = 0;
  std::uint64_t index = 0;
  std::size_t stage = 0;  // number in the pipeline's names
  bool planned = true;    // the position's own sample, not a substitute
  bool known = false;     // on the quarantine list
  failure_log::entry entry;
  std::exception_ptr cause;
};

/// Sets kind and text from the exception; from a late_error or out_of_memory, the stage, too.
void describe_cause(const std::exception_ptr& cause, failure_log::entry& to);

/// By rising slot; failures of one slot keep their order.
void sort_by_slot(std::vector<reported_failure>& failures);

sample_error to_exception(const reported_failure& f);

class error_account {
 public:
  static constexpr std::size_t max_quarantined = 1'000'000;

  error_account(const error_options& limits, const std::string& lines, const quarantine& known);
  error_account(error_account&& other) noexcept;
  ~error_account();

  const wick::failure_log& failure_log() const noexcept { return failure_log_; }
  std::string trouble() const { return file_ ? file_->trouble() : std::string(); }

  /// Adds `count` positions of an epoch, of which `failures` (by rising slot, counted from `first_slot`)
  /// failed. By then, `passed` of this rank's `of_epoch` positions have had their turn. \throws
  /// too_many_errors when more failed than allowed
  void add(std::uint64_t epoch, std::uint64_t first_slot, std::uint64_t count, std::uint64_t passed,
           std::uint64_t of_epoch, const std::vector<reported_failure>& failures);

  /// Samples that a later run doesn't need to try, by rising index: those on the quarantine list, and those
  /// that have failed since.
  std::vector<quarantine::entry> bad() const;
  bool any_bad() const noexcept;
  /// Called when the data has changed, so that these indexes are those of other samples.
  void forget_bad() noexcept;

  void write(loader_state& to) const;
  void read(const loader_state& from);
  /// Begins an epoch at its first position.
  void begin(std::uint64_t epoch) noexcept;

 private:
  void remember(const reported_failure& f);

  void check(const reported_failure& last, std::uint64_t longest, std::uint64_t passed,
             std::uint64_t of_epoch) const;

  const error_options limits_;
  wick::failure_log failure_log_;
  owned<failure_log_file> file_;
  struct bad_samples;
  owned<bad_samples> bad_;
  // As the limits count: without the known ones.
  std::uint64_t counted_ = 0, epoch_failures_ = 0, consecutive_ = 0;
  std::uint64_t epoch_ = 0;
};

/// For the report: the outcomes of failures since `before` was counted.
std::vector<report::outcome> outcomes_since(const std::vector<error_count>& before,
                                            const std::vector<error_count>& now);

/// The fingerprints of the last epochs.
class fingerprint_recorder {
 public:
  static constexpr std::size_t max_kept = 64;

  /// Begins an epoch, or continues one after batches that another loader has delivered.
  void begin(std::uint64_t epoch);
  void add(const epoch_fingerprint& some) noexcept { epochs_.back().sum += some; }
  /// The delivered samples of the last epoch begun.
  std::uint64_t samples() const noexcept { return epochs_.empty() ? 0 : epochs_.back().sum.samples; }
  /// Marks the epochs so far as those of this data set; the ones to come are of another.
  void seal(std::uint64_t data, std::uint64_t batch) noexcept;
  /// `data` identifies the data set; `batch` is the size of the global batch.
  epoch_fingerprint of(std::uint64_t epoch, std::uint64_t data, std::uint64_t batch) const noexcept;
  /// The factor for the sum of an epoch's hashes in epoch_fingerprint::value.
  static std::uint64_t factor_of(std::uint64_t epoch, std::uint64_t data, std::uint64_t batch) noexcept;

 private:
  struct entry {
    std::uint64_t epoch;
    epoch_fingerprint sum;
    std::uint64_t factor = 0;  // 0: not sealed
  };
  std::vector<entry> epochs_;
};

}  // namespace wick::detail
