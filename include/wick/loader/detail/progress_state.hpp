// A loader's progress: the epoch and the batch that its consumer gets next, and the data they are from.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <wick/base/detail/owned.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/sample_group.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

/// Changes are all or nothing and don't throw; callers first do what may fail.
struct progress_state {
  std::optional<std::uint64_t> epoch;  ///< the current one, or the last one finished
  std::uint64_t left = 0;              ///< its remaining batches
  sample_group group;                  ///< without batch(): the samples being handed over
  std::uint64_t rounds = 0;            ///< calls of refresh() in this training
  owned<const loader_state> loaded;    ///< loaded, not yet resumed; the other members are from before
  bool sought = true;                  ///< the scheduler opens the batches from here on

  std::uint64_t current_epoch() const noexcept { return loaded ? loaded->epoch : epoch.value_or(0); }
  std::uint64_t next_epoch() const noexcept { return epoch && !loaded ? *epoch + 1 : current_epoch(); }
  bool resumes(std::uint64_t e) const noexcept { return loaded && loaded->epoch == e; }
  bool under_way() const noexcept { return epoch && !loaded && left != 0; }
  std::uint64_t number(const erased_plan& by) const noexcept { return by.batches() - left; }

  /// The epoch of the next batch, and the first epoch of which no batch has been handed over.
  std::uint64_t epoch_of_next() const noexcept {
    if (loaded) return loaded->epoch;
    return !epoch ? 0 : left == 0 && !group.under_way() ? *epoch + 1 : *epoch;
  }
  std::uint64_t first_whole_epoch() const noexcept {
    if (loaded) return loaded->epoch + (loaded->batch != 0 || loaded->sample != 0 ? 1 : 0);
    return epoch ? *epoch + 1 : 0;
  }
  void write(loader_state& to, const erased_plan& by, bool batched) const noexcept {
    to.rounds = rounds;
    if (loaded) {
      to.epoch = loaded->epoch;
      to.batch = loaded->batch;
      to.sample = loaded->sample;
    } else if (epoch) {
      to.epoch = *epoch;
      to.batch = number(by);
      if (!batched) group.write(to);
    }
  }

  /// Begins epoch `e`, at its first batch or at the loaded state's position.
  void begin(std::uint64_t e, const erased_plan& by) noexcept {
    const owned<const loader_state> from = resumes(e) ? std::move(loaded) : nullptr;
    loaded.reset();
    epoch = e;
    left = by.batches() - (from ? from->batch : 0);
    group.begin(from ? from->sample : 0);
    sought = false;
  }
  void load(owned<const loader_state> s) noexcept {
    loaded = std::move(s);
    rounds = loaded->rounds;
  }
  /// Called before the data changes: drops the rest of the epoch.
  void end_epoch() noexcept {
    left = 0;
    group.begin(0);
    sought = true;
  }
  /// Gives the current epoch other batches from `taken` on; the scheduler has dropped the old ones.
  void replan(std::uint64_t taken, const erased_plan& by) noexcept {
    sought = left == 0;
    if (left != 0) left = by.batches() - taken;
  }
};

}  // namespace wick::detail
