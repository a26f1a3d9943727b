// Records of TFRecord files, as TensorFlow writes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <wick/sources/tfrecords.hpp>

namespace wick_test {

inline std::string little_endian(std::uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}
inline std::string masked_crc(std::string_view of) {
  const std::uint32_t c = wick::detail::crc32c(reinterpret_cast<const std::byte*>(of.data()), of.size());
  return little_endian((c >> 15 | c << 17) + 0xA282EAD8u, 4);
}
/// Length, its checksum, the data, their checksum.
inline std::string tf_record(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + data + masked_crc(data);
}

}  // namespace wick_test
