/// \file
/// The bodies of what observe/detail/stage_clocks.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <wick/observe/detail/stage_clocks.hpp>
#include <wick/observe/stage_clock.hpp>
#include <wick/run/executor.hpp>

namespace wick::detail {

stage_clocks::stage_clocks(executor& on, std::size_t rows, std::size_t batching, std::size_t stages,
                           bool suspend)
    : on_(on), stages_(rows), batching_(batching), batch_end_(stages), suspend_(suspend) {
  for (std::size_t slot = 0; slot < on.slots(); ++slot) rows_.push_back(make_row(rows + 1));
  on.tenants().enter(
      this, [](const void* self) { return static_cast<const stage_clocks*>(self)->ticks().workers; });
}

stage_clocks::~stage_clocks() {
  if (!on_.forked()) on_.tenants().leave(this);
}

std::vector<stage_clocks::sum> stage_clocks::totals() const {
  std::vector<sum> out(stages_);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < stages_; ++i) {
      out[i].count += row[i].count();
      out[i].timed += row[i].timed();
      out[i].timed_ticks += row[i].timed_ticks();
      out[i].waited += row[i].waited_ticks();
    }
  }
  return out;
}

stage_clocks::usage stage_clocks::ticks() const noexcept {
  usage out;
  for (std::size_t slot = 0; slot < rows_.size(); ++slot) {
    std::uint64_t samples = rows_[slot][stages_].timed_ticks(), timed = 0, batches = 0;
    for (std::size_t i = 0; i < stages_; ++i) {
      (of_samples(i) ? timed : batches) += rows_[slot][i].timed_ticks();
    }
    // What is run of a sample after it was suspended is in no run.
    if (suspend_) samples = std::max(samples, timed);
    (slot < on_.workers() ? out.workers : out.helpers) += samples + batches;
  }
  return out;
}

std::uint64_t stage_clocks::run_ticks() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& row : rows_) sum += row[stages_].timed_ticks();
  return sum;
}

stage_clocks::row stage_clocks::make_row(std::size_t clocks) {
  const std::size_t bytes = (clocks * sizeof(stage_clock) + 63) / 64 * 64;
  auto* const memory = static_cast<stage_clock*>(::operator new(bytes, line));
  std::uninitialized_value_construct_n(memory, clocks);
  return row(memory);
}

}  // namespace wick::detail
