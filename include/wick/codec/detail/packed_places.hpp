// Stores the places of a JPEG compactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wick/codec/detail/jpeg_place.hpp>

namespace wick::inline v0_1::detail {

/// Stores differences between places in base 128 (like DWARF's LEB128): about 6 bytes a place instead of 12.
class packed_places {
 public:
  /// The average number of bytes per place.
  static constexpr std::size_t expected = 6;

  /// Stores the places, and reserves room for the `total` places that later calls may bring.
  void assign(std::span<const jpeg_place> places, std::size_t total);
  /// Appends the places to `to`.
  void unpack(std::vector<jpeg_place>& to) const;
  std::size_t size() const noexcept { return size_; }
  std::size_t total() const noexcept { return total_; }
  std::span<const std::uint8_t> bytes() const noexcept { return {packed_.data(), packed_.size()}; }

 private:
  void put(std::uint32_t number);

  std::vector<std::uint8_t> packed_;
  std::size_t components_ = 1;  // components whose coefficients are stored; those of others are 0
  std::uint32_t size_ = 0, total_ = 0;
};

}  // namespace wick::detail
