// Gives the scheduler the current epoch's plan where epochs have plans of their own: after a change of a
// mixture's weights, and where rows are packed again in each epoch.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/scheduler.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/sampling/mix.hpp>

namespace wick::inline v0_1::detail {

/// All that a scheduler needs to switch to another plan.
struct next_plan {
  owned<const erased_plan> plan;
  owned<stop_source> stop;
  std::uint64_t epoch = 0;
  explicit operator bool() const noexcept { return static_cast<bool>(plan); }
};

class epoch_plans {
 public:
  epoch_plans(run_settings& settings, scheduler& of) noexcept : settings_(settings), scheduler_(of) {
    refreshed();
  }

  /// The weights of an epoch. \throws wick::error when there is no mix() whose weights can change
  std::vector<source_weight> mixture(std::uint64_t epoch) const;
  /// The changes made by set_mix_weights(), for a state.
  const mix_weights& weights() const noexcept { return weights_; }
  /// Sets the weights from epoch `from` on. \param epoch  the current one, whose prefetched batches are made
  /// again. \throws wick::error when the weights are invalid, or when an epoch can't be planned with them;
  /// nothing has changed then
  void set_weights(const std::vector<source_weight>& to, std::uint64_t from, std::uint64_t epoch);

  /// The plan of that epoch, or none if the scheduler already uses it.
  /// \throws wick::error when the epoch can't be planned
  next_plan plan_for(std::uint64_t epoch) const;
  /// Switches the scheduler to this plan; drops the prefetched batches.
  void go_by(next_plan next) noexcept;
  /// Called after the scheduler has planned over the current data, with the initial weights; for epoch 0 if a
  /// plan holds for one epoch.
  void refreshed() noexcept {
    planned_.reset();
    if (settings_.facts().plans_each_epoch && weights_.after.empty()) planned_ = 0;
  }

  /// Changes the weights; restores the old ones unless keep() is called.
  class change {
   public:
    /// \throws wick::error when they are for another number of sources
    change(epoch_plans& of, mix_weights to);
    change(const change&) = delete;
    change& operator=(const change&) = delete;
    ~change();
    void keep() noexcept { kept_ = true; }

   private:
    void swap() noexcept;
    epoch_plans& of_;
    mix_weights other_;
    std::optional<std::uint64_t> planned_;
    bool changed_, kept_ = false;
  };

 private:
  static constexpr std::uint64_t no_epoch = ~std::uint64_t{0};
  next_plan plan(std::uint64_t epoch) const;
  void require_place() const;
  const erased_mix& mix() const;
  std::vector<double> weights_in(std::uint64_t epoch) const;

  run_settings& settings_;
  scheduler& scheduler_;
  mix_weights weights_;
  std::optional<std::uint64_t> planned_;  // the epoch that the scheduler is planned for
};

}  // namespace wick::detail
