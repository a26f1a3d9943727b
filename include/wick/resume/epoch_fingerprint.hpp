/// \file
/// What was delivered of an epoch, as a number: to compare runs, machines and ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

/// What loader::fingerprint(epoch) gives. The sum over the ranks is that of one rank, and the sum over the
/// parts of an epoch that was stopped and resumed is that of the whole.
///
/// Always in it: the data set (as its source tells it apart), the epoch, the size of the global batch; of
/// each position which sample of the source stood there, or that it was left out; of each batch the shapes
/// and types. With loader_options::content_fingerprint the bytes, too, as they were before the batch stages:
/// of numbers, pictures and strings. Not in it: what batch stages do, batches that were thrown instead, the
/// seed (the order shows it, and with the bytes the random numbers do). Without batch() and for objects in a
/// group() it is of the positions alone.
struct epoch_fingerprint {
  std::uint64_t value = 0;
  std::uint64_t samples = 0;  ///< handed over
  std::uint64_t batches = 0;  ///< the same in batches, of this rank

  epoch_fingerprint& operator+=(const epoch_fingerprint& other) noexcept;
  friend epoch_fingerprint operator+(epoch_fingerprint a, const epoch_fingerprint& b) noexcept {
    return a += b;
  }
  /// Of values and samples: ranks together have more batches than one alone.
  friend bool operator==(const epoch_fingerprint& a, const epoch_fingerprint& b) noexcept {
    return a.value == b.value && a.samples == b.samples;
  }
};

namespace detail {

/// Both halves of a product: every bit of it hangs on all of both (Wang Yi's wyhash has this idea).
std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept;

inline constexpr std::uint64_t left_out = ~std::uint64_t{0};  // in place of an index

/// A sample at a position.
std::uint64_t print_of(std::uint64_t position, std::uint64_t index) noexcept;

/// The sum of those at `count` positions from `first` on. In variables of its own: the caller's may lie in
/// memory.
std::uint64_t prints_of(std::uint64_t first, const std::uint64_t* index, std::uint64_t count) noexcept;

/// A hash of a sample's bytes: about 10 GB/s.
std::uint64_t content_of(const std::byte* data, std::size_t size, std::uint64_t seed) noexcept;

}  // namespace detail
}  // namespace wick
