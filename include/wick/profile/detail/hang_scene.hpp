/// \file
/// Where the samples of a batch are that does not come, and how a message says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/async/detail/activity.hpp>
#include <wick/async/executor.hpp>
#include <wick/base/detail/clock.hpp>

namespace wick::inline v0_1::detail {

struct hang_scene {
  /// A sample; or a run of them of which one hangs; or the stages after batch().
  struct place {
    bool oldest = false;        ///< of the batch that is waited for; else of a later one
    std::uint64_t first = 0;    ///< position
    std::uint64_t samples = 0;  ///< from there on, of which one hangs; 0: the batch does
    std::uint64_t counted = 0;  ///< samples that are unfinished with it
    std::uint64_t index = 0;    ///< of one sample, in the source
    std::uint64_t since = 0;    ///< ticks
    std::uint32_t stage = in_no_stage, io_thread = 0;
    wait_for what = wait_for::nothing;
    std::size_t on = executor::none;  ///< the slot that runs it
    std::string name, stage_name;     ///< for the message

    /// What it waits for may be with another sample.
    bool waits_its_turn() const noexcept {
      return what == wait_for::io_thread || what == wait_for::memory || what == wait_for::worker;
    }
  };
  static constexpr std::size_t most_places = 24;  ///< that a message has

  bool opened = false;
  std::uint64_t epoch = 0, number = 0, samples = 0, unfinished = 0, unclaimed = 0;
  std::uint64_t in_flight = 0;      ///< samples: all that may be
  std::size_t used = 0, limit = 0;  ///< memory, in bytes
  std::vector<place> places;

  /// Those that hang before those that wait for others; the batch that is waited for before later ones.
  void sort();
  /// The message. `waited`: seconds.
  std::string text(executor& on, const tick_scale& scale, double waited) const;

 private:
  std::string line(const place& p, executor& on, const tick_scale& scale) const;
  std::string doing(const place& p, executor& on) const;
  std::string why_not_begun(executor& on) const;
};

/// What a hang_watch asks.
struct hang_view {
  void* of;
  /// The consumer waits for the batch with this sequence number, and stays there meanwhile.
  void (*look)(void* of, std::uint64_t sequence, hang_scene& out);
};

}  // namespace wick::detail
