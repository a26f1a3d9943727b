/// \file
/// Values written behind each other, and read again: how samples lie in a cache on disk.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wick::inline v0_1::detail {

/// In the machine's byte order.
class kept_writer {
 public:
  void put(const void* data, std::size_t size) {
    const auto* const from = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), from, from + size);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void number(const T& value) {
    put(&value, sizeof value);
  }
  void reserve(std::size_t size) { out_.reserve(size); }
  std::span<const std::byte> written() const noexcept { return out_; }

 private:
  std::vector<std::byte> out_;
};

/// Reads what a kept_writer wrote, in the same order.
class kept_reader {
 public:
  /// Thrown where there is less than was asked for.
  struct unavailable {};

  explicit kept_reader(std::span<const std::byte> all) noexcept : at_hand_(all) {}
  kept_reader(const kept_reader&) = delete;
  kept_reader& operator=(const kept_reader&) = delete;
  virtual ~kept_reader() = default;

  void take(void* to, std::size_t size) {
    const std::size_t now = size < at_hand_.size() ? size : at_hand_.size();
    if (now != 0) std::memcpy(to, at_hand_.data(), now);
    at_hand_ = at_hand_.subspan(now);
    if (size != now) fetch(static_cast<std::byte*>(to) + now, size - now);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T number() {
    T value;
    take(&value, sizeof value);
    return value;
  }
  /// How many bytes there are behind this.
  virtual std::size_t left() const noexcept { return at_hand_.size(); }
  /// A count of things that take at least a byte each. \throws unavailable when that many can't follow
  std::size_t count() {
    const auto n = number<std::uint64_t>();
    if (n > left()) throw unavailable();
    return static_cast<std::size_t>(n);
  }

 protected:
  /// Reads bytes behind those of at_hand_. \throws unavailable
  virtual void fetch(std::byte* to, std::size_t size) {
    static_cast<void>(to), static_cast<void>(size);
    throw unavailable();
  }
  std::span<const std::byte> at_hand_;
};

/// How a value of a type that is no plain numbers, text or fields is written and read: by members of these
/// names, unless this is specialized for a type that can't have them.
template <class T>
struct kept_access {
  static void save(const T& value, kept_writer& out)
    requires requires { value.save(out); }
  {
    value.save(out);
  }
  static T load(kept_reader& in)
    requires requires {
      { T::load(in) } -> std::same_as<T>;
    }
  {
    return T::load(in);
  }
  /// The layout: another one has another name.
  static std::string_view name()
    requires requires { std::string_view(T::saved_as); }
  {
    return T::saved_as;
  }
};

/// Width, height and channels of pixels that follow.
struct kept_extents {
  std::int32_t width = 0, height = 0, channels = 0;

  /// \throws kept_reader::unavailable when so many pixels can't follow
  static kept_extents of(kept_reader& in, std::size_t bytes_each) {
    const auto out = in.number<kept_extents>();
    std::size_t all = bytes_each;
    for (const std::int32_t n : {out.width, out.height, out.channels}) {
      if (n < 0 || __builtin_mul_overflow(all, static_cast<std::size_t>(n), &all))
        throw kept_reader::unavailable();
    }
    if (all > in.left()) throw kept_reader::unavailable();
    return out;
  }
};

}  // namespace wick::detail
