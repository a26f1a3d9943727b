/// \file
/// Who is told that no batch leaves.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace wick::detail {

/// Whatever can be called with a text, or nothing. A value; copies call the same.
class hang_handler {
 public:
  hang_handler() noexcept = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, hang_handler> &&
             std::is_invocable_v<std::remove_cvref_t<F>&, const std::string&>)
  hang_handler(F&& f) : f_(std::make_shared<called<std::remove_cvref_t<F>>>(std::forward<F>(f))) {}

  explicit operator bool() const noexcept { return f_ != nullptr; }
  void operator()(const std::string& text) const { f_->call(text); }

 private:
  struct any {
    virtual ~any() = default;
    virtual void call(const std::string& text) = 0;
  };
  template <class F>
  struct called final : any {
    template <class G>
    explicit called(G&& g) : f(std::forward<G>(g)) {}
    void call(const std::string& text) override { f(text); }
    F f;
  };
  std::shared_ptr<any> f_;
};

}  // namespace wick::detail
