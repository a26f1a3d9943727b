// Where the samples of a late batch are, and the message about it.
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
  /// A sample; or a run of samples, one of which hangs; or the stages after batch().
  struct place {
    bool oldest = false;        ///< of the batch that the consumer waits for; else of a later one
    std::uint64_t first = 0;    ///< position
    std::uint64_t samples = 0;  ///< from there on, one of which hangs; 0: the batch does
    std::uint64_t counted = 0;  ///< unfinished samples that it accounts for
    std::uint64_t index = 0;    ///< of a single sample, in the source
    std::uint64_t since = 0;    ///< ticks
    std::uint32_t stage = in_no_stage, io_thread = 0;
    wait_for what = wait_for::nothing;
    std::size_t on = executor::none;  ///< the slot that runs it
    std::string name, stage_name;     ///< for the message

    /// Another sample may have the thread or memory that this one waits for.
    bool waits_its_turn() const noexcept {
      return what == wait_for::io_thread || what == wait_for::memory || what == wait_for::worker;
    }
  };
  static constexpr std::size_t most_places = 24;  ///< in a message

  bool opened = false;
  std::uint64_t epoch = 0, number = 0, samples = 0, unfinished = 0, unclaimed = 0;
  std::uint64_t in_flight = 0;      ///< the limit, if it is reached; else 0
  std::size_t used = 0, limit = 0;  ///< memory, in bytes
  std::vector<place> places;

  /// Puts hanging samples before those that wait for others, and the awaited batch before later ones.
  void sort();
  /// The message. `waited`: seconds.
  std::string text(executor& on, const tick_scale& scale, double waited) const;

 private:
  std::string line(const place& p, executor& on, const tick_scale& scale) const;
  std::string doing(const place& p, executor& on) const;
  std::string why_not_begun(executor& on) const;
};

/// How a hang_watch looks at a loader.
struct hang_view {
  void* of;
  /// The consumer waits for the batch with this sequence number, and keeps waiting during the call.
  void (*look)(void* of, std::uint64_t sequence, hang_scene& out);
};

}  // namespace wick::detail
