// A pointer that owns its object.
#pragma once

#include <cstddef>
#include <utility>

namespace wick::inline v0_1::detail {

/// std::unique_ptr without deleters. A program that includes wick compiles every pointer type that a header
/// names: with g++ 12, a std::unique_ptr takes 6 ms (its tuple, and the checks for its assignments), this one
/// no measurable time. Headers use this; types that no header names use std::unique_ptr.
template <class T>
class owned {
 public:
  constexpr owned() noexcept = default;
  constexpr owned(std::nullptr_t) noexcept {}
  explicit owned(T* mine) noexcept : mine_(mine) {}
  owned(owned&& other) noexcept : mine_(other.release()) {}
  owned& operator=(owned&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~owned() { destroy(mine_); }

  T* get() const noexcept { return mine_; }
  T& operator*() const noexcept { return *mine_; }
  T* operator->() const noexcept { return mine_; }
  explicit operator bool() const noexcept { return mine_ != nullptr; }

  /// The caller owns it from now on.
  [[nodiscard]] T* release() noexcept { return std::exchange(mine_, nullptr); }
  void reset(T* other = nullptr) noexcept { destroy(std::exchange(mine_, other)); }

 private:
  static void destroy(T* gone) noexcept {
    static_assert(sizeof(T) != 0, "wick: what is owned must be known where it is destroyed");
    delete gone;
  }
  T* mine_ = nullptr;
};

/// An array; its owner knows the size.
template <class T>
class owned<T[]> {
 public:
  constexpr owned() noexcept = default;
  /// Value-initializes each element. \throws std::bad_alloc, and what a constructor of T throws
  explicit owned(std::size_t size) : mine_(new T[size]()) {}
  owned(owned&& other) noexcept : mine_(std::exchange(other.mine_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    delete[] std::exchange(mine_, std::exchange(other.mine_, nullptr));
    return *this;
  }
  ~owned() { delete[] mine_; }

  T* get() const noexcept { return mine_; }
  T& operator[](std::size_t i) const noexcept { return mine_[i]; }
  explicit operator bool() const noexcept { return mine_ != nullptr; }

 private:
  T* mine_ = nullptr;
};

template <class T, class... A>
owned<T> make_owned(A&&... arguments) {
  return owned<T>(new T(std::forward<A>(arguments)...));
}

}  // namespace wick::detail
