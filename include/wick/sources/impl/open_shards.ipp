// Implements sources/detail/open_shards.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/sources/detail/open_shards.hpp>

namespace wick::inline v0_1::detail {

descriptor_share::descriptor_share(std::size_t wanted) noexcept {
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

descriptor_share& descriptor_share::operator=(descriptor_share&& other) noexcept {
  std::swap(held_, other.held_);
  return *this;
}

std::atomic<std::size_t>& descriptor_share::in_use() noexcept {
  static std::atomic<std::size_t> count{0};
  return count;
}

void open_shards::keep(file_handle file) {
  if (share_.granted()) files_.push_back(std::move(file));
}

int open_shards::operator[](std::size_t shard) const noexcept {
  return shard < files_.size() ? files_[shard].get() : -1;
}

}  // namespace wick::detail
