// Implements base/detail/html_text.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>

#include <wick/base/detail/html_text.hpp>
#include <wick/base/detail/json_string.hpp>

namespace wick::inline v0_1::detail {

std::string html_text(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_character(text);
    if (length == 0 || byte < 0x20 || byte == 0x7F)
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    else if (std::string_view("&<>\"'").find(text[0]) != std::string_view::npos)
      out += "&#" + std::to_string(byte) + ";";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace wick::detail
