/// \file
/// The limit: what 28 × 28 bytes a sample cost when there is nothing but the copying. No stages, no order
/// kept, nobody to hand batches to; the order is worked out beforehand.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tiny/peers.hpp"

namespace tiny {

/// The order of an epoch: an index for each position.
using order = std::vector<std::uint32_t>;

class gather {
 public:
  /// \param ring slabs a thread, used in turns. Two stay in the core's own cache; a loader that has batches
  /// ready ahead of its consumer needs more, and pays for it.
  gather(const data_set& data, std::size_t threads, std::size_t ring)
      : pixels_(static_cast<const std::uint8_t*>(data.pixels.data_ptr())),
        targets_(static_cast<const std::int64_t*>(data.targets.data_ptr())),
        slabs_(threads, std::vector<slab>(ring)) {}

  /// `epochs` times through the orders, in turns: each thread takes the next batch, fills one of its slabs,
  /// and looks at it as a training loop would.
  seen run(const std::vector<order>& orders, std::uint64_t epochs) {
    const std::uint64_t end = epochs * batches;
    std::atomic<std::uint64_t> next{0};
    std::vector<seen> parts(slabs_.size());
    const auto work = [&](std::size_t t) {
      seen mine;
      for (std::uint64_t k = 0;; ++k) {
        const std::uint64_t b = next.fetch_add(1, std::memory_order_relaxed);
        if (b >= end) break;
        slab& to = slabs_[t][k % slabs_[t].size()];
        const std::uint64_t n = fill(orders[(b / batches) % orders.size()], b % batches, to);
        mine.batch(to.pixels, to.targets, n);
      }
      parts[t] = mine;
    };
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < slabs_.size(); ++t) threads.emplace_back(work, t);
    work(0);
    for (std::thread& t : threads) t.join();
    seen all;
    for (const seen& s : parts) all.add(s);
    return all;
  }

  /// One epoch in order, for comparison.
  digest check(const order& in) {
    digest d;
    slab& to = slabs_[0][0];
    for (std::uint64_t b = 0; b < batches; ++b) {
      const std::uint64_t n = fill(in, b, to);
      d.batch(to.pixels, to.targets, n);
    }
    return d;
  }

 private:
  static constexpr std::uint64_t ahead = 12;  // rows; 8 to 16 are much the same

  struct slab {
    alignas(64) std::uint8_t pixels[batch_size * row];
    alignas(64) std::int64_t targets[batch_size];
  };
  std::uint64_t fill(const order& in, std::uint64_t b, slab& to) const noexcept {
    const std::uint32_t* const index = in.data() + b * batch_size;
    const std::uint64_t n = b + 1 < batches ? batch_size : samples - b * batch_size;
    // Positions beyond the batch are those of the next one, which the other thread may take: they aren't
    // fetched.
    for (std::uint64_t i = 0; i < ahead && i < n; ++i) prefetch(index[i]);
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i + ahead < n) prefetch(index[i + ahead]);
      std::memcpy(to.pixels + i * row, pixels_ + index[i] * row, row);
      to.targets[i] = remap(targets_[index[i]]);
    }
    return n;
  }
  void prefetch(std::uint64_t i) const noexcept {
    const std::uint8_t* const from = pixels_ + i * row;
    for (std::uint64_t o = 0; o < row; o += 64) __builtin_prefetch(from + o, 0, 3);
    __builtin_prefetch(from + row - 1, 0, 3);
    __builtin_prefetch(targets_ + i, 0, 3);
  }

  const std::uint8_t* pixels_;
  const std::int64_t* targets_;
  std::vector<std::vector<slab>> slabs_;
};

}  // namespace tiny
