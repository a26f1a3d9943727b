/// \file
/// Keeps shards open as long as the process can afford the descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <wick/read/detail/file_io.hpp>

namespace wick::detail {

/// A share of the descriptors that this process may have. All sources together keep a quarter of
/// RLIMIT_NOFILE: the rest is the program's, and the reads' that open by path.
class descriptor_share {
 public:
  explicit descriptor_share(std::size_t wanted) noexcept {
    ::rlimit limit{};
    const std::size_t most =
        ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 4) : 64;
    std::size_t used = in_use().load(std::memory_order_relaxed);
    while (wanted <= most && used <= most - wanted) {
      if (in_use().compare_exchange_weak(used, used + wanted, std::memory_order_relaxed)) {
        held_ = wanted;
        return;
      }
    }
  }
  descriptor_share(descriptor_share&& other) noexcept : held_(std::exchange(other.held_, 0)) {}
  descriptor_share& operator=(descriptor_share&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~descriptor_share() { in_use().fetch_sub(held_, std::memory_order_relaxed); }
  bool granted() const noexcept { return held_ != 0; }

 private:
  static std::atomic<std::size_t>& in_use() noexcept {
    static std::atomic<std::size_t> count{0};
    return count;
  }
  std::size_t held_ = 0;
};

/// The descriptors of a set of shards: all of them, or none.
class open_shards {
 public:
  explicit open_shards(std::size_t count) noexcept : share_(count) {}
  void keep(file_handle file) {
    if (share_.granted()) files_.push_back(std::move(file));
  }
  /// -1: open it by its path.
  int operator[](std::size_t shard) const noexcept {
    return shard < files_.size() ? files_[shard].get() : -1;
  }

 private:
  descriptor_share share_;
  std::vector<file_handle> files_;
};

}  // namespace wick::detail
