// A value that a stage makes on its first call and keeps for later ones, such as constants on a device.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace wick::inline v0_1::detail {

/// Any thread may take and keep at any time. The stage's class needn't know the value's type. A copy of the
/// stage makes its own value.
class kept_value {
 public:
  kept_value() = default;
  kept_value(const kept_value&) noexcept {}
  kept_value(kept_value&& other) noexcept : value_(std::move(other.value_)) {}
  kept_value& operator=(kept_value other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~kept_value() = default;

  /// The kept T if `fits(it)` is true; otherwise the result of `make()`, which replaces it.
  template <class T, class Fits, class Make>
  std::shared_ptr<const T> get(Fits&& fits, Make&& make) const {
    const std::lock_guard lock(mutex_);
    auto value = std::static_pointer_cast<const T>(value_);
    if (value == nullptr || !fits(*value)) {
      value = std::make_shared<const T>(make());
      value_ = value;
    }
    return value;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const void> value_;
};

}  // namespace wick::detail
