/// \file
/// A loader's edits of its mixture, and plans that hold for one epoch: keeps the scheduler's plan that of the
/// epoch under way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/scheduler.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/resume/mixture.hpp>

namespace wick::inline v0_1::detail {

/// What a scheduler needs to go by another plan.
struct next_plan {
  owned<const erased_plan> plan;
  owned<stop_source> stop;
  std::uint64_t epoch = 0;
  explicit operator bool() const noexcept { return static_cast<bool>(plan); }
};

class mixture_edits {
 public:
  using place = mixture_journal::place;

  mixture_edits(run_settings& settings, scheduler& of) noexcept : settings_(settings), scheduler_(of) {
    refreshed();
  }

  bool possible() const noexcept { return settings_.pipeline->mix() != nullptr; }
  /// \throws wick::error where there is no mix() that can be edited
  void require_possible() const;
  /// \throws wick::error when the state was written behind other edits
  void require_same(const loader_state& s) const {
    journal_ ? journal_->require_same(s) : require_no_edits(s);
  }
  std::vector<source_weight> at(place where) const;
  bool any() const noexcept { return journal_ && !journal_->edits().empty(); }
  /// \param data  the source's fingerprint and size, the seed, the stages
  mixture_journal& open(const pipeline_identity& of);
  const mixture_journal* journal() const noexcept { return journal_.get(); }

  /// The plan of that epoch, or none where the scheduler goes by it already.
  /// \throws wick::error when the epoch can't be planned
  next_plan plan_for(std::uint64_t epoch) const;
  /// The prefetched batches are gone then.
  void go_by(next_plan next) noexcept;
  /// The scheduler has planned over what there is now, without edits; where a plan holds for one epoch, for
  /// the first.
  void refreshed() noexcept {
    planned_.reset();
    if (settings_.facts().plans_each_epoch && !any()) planned_ = 0;
  }
  /// Takes an edit into the order, and then into the journal unless it is there. Changes nothing when it
  /// throws. Batches of the epoch that were handed over stay so, whatever number of batches it has now.
  /// \param next  the batch that is handed over next
  /// \param epoch  the one under way
  void add(mixture_edit e, place next, std::uint64_t epoch);
  /// The same for those of a journal that was opened.
  void add_all(const std::vector<mixture_edit>& edits);

 private:
  next_plan plan(std::uint64_t epoch) const;
  void require_place() const;
  void require_reached(const mixture_edit& e) const;

  run_settings& settings_;
  scheduler& scheduler_;
  owned<mixture_journal> journal_;
  std::optional<std::uint64_t> planned_;  // what epoch the scheduler is planned for
};

}  // namespace wick::detail
