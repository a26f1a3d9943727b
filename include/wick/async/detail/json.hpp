/// \file
/// JSON, written piece by piece. For what is compiled once.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

#include <wick/async/detail/json_string.hpp>

namespace wick::detail {

/// Members of an object of JSON, one after the other.
class json_object {
 public:
  json_object& add(std::string_view name, double value) {
    char text[32];
    // JSON has no infinity.
    std::snprintf(text, sizeof(text), "%.9g", std::isfinite(value) ? value : 0.0);
    return raw(name, text);
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
