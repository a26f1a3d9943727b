// The phases inside a slot: an image is decoded, resized, and recolored in one pass, and each part has its
// own clock. Its time counts for the stage that the user wrote for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <wick/base/detail/clock.hpp>
#include <wick/ext/stage.hpp>

namespace wick::inline v0_1::detail {

inline constexpr std::size_t phase_count = 3;  // all but `none`

/// The ticks that this thread has spent in each phase since they were last taken. Don't keep them across a
/// suspension.
class phase_ticks {
 public:
  using values = std::array<std::uint64_t, phase_count>;
  static void add(slot_phase p, std::uint64_t ticks) noexcept {
    of_this_thread()[static_cast<std::size_t>(p)] += ticks;
  }
  /// Reads and clears.
  static values take() noexcept {
    values& mine = of_this_thread();
    const values out = mine;
    mine = {};
    return out;
  }

 private:
  [[gnu::noinline]] static values& of_this_thread() noexcept {
    thread_local values ticks{};
    return ticks;
  }
};

/// Times a block, and what follows it under another name: `phase_timer t(slot_phase::decode); …;
/// t.next(slot_phase::resize);`.
class phase_timer {
 public:
  explicit phase_timer(slot_phase p) noexcept : phase_(p), begun_(now_ticks()) {}
  phase_timer(const phase_timer&) = delete;
  phase_timer& operator=(const phase_timer&) = delete;
  ~phase_timer() { phase_ticks::add(phase_, now_ticks() - begun_); }
  void next(slot_phase p) noexcept {
    const std::uint64_t now = now_ticks();
    phase_ticks::add(phase_, now - begun_);
    phase_ = p;
    begun_ = now;
  }

 private:
  slot_phase phase_;
  std::uint64_t begun_;
};

}  // namespace wick::detail
