// What every stress scenario has: a seed that decides everything but timing, an account of what is alive,
// and a list of what went wrong.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <wick/async/executor.hpp>

namespace wick_stress {

/// splitmix64: a stream of numbers out of one, and streams out of streams.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  int between(int low, int high) noexcept {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }
  dice fork() noexcept { return dice(next()); }

 private:
  std::uint64_t state_;
};

/// Alive as long as the coroutine frame, the item or the exception that it lies in.
class live {
 public:
  explicit live(std::atomic<long>& count) noexcept : count_(&count) {
    count_->fetch_add(1, std::memory_order_relaxed);
  }
  live(const live& other) noexcept : live(*other.count_) {}
  live& operator=(const live& other) noexcept {
    live copy(other);
    std::swap(count_, copy.count_);
    return *this;
  }
  ~live() { count_->fetch_sub(1, std::memory_order_acq_rel); }

 private:
  std::atomic<long>* count_;
};

/// What scenarios throw on purpose.
class mishap : public std::exception {
 public:
  mishap(std::atomic<long>& alive, std::uint64_t id) noexcept : here_(alive), id_(id) {}
  std::uint64_t id() const noexcept { return id_; }
  const char* what() const noexcept override { return "a mishap on purpose"; }

 private:
  live here_;
  std::uint64_t id_;
};

/// One scenario's. expect: any thread.
class world {
 public:
  world(std::uint64_t seed, const std::vector<std::size_t>& workers) : random(seed) {
    static constexpr std::size_t capacities[] = {1, 2, 256};
    workers_ = workers[random.below(workers.size())];
    capacity_ = capacities[random.below(3)];
  }

  dice random;
  std::atomic<long> alive{0};  ///< frames, items and exceptions that count themselves

  /// What the scenario's executors are made of.
  wick::executor_options engine(std::size_t io_threads = 2) const {
    return {.workers = workers_, .io_threads = io_threads, .queue_capacity = capacity_};
  }
  std::size_t workers() const noexcept { return workers_; }
  std::size_t capacity() const noexcept { return capacity_; }

  /// Notes a failure when `holds` is false: the expectation, and the numbers found.
  template <class... Found>
  bool expect(bool holds, const char* what, const Found&... found) {
    if (holds) return true;
    std::ostringstream text;
    text << what;
    [[maybe_unused]] const char* separator = ": found ";
    ((text << separator << found, separator = ", "), ...);
    const std::lock_guard lock(mutex_);
    if (failures_.size() < 10) failures_.push_back(text.str());
    return false;
  }
  /// After the scenario has ended.
  const std::vector<std::string>& failures() const noexcept { return failures_; }

 private:
  std::size_t workers_ = 1, capacity_ = 1;
  std::mutex mutex_;
  std::vector<std::string> failures_;
};

struct scenario {
  const char* name;
  const char* about;
  void (*run)(world&);
};

// Each file gives its own.
std::vector<scenario> tree_scenarios();
std::vector<scenario> waiting_scenarios();
std::vector<scenario> engine_scenarios();
std::vector<scenario> loader_scenarios();
std::vector<scenario> file_scenarios();

}  // namespace wick_stress
