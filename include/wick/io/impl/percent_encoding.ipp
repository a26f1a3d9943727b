// Implements io/detail/percent_encoding.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>

#include <wick/io/detail/percent_encoding.hpp>

namespace wick::inline v0_1::detail {

std::string percent_encoded(std::string_view bytes, slashes how) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(bytes.size());
  for (const char c : bytes) {
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter_or_digit || c == '-' || c == '.' || c == '_' || c == '~' ||
        (c == '/' && how == slashes::kept)) {
      out += c;
    } else {
      const auto u = static_cast<unsigned char>(c);
      out += {'%', digits[u >> 4], digits[u & 15]};
    }
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text, plus_signs how) {
  std::string out;
  out.reserve(text.size());
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text[0] == '+' && how == plus_signs::are_blanks) {
      out += ' ';
    } else if (text[0] != '%') {
      out += text[0];
    } else {
      if (text.size() < 3) return std::nullopt;
      unsigned byte = 0;
      if (std::from_chars(text.data() + 1, text.data() + 3, byte, 16).ptr != text.data() + 3)
        return std::nullopt;
      out += static_cast<char>(byte);
      text.remove_prefix(2);
    }
  }
  return out;
}

std::string encoded_query(const name_values& query) {
  name_values encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query)
    encoded.emplace_back(percent_encoded(name, slashes::encoded), percent_encoded(value, slashes::encoded));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out.append(name).append(1, '=').append(value);
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace wick::detail
