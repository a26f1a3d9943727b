/// \file
/// The bodies of what text/detail/token_ids.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/text/detail/token_ids.hpp>

namespace wick::inline v0_1::detail {

/// A plain loop: g++ makes poor code of vectors of eight that are converted, and good one of this.
template <class T>
void widen_each(const std::byte* from, std::size_t count, std::byte* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    T one;
    std::memcpy(&one, from + i * sizeof(one), sizeof(one));
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a token is a number, and may be below 0
    const auto number = static_cast<std::int64_t>(one);
    std::memcpy(to + i * sizeof(number), &number, sizeof(number));
  }
}

void widen_tokens(const std::byte* from, token_format format, std::size_t count, std::byte* to) noexcept {
  switch (format.size) {
    case 1:
      return format.has_sign ? widen_each<std::int8_t>(from, count, to)
                             : widen_each<std::uint8_t>(from, count, to);
    case 2:
      return format.has_sign ? widen_each<std::int16_t>(from, count, to)
                             : widen_each<std::uint16_t>(from, count, to);
    case 4:
      return format.has_sign ? widen_each<std::int32_t>(from, count, to)
                             : widen_each<std::uint32_t>(from, count, to);
    default:
      std::memcpy(to, from, count * sizeof(std::int64_t));
  }
}

void token_ids::write_to(slot to) const noexcept {
  widen_tokens(from_, format_, count_, to.data);
  for (std::size_t i = count_; i < length_; ++i)
    std::memcpy(to.data + i * sizeof(filler_), &filler_, sizeof(filler_));
}

token_pair token_span::pair(bytes own, token_format format) const {
  const std::size_t size = (count - 1) * format.size;
  bytes shifted(own.data() + format.size, size);
  own.shrink(size);
  return {{std::move(own), format, count - 1, length, filler},
          {std::move(shifted), format, count - 1, length, token_ids::ignored}};
}

}  // namespace wick::detail
