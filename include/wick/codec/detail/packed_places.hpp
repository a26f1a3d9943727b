/// \file
/// The places of a JPEG in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wick/codec/detail/jpeg_place.hpp>

namespace wick::inline v0_1::detail {

/// Places as differences from place to place, in base 128 (as in DWARF's LEB128): some 6 bytes a place
/// instead of 12.
class packed_places {
 public:
  /// Bytes that a place takes, on average.
  static constexpr std::size_t expected = 6;

  /// `total`: so many may follow in later calls, for which there is room then.
  void assign(std::span<const jpeg_place> places, std::size_t total);
  /// Appends them.
  void unpack(std::vector<jpeg_place>& to) const;
  std::size_t size() const noexcept { return size_; }
  std::size_t total() const noexcept { return total_; }
  std::span<const std::uint8_t> bytes() const noexcept { return {packed_.data(), packed_.size()}; }

 private:
  void put(std::uint32_t number);

  std::vector<std::uint8_t> packed_;
  std::size_t components_ = 1;  // whose coefficients are in it; those of others are 0
  std::uint32_t size_ = 0, total_ = 0;
};

}  // namespace wick::detail
