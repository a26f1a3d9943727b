/// \file
/// How many batches a loader is ahead of its consumer.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <wick/batch/detail/slab.hpp>

namespace wick::detail {

/// Four small ones are made in no time, and used up while a thread is interrupted for less than a
/// millisecond: there are more where that costs little memory.
struct batches_ahead {
  std::size_t few, most;  // whatever they take, and where they take little

  /// \param wanted  loader_options::prefetch
  batches_ahead(std::size_t wanted, std::size_t workers) noexcept
      : few(wanted != 0   ? wanted
            : workers < 8 ? 4
                          : 8),
        most(wanted != 0 ? wanted : 8) {}

  std::shared_ptr<slab_pool> make_pool(std::shared_ptr<slab_memory> memory) const {
    return std::make_shared<slab_pool>(std::move(memory), (most + 2) * 8, few + 1, most + 1);
  }
  /// By what their memory was asked for so far.
  std::size_t at(const slab_pool& pool) const noexcept {
    const std::size_t bytes = pool.bytes_asked();
    return bytes == 0 ? few : slab_pool::cheap_blocks(bytes, few + 1, most + 1) - 1;
  }
};

}  // namespace wick::detail
