// The callable that gets the message that no batch arrives.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace wick::inline v0_1 {

/// Holds any callable that takes a text, or nothing. A value; copies share the callable.
class hang_handler {
 public:
  hang_handler() noexcept = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, hang_handler> &&
             std::is_invocable_v<std::remove_cvref_t<F>&, const std::string&>)
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint leaves copies out
  hang_handler(F&& f)
      : f_(std::make_shared<std::remove_cvref_t<F>>(std::forward<F>(f))),
        call_([](void* to, const std::string& text) {
          static_cast<void>((*static_cast<std::remove_cvref_t<F>*>(to))(text));
        }) {}

  explicit operator bool() const noexcept { return f_ != nullptr; }
  void operator()(const std::string& text) const { call_(f_.get(), text); }

 private:
  std::shared_ptr<void> f_;
  void (*call_)(void*, const std::string&) = nullptr;
};

}  // namespace wick
