// Row groups in memory: one sample decodes a group for all, and it is kept while there is room. Included in
// exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <wick/async/detail/activity.hpp>
#include <wick/async/detail/line.hpp>
#include <wick/async/environment.hpp>
#include <wick/base/detail/brief_lock.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/tables/impl/parquet_columns.ipp>

namespace wick::inline v0_1::detail {

using group_ptr = std::shared_ptr<const parquet_group>;

/// The bytes were read, but aren't a valid row group.
struct damaged_group : error {
  using error::error;
};

/// Wakes all samples that wait, once. A report counts the wait as I/O.
class group_arrival {
 public:
  class awaiter : public line_awaiter<group_arrival, awaiter> {
   public:
    using line_awaiter::line_awaiter;
    void await_resume() { finish(); }
  };
  /// \throws wick::cancelled
  awaiter wait(environment e) noexcept { return {*this, e}; }
  /// Any thread.
  void come() noexcept {
    woken ready;
    {
      std::lock_guard lock(mutex_);
      here_ = true;
      while (!line_.empty()) {
        waiter& next = *line_.front();
        line_.remove(next);
        next.stage = waiter::stages::served;
        ready.add(next);
      }
    }
    ready.wake_all();
  }

 private:
  friend line_awaiter<group_arrival, awaiter>;
  static constexpr wait_for waited_for = wait_for::sample;

  bool serve(awaiter& a) noexcept {
    std::lock_guard lock(mutex_);
    if (here_) a.stage = waiter::stages::served;
    return here_;
  }
  bool join(awaiter& a) noexcept {
    std::lock_guard lock(mutex_);
    if (a.stage == waiter::stages::called_off) return false;
    if (here_)
      a.stage = waiter::stages::served;
    else
      line_.push(a);
    return !here_;
  }
  void call_off(awaiter& a) noexcept {
    woken ready;
    {
      std::lock_guard lock(mutex_);
      const auto stage = a.stage;
      if (stage == waiter::stages::served) return;
      a.stage = waiter::stages::called_off;
      if (stage == waiter::stages::arriving) return;
      line_.remove(a);
      ready.add(a);
    }
    ready.wake_all();
  }

  std::mutex mutex_;
  bool here_ = false;
  line line_;
};

/// A decoding in progress; the samples that wait for it read its result.
struct group_decoding {
  group_arrival over;
  group_ptr got;  // null without a failure: canceled, since its loader ends
  std::exception_ptr failure;
};

struct row_group {
  row_group(std::size_t f, int n, std::uint64_t first, std::size_t size, std::size_t in_table)
      : file(f), number(n), first_row(first), bytes(size), place(in_table) {}

  const std::size_t file;
  const int number;               // in the file
  const std::uint64_t first_row;  // in the file
  const std::size_t bytes;        // approximate memory while it is decoded
  const std::size_t place;        // in the table

  std::atomic<std::uint64_t> used{0};  // last use, counted in decoded groups
  std::atomic<bool> fresh{false};      // no sample has had a row of it since it was decoded
  std::mutex mutex;
  group_ptr kept;
  std::shared_ptr<group_decoding> under_way;
  std::exception_ptr failure;  // recent damage
  std::chrono::steady_clock::time_point failed;
};

/// The groups in memory: the most recently used, as many as fit.
class kept_groups {
 public:
  /// \param most  bytes  \param groups  of the table
  kept_groups(std::size_t most, std::size_t groups) noexcept
      : most_(most), entries_(std::clamp<std::size_t>(groups, 1, most_entries)) {}

  std::uint64_t decoded() const noexcept { return decoded_.load(std::memory_order_relaxed); }
  std::size_t most() const noexcept { return most_; }
  /// The number of groups in memory, and their bytes.
  std::pair<std::size_t, std::size_t> now() const {
    std::lock_guard lock(mutex_);
    return {kept_.size(), bytes_};
  }

  /// Null if it isn't in memory.
  group_ptr find(row_group& of) const {
    group_ptr out;
    {
      const auto lock = lock_briefly(of.mutex);
      out = of.kept;
    }
    note_use(of, out);
    return out;
  }
  /// The same for a worker of this number: rows of groups that it has asked for before write nothing that
  /// other workers use.
  group_ptr find(row_group& of, std::size_t worker) {
    shelf& mine = shelves_[worker % shelves];
    const auto lock = lock_briefly(mine.mutex);
    if (mine.entries.empty()) mine.entries.resize(entries_);
    shelf::entry& at = mine.at(of);
    if (at.of != &of) {
      const auto with_it = lock_briefly(of.mutex);
      if (of.kept == nullptr) return nullptr;
      // Another counter of references, so that copies don't write to the one that all workers have.
      const auto owned = std::make_shared<const owner>(of.kept);
      at.group = group_ptr(owned, owned->group.get());
      at.of = &of;
    }
    note_use(of, at.group);
    return at.group;
  }

  /// The right to decode a group for all samples, or another thread's decoding to wait for, or neither, if
  /// the group is in memory.
  class claim {
   public:
    claim(kept_groups& all, row_group& of) : all_(all), of_(of) {
      std::lock_guard lock(of.mutex);
      if (of.kept != nullptr) return;
      // Otherwise each row of a damaged group would decode it once more.
      if (of.failure && std::chrono::steady_clock::now() - of.failed < std::chrono::seconds(1))
        std::rethrow_exception(of.failure);
      mine_ = of.under_way == nullptr;
      if (mine_) of.under_way = std::make_shared<group_decoding>();
      decoding_ = of.under_way;
    }
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;
    ~claim() {
      if (mine_) end();
    }
    bool mine() const noexcept { return mine_; }
    /// Null if the group is in memory.
    group_decoding* decoding() const noexcept { return decoding_.get(); }
    /// Any thread. Keeps the result of `decode`, or briefly remembers that the group is damaged.
    template <class Decode>
    void run(Decode&& decode) {
      try {
        decoding_->got = decode();
      } catch (...) {
        decoding_->failure = std::current_exception();
        throw;
      }
    }

   private:
    void end() noexcept {
      group_decoding& ended = *decoding_;
      {
        std::lock_guard lock(of_.mutex);
        of_.kept = ended.got;
        of_.fresh.store(true, std::memory_order_relaxed);
        of_.under_way = nullptr;
        of_.failure = is_damage(ended.failure) ? ended.failure : nullptr;
        of_.failed = std::chrono::steady_clock::now();
      }
      if (ended.got != nullptr) all_.make_room_behind(of_, ended.got->bytes);
      ended.over.come();
    }
    static bool is_damage(const std::exception_ptr& failure) noexcept {
      try {
        if (failure) std::rethrow_exception(failure);
      } catch (const damaged_group&) {
        return true;
      } catch (...) {
      }
      return false;
    }

    kept_groups& all_;
    row_group& of_;
    std::shared_ptr<group_decoding> decoding_;
    bool mine_ = false;
  };

 private:
  /// Drops the least recently used groups, but not the new one.
  void make_room_behind(row_group& come, std::size_t bytes) {
    std::vector<group_ptr> dropped;  // freed outside of the locks
    std::lock_guard lock(mutex_);
    come.used.store(decoded_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes_ += bytes;
    while (bytes_ > most_ && !kept_.empty()) {
      const auto oldest =
          std::min_element(kept_.begin(), kept_.end(), [](const row_group* a, const row_group* b) {
            return a->used.load(std::memory_order_relaxed) < b->used.load(std::memory_order_relaxed);
          });
      row_group& old = **oldest;
      kept_.erase(oldest);
      {
        std::lock_guard with_it(old.mutex);
        bytes_ -= old.kept->bytes;
        dropped.push_back(std::move(old.kept));
      }
      for (shelf& each : shelves_) {  // no worker puts it there any more
        const auto with_it = lock_briefly(each.mutex);
        if (!each.entries.empty() && each.at(old).of == &old) each.at(old) = {};
      }
    }
    kept_.push_back(&come);
  }

  /// Time is counted in decoded groups, so that threads sharing a group don't write to it constantly.
  void note_use(row_group& of, const group_ptr& found) const noexcept {
    const std::uint64_t now = decoded();
    if (found != nullptr && of.used.load(std::memory_order_relaxed) != now)
      of.used.store(now, std::memory_order_relaxed);
  }

  /// What a worker's counter of references counts, on cache lines of its own.
  struct alignas(64) owner {
    explicit owner(group_ptr of) noexcept : group(std::move(of)) {}
    group_ptr group;
  };
  /// The groups that a worker has had rows of.
  struct alignas(64) shelf {
    struct entry {
      const row_group* of = nullptr;
      group_ptr group;
    };
    entry& at(const row_group& of) noexcept { return entries[of.place % entries.size()]; }
    std::mutex mutex;            // taken before a group's
    std::vector<entry> entries;  // empty until the worker comes
  };
  static constexpr std::size_t shelves = 64, most_entries = 1024;

  const std::size_t most_, entries_;
  std::atomic<std::uint64_t> decoded_{0};
  std::array<shelf, shelves> shelves_;
  mutable std::mutex mutex_;  // taken before a group's and a shelf's
  std::vector<row_group*> kept_;
  std::size_t bytes_ = 0;
};

}  // namespace wick::detail
