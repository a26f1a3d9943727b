// The limit: what 28 × 28 bytes a sample cost when there is nothing but the copying. No stages, no order
// kept, no consumer of batches; the order is worked out beforehand. Which loop is fastest differs from
// processor to processor, so there are several.
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

enum class copying { as_compiled, libc, rep_movs };
#if defined(__x86_64__)
inline constexpr bool has_rep_movs = true;
#else
inline constexpr bool has_rep_movs = false;
#endif

/// How a loop copies, and what it fetches ahead: so many rows, so many bytes of each.
struct loop_kind {
  const char* name;
  copying how;
  std::uint64_t rows, bytes;
};
/// The first is what g++ makes of a memcpy of constant size, with whole rows fetched 12 ahead.
inline constexpr loop_kind loops[] = {
    {"as compiled, long prefetch", copying::as_compiled, 12, row},
    {"as compiled, short prefetch", copying::as_compiled, 4, 512},
    {"libc memcpy, long prefetch", copying::libc, 12, row},
    {"libc memcpy, short prefetch", copying::libc, 4, 512},
    {"rep movsb, long prefetch", copying::rep_movs, 12, row},
    {"rep movsb, short prefetch", copying::rep_movs, 4, 512},
};

class gather {
 public:
  /// \param ring slabs a thread, used in turns. Two stay in the core's own cache; a loader that has batches
  /// ready ahead of its consumer needs more, and pays for it.
  gather(const data_set& data, std::size_t threads, std::size_t ring, const loop_kind& kind = loops[0])
      : kind_(kind),
        pixels_(static_cast<const std::uint8_t*>(data.pixels.data_ptr())),
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
        const std::uint64_t n = fill_by_kind(orders[(b / batches) % orders.size()], b % batches, to);
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
      const std::uint64_t n = fill_by_kind(in, b, to);
      d.batch(to.pixels, to.targets, n);
    }
    return d;
  }

 private:
  struct slab {
    alignas(64) std::uint8_t pixels[batch_size * row];
    alignas(64) std::int64_t targets[batch_size];
  };
  std::uint64_t fill_by_kind(const order& in, std::uint64_t b, slab& to) const noexcept {
    switch (kind_.how) {
      case copying::libc:
        return fill<copying::libc>(in, b, to);
      case copying::rep_movs:
        return fill<copying::rep_movs>(in, b, to);
      default:
        return fill<copying::as_compiled>(in, b, to);
    }
  }
  template <copying How>
  static void copy(std::uint8_t* to, const std::uint8_t* from) noexcept {
    if constexpr (How == copying::as_compiled) {
      std::memcpy(to, from, row);
    } else if constexpr (How == copying::rep_movs && has_rep_movs) {
#if defined(__x86_64__)
      std::size_t n = row;
      asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
#endif
    } else {
      std::size_t n = row;
      asm("" : "+r"(n));  // a size that the compiler doesn't know: it calls the library
      std::memcpy(to, from, n);
    }
  }
  template <copying How>
  std::uint64_t fill(const order& in, std::uint64_t b, slab& to) const noexcept {
    const std::uint64_t ahead = kind_.rows;
    const std::uint32_t* const index = in.data() + b * batch_size;
    const std::uint64_t n = b + 1 < batches ? batch_size : samples - b * batch_size;
    // Positions beyond the batch are those of the next one, which the other thread may take: they aren't
    // fetched.
    for (std::uint64_t i = 0; i < ahead && i < n; ++i) prefetch(index[i]);
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i + ahead < n) prefetch(index[i + ahead]);
      copy<How>(to.pixels + i * row, pixels_ + index[i] * row);
      to.targets[i] = remap(targets_[index[i]]);
    }
    return n;
  }
  void prefetch(std::uint64_t i) const noexcept {
    const std::uint8_t* const from = pixels_ + i * row;
    for (std::uint64_t o = 0; o < kind_.bytes; o += 64) __builtin_prefetch(from + o, 0, 3);
    __builtin_prefetch(from + kind_.bytes - 1, 0, 3);
    __builtin_prefetch(targets_ + i, 0, 3);
  }

  const loop_kind kind_;
  const std::uint8_t* pixels_;
  const std::int64_t* targets_;
  std::vector<std::vector<slab>> slabs_;
};

}  // namespace tiny
