/// \file
/// The bodies of what sources/detail/safetensors_header.hpp declares. Included in exactly one file of a
/// program.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/safetensors_header.hpp>

namespace wick::inline v0_1::detail {

safetensors_header::safetensors_header(std::string_view json) : left_(json) {
  object([&](std::string name) {
    if (name == "__metadata__") return skip();
    tensor one;
    one.name = std::move(name);
    read(one);
    tensors_.push_back(std::move(one));
  });
  blanks();
  if (!left_.empty()) damaged("something behind the object");
}

void safetensors_header::damaged(const char* what) {
  throw error(std::string("has a header that safetensors does not write (") + what +
              "); the file is damaged, or no safetensors file");
}

void safetensors_header::blanks() noexcept {
  while (!left_.empty() && (left_.front() == ' ' || (left_.front() >= '\t' && left_.front() <= '\r')))
    left_.remove_prefix(1);
}

bool safetensors_header::accept(char c) noexcept {
  blanks();
  if (!left_.starts_with(c)) return false;
  left_.remove_prefix(1);
  return true;
}

void safetensors_header::expect(char c) {
  if (!accept(c)) damaged("it is no JSON");
}

std::string safetensors_header::string() {
  expect('"');
  std::string out;
  for (;;) {
    const std::size_t plain = left_.find_first_of("\"\\");
    if (plain == std::string_view::npos) damaged("a string that does not end");
    out += left_.substr(0, plain);
    const bool ends = left_[plain] == '"';
    left_.remove_prefix(plain + 1);
    if (ends) return out;
    escape(out);
  }
}

void safetensors_header::escape(std::string& out) {
  if (left_.empty()) damaged("a string that does not end");
  const char c = left_.front();
  left_.remove_prefix(1);
  constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
  if (const std::size_t at = from.find(c); at != std::string_view::npos) {
    out += to[at];
    return;
  }
  if (c != 'u') damaged("a string with an escape that JSON has not");
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

unsigned safetensors_header::four_digits() {
  unsigned out = 0;
  if (left_.size() < 4) damaged("a string that does not end");
  const auto [end, fault] = std::from_chars(left_.data(), left_.data() + 4, out, 16);
  if (fault != std::errc() || end != left_.data() + 4) damaged("a string with an escape that JSON has not");
  left_.remove_prefix(4);
  return out;
}

std::uint64_t safetensors_header::number() {
  blanks();
  std::uint64_t out = 0;
  const auto [end, fault] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
  if (fault != std::errc()) damaged("no whole number where one must be");
  left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
  return out;
}

template <class F>
void safetensors_header::array(F&& f) {
  expect('[');
  if (accept(']')) return;
  do f();
  while (accept(','));
  expect(']');
}

template <class F>
void safetensors_header::object(F&& f) {
  expect('{');
  if (accept('}')) return;
  do {
    std::string name = string();
    expect(':');
    f(std::move(name));
  } while (accept(','));
  expect('}');
}

void safetensors_header::skip(unsigned depth) {
  if (depth > 64) damaged("objects in objects, more than 64 deep");
  blanks();
  if (left_.starts_with('{')) return object([&](const std::string&) { skip(depth + 1); });
  if (left_.starts_with('[')) return array([&] { skip(depth + 1); });
  if (left_.starts_with('"')) return static_cast<void>(string());
  const std::size_t end = left_.find_first_of(",]} \t\r\n");
  if (end == 0 || end == std::string_view::npos) damaged("it is no JSON");
  left_.remove_prefix(end);
}

void safetensors_header::read(tensor& out) {
  int offsets = 0;
  object([&](const std::string& member) {
    if (member == "dtype") {
      out.type = string();
    } else if (member == "shape") {
      array([&] { out.extents.push_back(static_cast<std::int64_t>(number() & ~(std::uint64_t{1} << 63))); });
    } else if (member == "data_offsets") {
      array([&] { (offsets++ == 0 ? out.begin : out.end) = number(); });
    } else {
      skip();
    }
  });
  if (offsets != 2 || out.type.empty() || out.end < out.begin) damaged("a tensor without type or place");
}

}  // namespace wick::detail
