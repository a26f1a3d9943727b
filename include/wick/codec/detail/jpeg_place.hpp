/// \file
/// Where an MCU of a JPEG's scan begins, so that decoding can start there.
#pragma once

#include <array>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// What a reader of Huffman codes knows in front of an MCU, but for the restart markers, which follow from
/// the MCU's number.
struct jpeg_place {
  std::uint32_t bit = 0;  ///< from the first byte of the scan on; of a byte the highest bit comes first
  std::array<std::uint16_t, 4> last_dc{};  ///< of each component, as far as coefficients have bits
  friend bool operator==(const jpeg_place&, const jpeg_place&) = default;
};

/// Thrown by a decoder whose request named an index with a wrong place in it, which is dropped by then: the
/// picture has to be decoded again, without the index. Not an error of the picture.
struct wrong_jpeg_place {};

}  // namespace wick::detail
