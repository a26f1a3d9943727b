// Implements pipeline/error.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

sample_error::sample_error(std::string key, std::string stage, std::uint64_t epoch, std::uint64_t position,
                           const std::string& text, std::exception_ptr cause, const std::string& written)
    : error(key + ": " + stage + written + ": " + text),
      key_(std::move(key)),
      stage_(std::move(stage)),
      epoch_(epoch),
      position_(position),
      cause_(std::move(cause)) {}

}  // namespace wick

namespace wick::inline v0_1::detail {

std::string printable(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7F) {
      out += {'\\', 'x', digits[u >> 4], digits[u & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

std::string without_leave_it_out(std::string text) {
  if (const std::size_t at = text.find(or_leave_it_out); at != std::string::npos)
    text.erase(at, std::string_view(or_leave_it_out).size());
  return text;
}

std::string ordinal(std::uint64_t index) {
  constexpr std::string_view endings = "thstndrd";
  const std::uint64_t n = index + 1, last = n / 10 % 10 == 1 || n % 10 > 3 ? 0 : n % 10;
  return std::to_string(n).append(endings.substr(2 * static_cast<std::size_t>(last), 2));
}

}  // namespace wick::detail
