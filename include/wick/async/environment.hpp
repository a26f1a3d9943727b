// The environment that every wait of the engine needs: where to continue, and the token that may cancel it.
#pragma once

#include <concepts>
#include <stdexcept>
#include <type_traits>

#include <wick/async/stop_token.hpp>

namespace wick::inline v0_1 {

class executor;

namespace ext {

/// The executor that a coroutine continues on, and the stop token that cancels its wait (an environment in
/// the words of P2300). Anything with `on()` and `stop()` converts to it: a stage passes its `context&`, and
/// other code writes it out: `{ex}` or `{ex, stop}`. Cheap to copy. The executor and the source of the token
/// must outlive the wait.
///
/// If a stop is requested, before the wait or during it, the wait throws wick::cancelled and takes nothing,
/// even if it could have succeeded at once. A stop during the wait resumes it promptly, on the executor.
class environment {
 public:
  environment(executor& on, stop_token stop = {}) noexcept : on_(&on), stop_(stop) {}
  /// \throws std::logic_error for a context that was made by hand, without an executor
  template <class From>
    requires(!std::same_as<std::remove_const_t<From>, environment>) && requires(From& from) {
      from.on();
      { from.stop() } -> std::convertible_to<stop_token>;
    }
  environment(From& from) : stop_(from.stop()) {
    if constexpr (std::is_pointer_v<decltype(from.on())>)
      on_ = from.on();
    else
      on_ = &from.on();
    if (on_ == nullptr) {
      throw std::logic_error(
          "wick: this context has no executor to continue on; a wait needs one: give the context a "
          "wick::executor, or run the stage in a loader");
    }
  }

  executor& on() const noexcept { return *on_; }
  const stop_token& stop() const noexcept { return stop_; }

 private:
  executor* on_;
  stop_token stop_;
};

}  // namespace ext

namespace detail {
using namespace ext;
}  // namespace detail

}  // namespace wick
