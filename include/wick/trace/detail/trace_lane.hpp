/// \file
/// What a worker writes down for a trace: spans in a ring of its own, which the consumer of the batches
/// empties.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wick::detail {

enum class span_kind : std::uint8_t {
  work,  ///< of a sample in a stage, on the worker
  wait,  ///< of a sample in a stage, on nobody: from its beginning there until it went on
  call,  ///< a call of a stage's on an I/O thread
  batch  ///< of a batch in a stage behind batch(), on the worker
};

/// In ticks.
struct trace_span {
  std::uint64_t begun = 0, ended = 0;
  std::uint64_t position = 0, index = 0;  ///< of batches: the number in its epoch
  std::uint64_t epoch = 0;
  std::uint16_t row = 0;  ///< the stage's number
  span_kind kind = span_kind::work;
  bool first = false;                    ///< of its sample
  std::uint8_t cause = 0;                ///< of a wait: what most of it was for, as wait_for has it
  std::uint32_t thread = 0;              ///< of a call: the I/O thread's number
  std::array<std::uint32_t, 3> parts{};  ///< of what is done inside batch(): the phases
};

/// One worker writes, the consumer reads; neither waits. Without a lock: a ring, whose beginning moves when
/// it is read and whose end when it is written. What finds no room is counted.
class alignas(64) trace_lane {
 public:
  trace_lane() noexcept = default;
  trace_lane(const trace_lane&) = delete;
  trace_lane& operator=(const trace_lane&) = delete;
  ~trace_lane() { delete[] kept_; }

  // ---- the worker ----

  bool on() const noexcept { return ring_.load(std::memory_order_acquire) != nullptr; }
  /// Whether the sample at a position of its epoch is to be followed. Its first span finds room then.
  bool wants(std::uint64_t position) noexcept {
    if (!on() || position % every_.load(std::memory_order_relaxed) != 0) return false;
    if (room() < spare) {
      add(left_out_);
      return false;
    }
    add(followed_);
    return true;
  }
  void write(const trace_span& s) noexcept {
    trace_span* const ring = ring_.load(std::memory_order_acquire);
    if (ring == nullptr) return;
    if (room() == 0) return add(dropped_);
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    ring[end & (size_ - 1)] = s;
    end_.store(end + 1, std::memory_order_release);
  }

  // ---- the consumer ----

  /// From now on spans are kept, up to `size` (a power of two, the same each time) unread ones.
  /// \throws std::bad_alloc
  void begin(std::size_t size, std::uint32_t every) {
    if (kept_ == nullptr) {
      kept_ = new trace_span[size];
      size_ = size;
    }
    read([](const trace_span&) {});  // what a worker wrote too late for the trace before
    followed_before_ = followed_.load(std::memory_order_relaxed);
    left_out_before_ = left_out_.load(std::memory_order_relaxed);
    dropped_before_ = dropped_.load(std::memory_order_relaxed);
    follow(every);
    ring_.store(kept_, std::memory_order_release);
  }
  void end() noexcept { ring_.store(nullptr, std::memory_order_relaxed); }
  /// One sample in so many.
  void follow(std::uint32_t every) noexcept { every_.store(every, std::memory_order_relaxed); }
  /// Each span that came since it was called last, in the order in which they ended.
  template <class To>
  std::uint64_t read(To to) {
    const std::uint64_t begin = begin_.load(std::memory_order_relaxed),
                        end = end_.load(std::memory_order_acquire);
    for (std::uint64_t i = begin; i != end; ++i) to(kept_[i & (size_ - 1)]);
    begin_.store(end, std::memory_order_release);
    return end - begin;
  }
  /// Since begin().
  std::uint64_t followed() const noexcept {
    return followed_.load(std::memory_order_relaxed) - followed_before_;
  }
  /// Samples that were not followed, since there was no room.
  std::uint64_t left_out() const noexcept {
    return left_out_.load(std::memory_order_relaxed) - left_out_before_;
  }
  /// Spans for which there was no room.
  std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed) - dropped_before_;
  }

 private:
  static constexpr std::uint64_t spare = 64;  // for the spans of those that are followed

  static void add(std::atomic<std::uint64_t>& to) noexcept {
    to.store(to.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t room() const noexcept {
    return size_ - (end_.load(std::memory_order_relaxed) - begin_.load(std::memory_order_acquire));
  }

  std::atomic<trace_span*> ring_{nullptr};  // kept_ while there is a trace
  std::atomic<std::uint32_t> every_{1};
  std::uint64_t size_ = 0;  // known to the worker once it has seen ring_
  trace_span* kept_ = nullptr;
  std::uint64_t followed_before_ = 0, left_out_before_ = 0, dropped_before_ = 0;
  alignas(64) std::atomic<std::uint64_t> end_{0};
  std::atomic<std::uint64_t> followed_{0}, left_out_{0}, dropped_{0};
  alignas(64) std::atomic<std::uint64_t> begin_{0};
};

}  // namespace wick::detail
