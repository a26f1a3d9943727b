// The text of the wick::error that a call throws.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <wick/pipeline/error.hpp>

namespace wick_test {

/// Empty when nothing is thrown.
template <class Call>
std::string message_of(Call&& call) {
  try {
    static_cast<void>(std::forward<Call>(call)());
  } catch (const wick::error& e) {
    return e.what();
  }
  return {};
}

/// Whether `text` has all of `parts`, for CHECK(contains(message, "…", "…")).
template <class... Parts>
bool contains(std::string_view text, const Parts&... parts) {
  return (... && (text.find(std::string_view(parts)) != std::string_view::npos));
}

}  // namespace wick_test
