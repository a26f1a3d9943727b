// The result of a task, for a thread that waits for it: its value or its exception.
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <wick/async/task.hpp>

namespace wick::inline v0_1::detail {

/// Written once, by settle(); read once, after the signal that it is ready.
template <class T>
struct outcome {
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
  std::exception_ptr exception;

  /// Returns the value or throws the exception.
  T take() {
    if (exception) std::rethrow_exception(std::move(exception));
    if constexpr (!std::is_void_v<T>) return std::move(*value);
  }
};

/// Runs `t` and keeps its result. Await it and destroy it before you signal: that also destroys the
/// parameters of `t`, which may refer to objects that the waiting thread destroys.
template <class T>
task<void> settle(task<T> t, outcome<T>* to) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await t;
      to->value.emplace();
    } else {
      T value = co_await t;
      to->value.emplace(std::move(value));
    }
  } catch (...) {
    to->exception = std::current_exception();
  }
}

}  // namespace wick::detail
