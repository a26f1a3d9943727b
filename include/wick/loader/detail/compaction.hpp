/// \file
/// Closing the gaps of an epoch by the samples at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <wick/async/task.hpp>
#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/pipeline_run.hpp>

namespace wick::inline v0_1::detail {

class batch_completion;

/// Batches go through this in their order, whatever order their samples end in: what fills a gap depends on
/// all failures of the epoch before it. Then the completion takes over each.
class compaction {
 public:
  compaction(pipeline_run& of, batch_completion& rest, std::size_t batches) : run_(of), rest_(rest) {
    waiting_.reserve(batches);
  }

  /// All samples of a batch have ended.
  void enter(batch_job& j) noexcept {
    if (batch_job* const next = turn_of(&j, nullptr)) settle_all(next);
  }

 private:
  batch_job* turn_of(batch_job* ended, batch_job* settled) noexcept;
  void settle_all(batch_job* j) noexcept;
  static detached settle_from(compaction* self, batch_job* j);
  void leave_unfilled(batch_job& j) noexcept;
  static task<void> fill(compaction* self, batch_job* j);
  void leave_to_others(batch_job& j, std::uint64_t own);

  pipeline_run& run_;
  batch_completion& rest_;

  std::mutex mutex_;  // of whose turn it is
  std::uint64_t turn_ = 0;
  bool busy_ = false;
  std::vector<batch_job*> waiting_;
  // Of the batch whose turn it is.
  std::uint64_t moved_ = 0;  // samples of its epoch that stand where others failed
};

}  // namespace wick::detail
