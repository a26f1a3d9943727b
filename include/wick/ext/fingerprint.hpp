// A number that identifies the data and the pipeline: a resume compares it before it continues.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace wick::inline v0_1::ext {

/// Hashes names, sizes, and labels to 64 bits, the same in every run and, for the same bytes, on every
/// machine. Each addition includes its length, so {"ab", "c"} and {"a", "bc"} differ. It protects against
/// accidents, not against attackers.
class fingerprint_hash {
 public:
  constexpr fingerprint_hash& add(std::uint64_t value) noexcept {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u;  // both steps are invertible: no addition erases another
    state_ ^= state_ >> 29;
    return *this;
  }
  fingerprint_hash& add(std::string_view text) noexcept { return add(text.data(), text.size()); }
  /// About 4 GB/s.
  fingerprint_hash& add(const void* data, std::size_t size) noexcept {
    const auto* bytes = static_cast<const unsigned char*>(data);
    add(std::uint64_t{size});
    for (; size >= 8; bytes += 8, size -= 8) add(word(bytes, 8));
    if (size != 0) add(word(bytes, size));
    return *this;
  }
  /// The hash of everything added so far (the finalizer of MurmurHash3).
  constexpr std::uint64_t value() const noexcept {
    std::uint64_t h = state_;
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
    return h ^ (h >> 33);
  }

  /// For a stage's `fingerprint()`: the hash of all parameters that affect its samples. They are numbers,
  /// enumerators, and arrays of them. Leave out those that only decide which samples are rejected, so that a
  /// training can resume with other values.
  template <class... T>
  static constexpr std::uint64_t of(const T&... values) noexcept;

 private:
  static std::uint64_t word(const unsigned char* bytes, std::size_t size) noexcept {
    std::uint64_t value = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, bytes, size);
    } else {
      for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
    }
    return value;
  }

  std::uint64_t state_ = 0x77636B;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

template <class T>
constexpr void add_parameter(fingerprint_hash& h, const T& value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    h.add(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>,
                  "wick: parameters are numbers, enumerators and std::array of them; add anything else to a "
                  "fingerprint_hash");
    h.add(static_cast<std::uint64_t>(value));
  }
}
template <class T, std::size_t N>
constexpr void add_parameter(fingerprint_hash& h, const std::array<T, N>& values) noexcept {
  for (const T& v : values) add_parameter(h, v);
}

}  // namespace wick::detail

namespace wick::inline v0_1::ext {

template <class... T>
constexpr std::uint64_t fingerprint_hash::of(const T&... values) noexcept {
  fingerprint_hash h;
  (detail::add_parameter(h, values), ...);
  return h.value();
}

}  // namespace wick::ext
