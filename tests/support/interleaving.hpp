// Runs a few threads of a test over every interleaving of their atomic operations, and over what the C++
// memory model lets loads read.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// The threads are fibers of one thread; each atomic operation is a point where another may continue. Which
/// one does, which store a load reads, whether a weak compare-exchange fails and who is woken are choices,
/// and a run is a list of choices. explore() goes through all lists with a bounded number of preemptions and
/// of loads that don't read the newest store (most bugs need very few), or through random ones.
///
/// Every word keeps its stores with vector clocks: a load may read any store that is not hidden by one that
/// happened before it or that was seen by one that did (coherence); acquire joins what release left; a
/// read-modify-write reads the one before it and continues the release sequence; seq_cst loads read nothing
/// older than the newest seq_cst store. A store or a read-modify-write may come before others in its word's
/// own order that its thread knows nothing of. Plain data is `plain<T>`, whose accesses must be ordered by
/// happens-before. A futex compares with the newest value and orders nothing;
/// who waits on one for a time may continue at any moment.
///
/// What the model leaves out: no load reads from the future, so it finds no bug that needs a load to take a
/// value that is stored later (load buffering). There are no fences.
namespace wick_test::interleaving {

inline constexpr std::size_t max_threads = 8;
using vector_clock = std::array<std::uint32_t, max_threads>;

/// The place in the code that does an operation.
struct site {
  const char* file;
  int line;
  const char* function;
  int column;  // of use only to tell two on one line apart
};

enum class operation : std::uint8_t { load, store, rmw, cas, cas_failed, wait, wake, lock };
std::string_view name_of(operation) noexcept;
std::string_view name_of(std::memory_order) noexcept;

/// What is done wrong on purpose, to see that it is found.
struct fault {
  enum kind : std::uint8_t {
    weaker,   ///< the order becomes `to`
    as_load,  ///< a read-modify-write becomes a load
    split,    ///< a read-modify-write becomes a load and a store, a compare-exchange a comparison and a store
    dropped,  ///< a store, a wake-up or a lock is left out
    as_zero,  ///< a load reads nothing and gives 0
    blind,    ///< a wait sleeps, a compare-exchange stores, without comparing
    again,    ///< the word of a read-modify-write is touched once more afterwards
  };
  std::string_view function;  ///< of the library; with `line` 0 every such operation in it
  operation op;
  kind what = weaker;
  std::memory_order to = std::memory_order_relaxed;
  int line = 0;
  std::string_view file = {};  ///< how its path ends
  int column = 0;              ///< 0: all of the line
  friend bool operator==(const fault&, const fault&) = default;
};
std::string to_string(const fault&);

struct plan {
  /// Every run with at most so many of each; the number of runs grows with their powers. A stale read is a
  /// load that does not read the newest store, or a store that does not become it.
  unsigned preemptions = 2, stale_reads = 1, spurious = 0;
  /// 0: exhaustive. Else so many random runs, half of them with random priorities that change at a few
  /// points.
  std::uint64_t random_runs = 0;
  std::uint64_t seed = 1;
  std::uint64_t max_runs =
      2'000'000;               ///< of an exhaustive exploration; when it is cut short `complete` is false
  unsigned max_steps = 4'000;  ///< of one run; more is a livelock
  std::vector<fault> faults = {};
  std::string replay = {};  ///< the choices of one run, as an outcome reports them
};

struct outcome {
  bool failed = false;
  bool complete = false;  ///< every run within the plan's bounds was tried
  std::uint64_t runs = 0;
  std::string what;        ///< what went wrong
  std::string trace;       ///< the operations up to there, one a line
  std::string choices;     ///< for plan::replay and the environment variable
  std::uint64_t seed = 0;  ///< of the random run that failed
  std::string report() const;
};

/// An operation as it was met: what a sweep of faults goes through.
struct operation_site {
  std::string_view file;
  int line;
  int column;
  std::string_view function;
  operation op;
  std::memory_order order;  ///< relaxed, where there is none
};

/// Runs `body` as thread 0 again and again. It makes what is tested, spawns threads, joins them and looks.
/// WICK_INTERLEAVING_EFFORT=n makes n times as many random runs and, from 10 on, allows one more preemption;
/// WICK_INTERLEAVING_REPLAY=choices runs that one run only (together with doctest's -tc).
outcome explore(const plan&, const std::function<void()>& body);
/// The operations that `body` did over some random runs, each place once.
std::vector<operation_site> sites_of(const std::function<void()>& body);

/// Within a body.
void spawn(std::function<void()> thread);
void join();  ///< all that were spawned
void expect(bool holds, const char* what);

namespace detail {

/// A word in memory with all its stores.
class location {
 public:
  explicit location(std::uint64_t initial);
  ~location();
  location(const location&) = delete;
  location& operator=(const location&) = delete;

  enum class change : std::uint8_t { exchange, add, subtract, conjunction, disjunction };
  std::uint64_t load(std::memory_order, site) const;
  void store(std::uint64_t, std::memory_order, site);
  std::uint64_t modify(change, std::uint64_t operand, std::uint64_t mask, std::memory_order, site);
  bool compare_exchange(std::uint64_t& expected, std::uint64_t desired, bool weak, std::memory_order success,
                        std::memory_order failure, site);
  void wait(std::uint64_t expected, bool naps, site);
  void wake(bool all, site);

  struct state;

 private:
  state* state_;
};

class race_detector {
 public:
  race_detector();
  ~race_detector();
  race_detector(const race_detector&) = delete;
  race_detector& operator=(const race_detector&) = delete;
  void read() const;
  void write();
  /// Where the current thread is now; and that it has read there, as it turns out later.
  static std::size_t this_thread();
  static std::uint32_t now();
  void was_read(std::uint32_t then);

 private:
  mutable vector_clock reads_{};
  vector_clock writes_{};
};

class mutex_state {
 public:
  void lock(site);
  void unlock() noexcept;

 private:
  bool locked_ = false;
  vector_clock released_{};
};

constexpr std::memory_order without_release(std::memory_order o) {
  return o == std::memory_order_acq_rel   ? std::memory_order_acquire
         : o == std::memory_order_release ? std::memory_order_relaxed
                                          : o;
}

}  // namespace detail

/// Stands for std::atomic<T>.
template <class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
#define WICK_TEST_HERE                                                 \
  site at = {__builtin_FILE(), __builtin_LINE(), __builtin_FUNCTION(), \
             static_cast<int>(std::source_location::current().column())}
  using order = std::memory_order;
  using change = detail::location::change;

 public:
  atomic() : atomic(T{}) {}
  atomic(T v) : word_(bits(v)) {}  // NOLINT: as std::atomic

  T load(order o = std::memory_order_seq_cst, WICK_TEST_HERE) const { return value(word_.load(o, at)); }
  void store(T v, order o = std::memory_order_seq_cst, WICK_TEST_HERE) { word_.store(bits(v), o, at); }
  T exchange(T v, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return value(word_.modify(change::exchange, bits(v), mask, o, at));
  }
  T fetch_add(T v, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return value(word_.modify(change::add, bits(v), mask, o, at));
  }
  T fetch_sub(T v, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return value(word_.modify(change::subtract, bits(v), mask, o, at));
  }
  T fetch_and(T v, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return value(word_.modify(change::conjunction, bits(v), mask, o, at));
  }
  T fetch_or(T v, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return value(word_.modify(change::disjunction, bits(v), mask, o, at));
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure, WICK_TEST_HERE) {
    return exchange_if(expected, desired, true, success, failure, at);
  }
  bool compare_exchange_weak(T& expected, T desired, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return exchange_if(expected, desired, true, o, detail::without_release(o), at);
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure, WICK_TEST_HERE) {
    return exchange_if(expected, desired, false, success, failure, at);
  }
  bool compare_exchange_strong(T& expected, T desired, order o = std::memory_order_seq_cst, WICK_TEST_HERE) {
    return exchange_if(expected, desired, false, o, detail::without_release(o), at);
  }

 private:
  friend struct model;
  static constexpr std::uint64_t mask =
      sizeof(T) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * (sizeof(T) % 8))) - 1;
  static std::uint64_t bits(T v) noexcept {
    std::uint64_t b = 0;
    std::memcpy(&b, &v, sizeof(T));
    return b;
  }
  static T value(std::uint64_t b) noexcept {
    T v;
    std::memcpy(&v, &b, sizeof(T));
    return v;
  }
  bool exchange_if(T& expected, T desired, bool weak, order success, order failure, site at) {
    std::uint64_t seen = bits(expected);
    const bool done = word_.compare_exchange(seen, bits(desired), weak, success, failure, at);
    expected = value(seen);
    return done;
  }
  detail::location word_;
};

/// Stands for std::mutex.
class mutex {
 public:
  void lock(WICK_TEST_HERE) { state_.lock(at); }
  void unlock() noexcept { state_.unlock(); }

 private:
  detail::mutex_state state_;
};

/// The policy that the library's types take instead of wick::detail::std_atomics.
struct model {
  template <class T>
  using atomic = interleaving::atomic<T>;
  using mutex = interleaving::mutex;
  static void wait(atomic<std::uint32_t>& word, std::uint32_t expected, WICK_TEST_HERE) {
    word.word_.wait(expected, false, at);
  }
  /// The time is over whenever the thread is chosen to continue.
  static void wait_for(atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::nanoseconds,
                       WICK_TEST_HERE) {
    word.word_.wait(expected, true, at);
  }
  /// It stands still: whatever is measured takes no time.
  static std::chrono::nanoseconds now() noexcept { return std::chrono::nanoseconds(1); }
  static void wake_one(atomic<std::uint32_t>& word, WICK_TEST_HERE) { word.word_.wake(false, at); }
  static void wake_all(atomic<std::uint32_t>& word, WICK_TEST_HERE) { word.word_.wake(true, at); }
};
#undef WICK_TEST_HERE

/// Data that is not atomic: each access must happen before or after each other one, unless both read.
template <class T>
class plain {
 public:
  plain() = default;
  explicit plain(T v) : value_(v) {}
  T read() const {
    races_.read();
    return value_;
  }
  void write(T v) {
    races_.write();
    value_ = v;
  }

 private:
  detail::race_detector races_;
  T value_{};
};

}  // namespace wick_test::interleaving
