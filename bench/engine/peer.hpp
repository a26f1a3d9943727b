// What each library is asked to do. All answer with something that can be checked; nothing when they have no
// such thing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace engine {

using answer = std::optional<std::uint64_t>;

/// A pool of workers of one library, kept from one call to the next.
class peer {
 public:
  virtual ~peer() = default;
  /// `bursts` times: spawn `each` empty tasks from within a task, wait for them. How many have run.
  virtual answer spawn(std::uint64_t bursts, std::uint64_t each) {
    return static_cast<void>(bursts), static_cast<void>(each), std::nullopt;
  }
  /// `n` calls, one after the other, of the cheapest thing that is like an ordinary function but may suspend.
  /// How many.
  virtual answer call(std::uint64_t n) { return static_cast<void>(n), std::nullopt; }
  /// Fibonacci's number, a fork a call above 1.
  virtual answer fib(int n) { return static_cast<void>(n), std::nullopt; }
  /// `tokens` numbers through three empty stages, at most 64 at a time, in order: the chain() of the
  /// results.
  virtual answer pipeline(std::uint64_t tokens) { return static_cast<void>(tokens), std::nullopt; }
  /// A task for each number, which runs burn() that often. The sum of the results.
  virtual answer loops(std::span<const std::uint32_t> lengths) {
    return static_cast<void>(lengths), std::nullopt;
  }
  /// `n` times: suspend until another thread, which does the "I/O", says that it is done. How many.
  virtual answer ping_pong(std::uint64_t n) { return static_cast<void>(n), std::nullopt; }
  /// Runs `what(with)` on a worker, soon; false when it can't. The caller sees to it that both live long
  /// enough.
  virtual bool post(void (*what)(void*), void* with) {
    return static_cast<void>(what), static_cast<void>(with), false;
  }
};

std::unique_ptr<peer> make_wick(std::size_t workers);
std::unique_ptr<peer> make_tbb(std::size_t workers);
std::unique_ptr<peer> make_std_async(std::size_t workers);
#ifdef WICK_BENCH_LIBFORK
std::unique_ptr<peer> make_libfork(std::size_t workers);
#endif
#ifdef WICK_BENCH_TASKFLOW
std::unique_ptr<peer> make_taskflow(std::size_t workers);
#endif

/// Work that no compiler can leave out: about a nanosecond a turn.
inline std::uint64_t burn(std::uint64_t turns) noexcept {
  std::uint64_t x = turns | 1;
  for (std::uint64_t i = 0; i < turns; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(x));
  }
  return x >> 33;
}

/// Depends on every number and on their order.
inline std::uint64_t chain(std::uint64_t so_far, std::uint64_t number) noexcept {
  return (so_far ^ number) * 0x100000001b3u + 1;
}

}  // namespace engine
