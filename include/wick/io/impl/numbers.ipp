// Implements io/detail/numbers.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>

#include <wick/io/detail/numbers.hpp>

namespace wick::inline v0_1::detail {

namespace {

template <class T>
std::errc parse_all(std::string_view text, T& to) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, to);
  return text.empty() || stop != end ? std::errc::invalid_argument : fault;
}

/// Whether a number outside a double's range is near zero.
bool is_small(std::string_view text) noexcept {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.substr(exponent + 1).starts_with('-');
  return text.substr(0, text.find('.')).find_first_of("123456789") == std::string_view::npos;
}

}  // namespace

std::string_view bare_number(std::string_view text) noexcept {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text.starts_with('+') && !text.starts_with("+-") ? text.substr(1) : text;
}

std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
  text = bare_number(text);
  std::int64_t whole = 0;
  if (parse_all(text, whole) == std::errc()) return whole;
  constexpr double exact = 9007199254740992;  // 2^53: beyond it, a double is rounded
  double number = 0;
  if (parse_all(text, number) != std::errc() || !(number >= -exact && number <= exact)) return std::nullopt;
  whole = static_cast<std::int64_t>(number);
  return static_cast<double>(whole) == number ? std::optional(whole) : std::nullopt;
}

float_fault parse_float(std::string_view text, float& to) noexcept {
  text = bare_number(text);
  const std::errc fault = parse_all(text, to);
  if (fault == std::errc()) return float_fault::none;
  if (fault != std::errc::result_out_of_range) return float_fault::no_number;
  double number = 0;
  const bool small = parse_all(text, number) == std::errc() ? number > -1 && number < 1 : is_small(text);
  to = text.starts_with('-') ? -0.0F : 0.0F;
  return small ? float_fault::none : float_fault::too_large;
}

bool is_missing(std::string_view text) noexcept {
  constexpr std::string_view all[] = {"",     "NA",   "N/A",  "n/a",  "#N/A", "#NA", "<NA>", "NULL",
                                      "null", "Null", "None", "none", "\\N",  "-",   "."};
  return std::find(std::begin(all), std::end(all), bare_number(text)) != std::end(all);
}

}  // namespace wick::detail
