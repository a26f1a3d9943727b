/// \file
/// Where a loader stands: which batch its consumer gets next, of which epoch, over which data.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <wick/base/detail/owned.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/sample_group.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

/// What may fail is done before: a change is from one place to the next, whole, and throws nothing.
struct standing {
  std::optional<std::uint64_t> epoch;  ///< under way, or at its end
  std::uint64_t left = 0;              ///< batches of it
  sample_group group;                  ///< of it, without batch()
  std::uint64_t rounds = 0;            ///< refresh()es in this training
  owned<const loader_state> loaded;    ///< and not yet resumed from: the rest says where the loader was
  bool sought = true;                  ///< the scheduler opens the batches that come next

  std::uint64_t current_epoch() const noexcept { return loaded ? loaded->epoch : epoch.value_or(0); }
  std::uint64_t next_epoch() const noexcept { return epoch && !loaded ? *epoch + 1 : current_epoch(); }
  bool resumes(std::uint64_t e) const noexcept { return loaded && loaded->epoch == e; }
  bool under_way() const noexcept { return epoch && !loaded && left != 0; }
  std::uint64_t number(const erased_plan& by) const noexcept { return by.batches() - left; }

  /// The epoch of the batch that is handed over next, and the first one of which none was.
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

  /// Epoch `e`, at its beginning or where the loaded state stands in it.
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
  /// Before the data change: nothing of the epoch is left.
  void end_epoch() noexcept {
    left = 0;
    group.begin(0);
    sought = true;
  }
  /// The epoch under way has other batches from `taken` on, which the scheduler has dropped.
  void replan(std::uint64_t taken, const erased_plan& by) noexcept {
    sought = left == 0;
    if (left != 0) left = by.batches() - taken;
  }
};

}  // namespace wick::detail
