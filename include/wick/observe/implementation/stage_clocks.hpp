/// \file
/// The bodies of what observe/detail/stage_clocks.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/observe/stage_clock.hpp>
#include <wick/run/executor.hpp>

namespace wick::detail {

stage_clocks::stage_clocks(executor& on, std::size_t rows, std::size_t batching, std::size_t stages,
                           bool suspend)
    : on_(on),
      stages_(rows),
      batching_(batching),
      batch_end_(stages),
      suspend_(suspend),
      slots_(on.slots()),
      stride_((rows + line / sizeof(stage_clock)) / (line / sizeof(stage_clock)) *
              (line / sizeof(stage_clock))),
      clocks_(static_cast<stage_clock*>(
          ::operator new(slots_* stride_ * sizeof(stage_clock), std::align_val_t{line}))) {
  static_assert(line % sizeof(stage_clock) == 0 && std::is_trivially_destructible_v<stage_clock>);
  std::uninitialized_value_construct_n(clocks_, slots_ * stride_);
  on.tenants().enter(
      this, [](const void* self) { return static_cast<const stage_clocks*>(self)->ticks().workers; });
}

stage_clocks::~stage_clocks() {
  if (!on_.forked()) on_.tenants().leave(this);
  ::operator delete(clocks_, std::align_val_t{line});
}

std::vector<stage_clocks::sum> stage_clocks::totals() const {
  std::vector<sum> out(stages_);
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    for (std::size_t i = 0; i < stages_; ++i) {
      const stage_clock& clock = row(slot)[i];
      out[i].count += clock.count();
      out[i].timed += clock.timed();
      out[i].timed_ticks += clock.timed_ticks();
      out[i].waited += clock.waited_ticks();
    }
  }
  return out;
}

stage_clocks::usage stage_clocks::ticks() const noexcept {
  usage out;
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    std::uint64_t samples = row(slot)[stages_].timed_ticks(), timed = 0, batches = 0;
    for (std::size_t i = 0; i < stages_; ++i) {
      (of_samples(i) ? timed : batches) += row(slot)[i].timed_ticks();
    }
    // What is run of a sample after it was suspended is in no run.
    if (suspend_) samples = std::max(samples, timed);
    (slot < on_.workers() ? out.workers : out.helpers) += samples + batches;
  }
  return out;
}

std::uint64_t stage_clocks::run_ticks() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t slot = 0; slot < slots_; ++slot) sum += row(slot)[stages_].timed_ticks();
  return sum;
}

}  // namespace wick::detail
