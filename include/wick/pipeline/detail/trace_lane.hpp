// Where a worker writes spans for a trace: its own ring, which the consumer of the batches empties.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1::detail {

enum class span_kind : std::uint8_t {
  work,       ///< a sample in a stage, on the worker
  wait,       ///< a sample in a stage, from its beginning there until it continued
  call,       ///< a call that a sample's stage makes on an I/O thread
  batch,      ///< a batch in a stage after batch(), on the worker
  batch_wait  ///< a batch in such a stage that suspends
};

/// Times are in ticks.
struct trace_span {
  std::uint64_t begun = 0, ended = 0;
  std::uint64_t position = 0;  ///< in its epoch; for a batch: its number
  std::uint64_t index = 0;     ///< for a sample: its index in the source
  std::uint64_t epoch = 0;
  std::uint16_t row = 0;  ///< the stage's number
  span_kind kind = span_kind::work;
  std::uint8_t cause = 0;                ///< for a wait: the wait_for that took longest
  std::uint32_t thread = 0;              ///< for a call: the I/O thread's number
  std::array<std::uint64_t, 3> parts{};  ///< for a sample in batch(): decode, resize, color
};

/// A ring without a lock. One worker writes and moves its end, the consumer reads and moves its beginning;
/// neither waits. Spans that don't fit are counted.
class alignas(64) trace_lane {
 public:
  trace_lane() noexcept = default;
  trace_lane(const trace_lane&) = delete;
  trace_lane& operator=(const trace_lane&) = delete;
  ~trace_lane() { delete[] kept_; }

  /// Follows one of each `every` neighbors, at changing places among them, so that each rank and each place
  /// in a batch has some.
  static constexpr bool is_followed(std::uint64_t position, std::uint64_t every) noexcept {
    return (position + position / every * 0x9E3779B1u) % every == 0;
  }

  // ---- the worker ----

  bool on() const noexcept { return ring_.load(std::memory_order_acquire) != nullptr; }
  /// Whether a trace follows the sample at this position of its epoch. If so, there is room for its first
  /// spans.
  bool wants(std::uint64_t position) noexcept {
    if (!on() || !is_followed(position, every_.load(std::memory_order_relaxed))) return false;
    return room() >= spare || drop();
  }
  /// Does nothing if there is no trace.
  void write(const trace_span& s) noexcept {
    trace_span* const ring = ring_.load(std::memory_order_acquire);
    if (ring == nullptr) return;
    if (room() == 0) {
      drop();
      return;
    }
    const std::uint64_t end = end_.load(std::memory_order_relaxed);
    ring[end & (size_ - 1)] = s;
    end_.store(end + 1, std::memory_order_release);
  }

  // ---- the consumer ----

  /// Makes room for `size` unread spans, a power of two and the same each time. \throws std::bad_alloc
  void prepare(std::size_t size) {
    if (kept_ != nullptr) return;
    kept_ = new trace_span[size];
    size_ = size;
  }
  /// From now on, keeps the spans of one sample in `every`. Call after prepare().
  void begin(std::uint32_t every) noexcept {
    read([](const trace_span&) {});  // what a worker wrote too late for the previous trace
    follow(every);
    ring_.store(kept_, std::memory_order_release);
  }
  void end() noexcept { ring_.store(nullptr, std::memory_order_relaxed); }
  void follow(std::uint32_t every) noexcept { every_.store(every, std::memory_order_relaxed); }
  /// Calls `to` with each span since the last call, in the order in which they were written.
  template <class To>
  void read(To to) {
    const std::uint64_t end = end_.load(std::memory_order_acquire);
    for (std::uint64_t i = begin_.load(std::memory_order_relaxed); i != end; ++i) to(kept_[i & (size_ - 1)]);
    begin_.store(end, std::memory_order_release);
  }
  /// The number of spans and samples that found no room so far.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t spare = 64;

  bool drop() noexcept {
    dropped_.store(dropped() + 1, std::memory_order_relaxed);  // only one thread writes it
    return false;
  }
  std::uint64_t room() const noexcept {
    return size_ - (end_.load(std::memory_order_relaxed) - begin_.load(std::memory_order_acquire));
  }

  std::atomic<trace_span*> ring_{nullptr};  // null if there is no trace
  std::atomic<std::uint32_t> every_{1};
  std::uint64_t size_ = 0;  // known to the worker once it has seen ring_
  trace_span* kept_ = nullptr;
  alignas(64) std::atomic<std::uint64_t> end_{0};
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> begin_{0};
};

}  // namespace wick::detail
