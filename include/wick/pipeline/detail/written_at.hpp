/// \file
/// Where a callable without a name was written: what a message says beside "map".
#pragma once

#include <string>

namespace wick::inline v0_1::detail {

/// A place in the user's code, where it is known, or else the type of the callable. It is in messages only:
/// the name of a stage, which policies, reports, and states know it by, doesn't change with a line's number.
struct written_at {
  const char* file = nullptr;
  unsigned line = 0;
  const char* type = nullptr;  ///< a function's signature that ends with it: see of()

  /// As a default argument: the line of the call.
  static constexpr written_at here(const char* file = __builtin_FILE(),
                                   unsigned line = __builtin_LINE()) noexcept {
    return {file, line, nullptr};
  }
  /// What the type of a callable says, where | takes it.
  template <class F>
  static constexpr written_at of() noexcept {
    return {nullptr, 0, __PRETTY_FUNCTION__};
  }

  /// What follows the stage's name: " at train.cpp:42", " (lambda in main)", " (tokenizer)"; may be empty.
  std::string text() const;
};

/// The same of a stage; of most it is empty.
template <class S>
std::string written_text(const S& s) {
  if constexpr (requires(const written_at*& at) { at = &s.written(); })
    return s.written().text();
  else
    return {};
}

}  // namespace wick::detail
