// The position of an MCU in a JPEG's scan, so that decoding can start there.
#pragma once

#include <array>
#include <cstdint>

namespace wick::inline v0_1::detail {

/// The state of a Huffman decoder before an MCU, except for restart markers, which follow from the MCU's
/// number.
struct jpeg_place {
  std::uint32_t bit = 0;                   ///< counted from the scan's first byte, high bit first
  std::array<std::uint16_t, 4> last_dc{};  ///< of each component, truncated to the 16 bits of a coefficient
  friend bool operator==(const jpeg_place&, const jpeg_place&) = default;
};

/// Thrown by a decoder when the request's index had a wrong place. The entry is dropped by then: decode the
/// image again, without the index. The image itself isn't damaged.
struct wrong_jpeg_place {};

}  // namespace wick::detail
