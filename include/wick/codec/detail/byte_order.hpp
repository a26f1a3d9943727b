// Reads numbers from file headers in either byte order, never past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wick::inline v0_1::detail {

/// 0 past the end; callers check the size where it matters.
inline std::uint32_t byte_at(std::span<const std::byte> data, std::size_t at) noexcept {
  return at < data.size() ? static_cast<std::uint32_t>(data[at]) : 0;
}
inline std::uint32_t big16(std::span<const std::byte> data, std::size_t at) noexcept {
  return byte_at(data, at) << 8 | byte_at(data, at + 1);
}
inline std::uint32_t big32(std::span<const std::byte> data, std::size_t at) noexcept {
  return big16(data, at) << 16 | big16(data, at + 2);
}
inline std::uint32_t little16(std::span<const std::byte> data, std::size_t at) noexcept {
  return byte_at(data, at) | byte_at(data, at + 1) << 8;
}
inline std::uint32_t little32(std::span<const std::byte> data, std::size_t at) noexcept {
  return little16(data, at) | little16(data, at + 2) << 16;
}

}  // namespace wick::detail
