// Implements text/detail/token_ids.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/text/detail/token_ids.hpp>

namespace wick::inline v0_1::detail {

/// A plain loop: g++ compiles it well, but compiles conversions of eight-element vectors poorly.
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

token_ids token_ids::clone() const {
  if (own_.empty()) return {from_, format_, count_, length_, filler_};
  return {bytes(own_.data(), own_.size()), format_, count_, length_, filler_};
}

void token_ids::save(cache_writer& out) const {
  out.number(format_.size);
  out.number(format_.has_sign);
  out.number(filler_);
  out.number(std::uint64_t{length_});
  out.number(std::uint64_t{count_} * format_.size);
  out.put(from_, count_ * format_.size);
}

token_ids token_ids::load(cache_reader& in) {
  token_format format{};
  format.size = in.number<std::uint8_t>();
  format.has_sign = in.number<bool>();
  const auto filler = in.number<std::int64_t>();
  const auto length = in.number<std::uint64_t>();
  bytes own(in.count());
  const bool known = format.size == 1 || format.size == 2 || format.size == 4 || format.size == 8;
  if (!known || own.size() % format.size != 0 || own.size() / format.size > length)
    throw cache_reader::unavailable();
  in.take(own.data(), own.size());
  const std::size_t count = own.size() / format.size;
  return {std::move(own), format, count, static_cast<std::size_t>(length), filler};
}

token_pair token_span::pair(bytes own, token_format format) const {
  const std::size_t size = (count - 1) * format.size;
  bytes shifted(own.data() + format.size, size);
  own.shrink(size);
  return {{std::move(own), format, count - 1, length, filler},
          {std::move(shifted), format, count - 1, length, token_ids::ignored}};
}

}  // namespace wick::detail
