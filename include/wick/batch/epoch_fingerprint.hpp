// The delivered samples of an epoch as a number, to compare runs, machines, and ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick::inline v0_1 {

/// The result of loader::fingerprint(epoch). The sum over all ranks equals the fingerprint of a single rank,
/// and the sum over the parts of an epoch that was stopped and resumed equals that of the whole epoch.
///
/// It always covers the data set (as its source identifies it), the epoch, and the size of the global batch.
/// For each position, it covers which sample of the source was there, or that it was left out. For each
/// batch, it covers the shapes and types. With loader_options::content_fingerprint, it also covers the bytes
/// of numbers, images, and strings, as they were before the batch stages. It doesn't cover the work of
/// batch stages, batches that threw instead of being delivered, or the seed (the order shows the seed, and
/// the bytes show the random numbers). Without batch(), and for objects in a group(), it covers the positions
/// alone.
struct epoch_fingerprint {
  std::uint64_t value = 0;
  std::uint64_t samples = 0;  ///< samples handed over
  std::uint64_t batches = 0;  ///< batches handed over by this rank

  epoch_fingerprint& operator+=(const epoch_fingerprint& other) noexcept {
    value += other.value;
    samples += other.samples;
    batches += other.batches;
    return *this;
  }
  friend epoch_fingerprint operator+(epoch_fingerprint a, const epoch_fingerprint& b) noexcept {
    return a += b;
  }
  /// Compares values and samples, not batches: several ranks together have more batches than one alone.
  friend bool operator==(const epoch_fingerprint& a, const epoch_fingerprint& b) noexcept {
    return a.value == b.value && a.samples == b.samples;
  }
};

namespace detail {

/// Folds the two halves of a product, so that every bit depends on all bits of both factors (an idea of Wang
/// Yi's wyhash).
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
  __extension__ using wide = unsigned __int128;
  const wide p = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
#else
  const std::uint64_t al = a & 0xFFFFFFFFu, ah = a >> 32, bl = b & 0xFFFFFFFFu, bh = b >> 32;
  const std::uint64_t ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
  const std::uint64_t middle = (ll >> 32) + (lh & 0xFFFFFFFFu) + (hl & 0xFFFFFFFFu);
  const std::uint64_t low = (ll & 0xFFFFFFFFu) | (middle << 32);
  return low ^ (hh + (lh >> 32) + (hl >> 32) + (middle >> 32));
#endif
}

inline constexpr std::uint64_t left_out = ~std::uint64_t{0};  // in place of an index

/// The print of a sample at a position.
inline std::uint64_t print_of(std::uint64_t position, std::uint64_t index) noexcept {
  return folded_product(position ^ 0xA0761D6478BD642Fu, index ^ 0xE7037ED1A0B428DBu);
}

/// The sum of the prints at `count` positions from `first` on. It uses local variables, because the caller's
/// may be in memory.
inline std::uint64_t prints_of(std::uint64_t first, const std::uint64_t* index,
                               std::uint64_t count) noexcept {
  std::uint64_t even = 0, odd = 0, i = 0;
  for (; i + 2 <= count; i += 2) {
    even += print_of(first + i, index[i]);
    odd += print_of(first + i + 1, index[i + 1]);
  }
  return i < count ? even + odd + print_of(first + i, index[i]) : even + odd;
}

/// A hash of a sample's bytes: about 10 GB/s.
std::uint64_t content_of(const std::byte* data, std::size_t size, std::uint64_t seed) noexcept;

}  // namespace detail
}  // namespace wick
