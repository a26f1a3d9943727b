/// \file
/// The loader's clocks: one for each stage on each worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <wick/observe/clock.hpp>
#include <wick/observe/stage_clock.hpp>
#include <wick/run/executor.hpp>

namespace wick::detail {

class books {
 public:
  books(const executor& on, std::size_t stages) : on_(on), stages_(stages), rows_(on.slots()) {
    for (auto& row : rows_) row.reset(new stage_clock[stages]);
  }

  /// The clocks of the calling worker; may be kept as long as the coroutine does not suspend.
  [[gnu::noinline]] stage_clock* mine() noexcept { return rows_[on_.this_slot()].get(); }

  void worked(std::uint32_t stage, std::uint64_t ticks) noexcept {
    stage_clock& c = mine()[stage];
    c.ran(1);
    c.worked(1, ticks);
  }
  void worked_before_suspending(std::uint32_t stage, std::uint64_t ticks) noexcept {
    stage_clock& c = mine()[stage];
    c.ran(1);
    c.worked(1, ticks);
    c.waited(std::uint64_t{0} - ticks);  // waited() below counts from the beginning
  }
  void waited(std::uint32_t stage, std::uint64_t ticks) noexcept { mine()[stage].waited(ticks); }

  struct sum {
    std::uint64_t count = 0, timed = 0, timed_ticks = 0, waited = 0;
  };
  std::vector<sum> totals() const {
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

 private:
  const executor& on_;
  const std::size_t stages_;
  std::vector<std::unique_ptr<stage_clock[]>> rows_;
};

}  // namespace wick::detail
