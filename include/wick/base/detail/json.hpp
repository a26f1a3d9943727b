// Writes JSON piece by piece. For definitions that are compiled once.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include <wick/base/detail/json_string.hpp>

namespace wick::inline v0_1::detail {

/// The value in nine significant digits, whatever the locale.
inline std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 9).ptr;
  return {text.data(), end};
}

/// The members of a JSON object, one after another.
class json_object {
 public:
  json_object& add(std::string_view name, double value) {
    return raw(name, number_text(std::isfinite(value) ? value : 0.0));  // JSON has no infinity
  }
  template <std::unsigned_integral Number>
    requires(!std::same_as<Number, bool>)
  json_object& add(std::string_view name, Number value) {
    return raw(name, std::to_string(value));
  }
  template <std::same_as<bool> Bool>
  json_object& add(std::string_view name, Bool value) {
    return raw(name, value ? "true" : "false");
  }
  json_object& add(std::string_view name, std::string_view value) { return raw(name, json_string(value)); }
  json_object& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  json_object& raw(std::string_view name, std::string_view json) {
    text_ += text_.empty() ? "{" : ",";
    text_ += json_string(name);
    text_ += ':';
    text_ += json;
    return *this;
  }
  std::string text() const { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  std::string text_;
};

template <class Some, class One>
std::string json_array(const Some& some, One one) {
  std::string out = "[";
  for (const auto& s : some) {
    if (out.size() > 1) out += ',';
    out += one(s);
  }
  return out + "]";
}

}  // namespace wick::detail
