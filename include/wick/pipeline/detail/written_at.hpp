// Where a callable without a name was written, for messages to add to "map".
#pragma once

#include <string>

namespace wick::inline v0_1::detail {

/// A place in the user's code if it is known, or else the type of the callable. It appears only in messages:
/// the stage's name, which policies, reports, and states use, doesn't change with a line number.
struct written_at {
  const char* file = nullptr;
  unsigned line = 0;
  const char* type = nullptr;  ///< a function's signature that ends with the type: see of()

  /// For a default argument: the line of the call.
  static constexpr written_at here(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) noexcept {
    return {file, line, nullptr};
  }
  /// The type of a callable, for the places where | takes it.
  template <class F>
  static constexpr written_at of() noexcept {
    return {nullptr, 0, __PRETTY_FUNCTION__};
  }

  /// The text after the stage's name: " at train.cpp:42", " (lambda in main)", " (tokenizer)"; may be empty.
  std::string text() const;
};

}  // namespace wick::detail
