// Implements io/detail/json_reader.hpp. Included in exactly one file of a program.
#pragma once

#include <charconv>
#include <cstddef>
#include <system_error>

#include <wick/io/detail/json_reader.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

bool json_reader::at_string() noexcept {
  blanks();
  return left_.starts_with('"');
}

void json_reader::end() {
  blanks();
  if (!left_.empty()) throw error("something follows the value");
}

void json_reader::blanks() noexcept {
  while (!left_.empty() && (left_.front() == ' ' || (left_.front() >= '\t' && left_.front() <= '\r')))
    left_.remove_prefix(1);
}

bool json_reader::accept(char c) noexcept {
  blanks();
  if (!left_.starts_with(c)) return false;
  left_.remove_prefix(1);
  return true;
}

void json_reader::expect(char c) {
  if (!accept(c)) throw error("it isn't JSON");
}

std::string json_reader::string() {
  expect('"');
  std::string out;
  for (;;) {
    const std::size_t plain = left_.find_first_of("\"\\");
    if (plain == std::string_view::npos) throw error("a string that does not end");
    out += left_.substr(0, plain);
    const bool ends = left_[plain] == '"';
    left_.remove_prefix(plain + 1);
    if (ends) return out;
    escape(out);
  }
}

void json_reader::escape(std::string& out) {
  if (left_.empty()) throw error("a string that does not end");
  const char c = left_.front();
  left_.remove_prefix(1);
  constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
  if (const std::size_t at = from.find(c); at != std::string_view::npos) {
    out += to[at];
    return;
  }
  if (c != 'u') throw error("a string with an escape that JSON has not");
  unsigned code = four_digits();
  if (code >= 0xD800 && code < 0xDC00 && left_.starts_with("\\u")) {
    left_.remove_prefix(2);
    code = 0x10000 + ((code - 0xD800) << 10) + ((four_digits() - 0xDC00) & 0x3FF);
  }
  const auto byte = [&](unsigned b) { out += static_cast<char>(b); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)),
        byte(0x80 | (code & 0x3F));
  }
}

unsigned json_reader::four_digits() {
  unsigned out = 0;
  if (left_.size() < 4) throw error("a string that does not end");
  const auto [end, fault] = std::from_chars(left_.data(), left_.data() + 4, out, 16);
  if (fault != std::errc() || end != left_.data() + 4)
    throw error("a string with an escape that JSON has not");
  left_.remove_prefix(4);
  return out;
}

std::uint64_t json_reader::number() {
  blanks();
  std::uint64_t out = 0;
  const auto [end, fault] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
  if (fault != std::errc()) throw error("no whole number where one must be");
  left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
  return out;
}

void json_reader::skip(unsigned depth) {
  if (depth > 64) throw error("objects in objects, more than 64 deep");
  blanks();
  if (left_.starts_with('{')) return object([&](const std::string&) { skip(depth + 1); });
  if (left_.starts_with('[')) return array([&] { skip(depth + 1); });
  if (left_.starts_with('"')) return static_cast<void>(string());
  const std::size_t end = left_.find_first_of(",]} \t\r\n");
  if (end == 0 || end == std::string_view::npos) throw error("it isn't JSON");
  left_.remove_prefix(end);
}

}  // namespace wick::detail
