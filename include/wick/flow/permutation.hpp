/// \file
/// A shuffle that is computed, not stored: a keyed bijection of 0 … n-1 at which any position can be asked at once.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <wick/flow/random.hpp>

namespace wick {

/// A Feistel network over the smallest 2^b ≥ n, walked until it lands below n (cycle walking; fewer than two steps on
/// average). Black, Rogaway: "Ciphers with arbitrary finite domains", CT-RSA 2002. The halves may differ by a bit, so
/// that the domain is never more than twice n. 80 bytes, whatever n is; about 15 ns a position, 8 when asked for many.
class permutation {
 public:
  /// The identity of nothing.
  constexpr permutation() noexcept = default;
  /// A permutation of n ≥ 1 positions for this (seed, epoch, stage). Another epoch is another permutation.
  constexpr permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) noexcept
      : n_(n) {
    random_stream stream(seed, epoch, 0, stage);
    if (n <= max_listed) {
      list(stream);
      return;
    }
    const int bits = static_cast<int>(std::bit_width(n - 1));
    low_bits_ = static_cast<std::uint32_t>(bits / 2);
    high_bits_ = static_cast<std::uint32_t>(bits) - low_bits_;
    // Small halves have few round functions to choose from: they need more rounds to look random.
    rounds_ = bits < 12 ? max_rounds : bits < 20 ? 8u : 6u;
    for (std::uint32_t& key : keys_) key = stream();
  }

  constexpr std::uint64_t size() const noexcept { return n_; }

  /// Where position p of the epoch comes from; p < n.
  constexpr std::uint64_t operator()(std::uint64_t p) const noexcept {
    if (n_ <= max_listed) return (listed_ >> (4 * p)) & 15u;
    do {
      p = encrypt(p);
    } while (p >= n_);
    return p;
  }

  /// The same for `count` positions, in place. The rounds of one position wait for each other, those of 16 don't.
  constexpr void map(std::uint64_t* positions, std::size_t count) const noexcept {
    std::size_t i = 0;
    if (n_ > max_listed) {
      for (; i + lanes <= count; i += lanes) encrypt_lanes(positions + i);
      for (std::size_t k = 0; k < i; ++k) {
        while (positions[k] >= n_) positions[k] = encrypt(positions[k]);
      }
    }
    for (; i < count; ++i) positions[i] = (*this)(positions[i]);
  }

 private:
  static constexpr std::uint32_t max_rounds = 12;
  static constexpr std::uint64_t max_listed = 16;
  static constexpr std::size_t lanes = 16;

  /// So few positions are written down, four bits each: halves of one bit never look random, whatever the rounds.
  /// Fisher and Yates, as Durstenfeld has it ("Algorithm 235", 1964).
  constexpr void list(random_stream& stream) noexcept {
    listed_ = 0xFEDCBA9876543210u;
    for (std::uint64_t i = n_; i-- > 1;) {
      const std::uint64_t j = stream.below(i + 1);
      const std::uint64_t differ = ((listed_ >> (4 * i)) ^ (listed_ >> (4 * j))) & 15u;
      listed_ ^= (differ << (4 * i)) | (differ << (4 * j));
    }
  }

  constexpr std::uint64_t encrypt(std::uint64_t p) const noexcept {
    // The widths swap each round; an even number of rounds brings them back.
    std::uint32_t low_bits = low_bits_, high_bits = high_bits_;
    std::uint64_t low = p & ((std::uint64_t{1} << low_bits) - 1), high = p >> low_bits;
    for (std::uint32_t r = 0; r < rounds_; ++r) {
      const std::uint64_t mixed = (high ^ mix(low + keys_[r])) & ((std::uint64_t{1} << high_bits) - 1);
      high = low;
      low = mixed;
      std::swap(low_bits, high_bits);
    }
    return (high << low_bits) | low;
  }
  /// As above for all lanes at once; two rounds a turn, so that the widths need no swap.
  constexpr void encrypt_lanes(std::uint64_t* p) const noexcept {
    const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1, high_mask = (std::uint64_t{1} << high_bits_) - 1;
    std::uint64_t low[lanes] = {}, high[lanes] = {};
    for (std::size_t k = 0; k < lanes; ++k) {
      low[k] = p[k] & low_mask;
      high[k] = p[k] >> low_bits_;
    }
    for (std::uint32_t r = 0; r < rounds_; r += 2) {
      const std::uint64_t a = keys_[r], b = keys_[r + 1];
      for (std::size_t k = 0; k < lanes; ++k) high[k] = (high[k] ^ mix(low[k] + a)) & high_mask;
      for (std::size_t k = 0; k < lanes; ++k) low[k] = (low[k] ^ mix(high[k] + b)) & low_mask;
    }
    for (std::size_t k = 0; k < lanes; ++k) p[k] = (high[k] << low_bits_) | low[k];
  }
  /// A 64-bit finaliser: multiply, fold. Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
  static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    return x >> 32;
  }

  std::uint64_t n_ = 0;
  std::uint64_t listed_ = 0;
  std::uint32_t low_bits_ = 1, high_bits_ = 1, rounds_ = 2;
  std::array<std::uint32_t, max_rounds> keys_{};
};

}  // namespace wick
