// Keeps shards open as long as the process has descriptors to spare.
#pragma once

#include <atomic>
#include <cstddef>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include <wick/io/detail/file_io.hpp>

namespace wick::inline v0_1::detail {

/// A share of the process's descriptors. All sources together keep a quarter of RLIMIT_NOFILE; the rest is
/// for the program, and for reads that open by path.
class descriptor_share {
 public:
  explicit descriptor_share(std::size_t wanted) noexcept;
  descriptor_share(descriptor_share&& other) noexcept : held_(std::exchange(other.held_, 0)) {}
  descriptor_share& operator=(descriptor_share&& other) noexcept;
  ~descriptor_share() { in_use().fetch_sub(held_, std::memory_order_relaxed); }
  bool granted() const noexcept { return held_ != 0; }

 private:
  static std::atomic<std::size_t>& in_use() noexcept;
  std::size_t held_ = 0;
};

/// The descriptors of a set of shards: all of them, or none.
class open_shards {
 public:
  explicit open_shards(std::size_t count) noexcept : share_(count) {}
  void keep(file_handle file);
  /// -1 means: open it by its path.
  int operator[](std::size_t shard) const noexcept;

 private:
  descriptor_share share_;
  std::vector<file_handle> files_;
};

}  // namespace wick::detail
