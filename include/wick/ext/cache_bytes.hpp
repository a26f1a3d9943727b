// How cache_on_disk() writes and reads a value of a type with save() and load().
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace wick::inline v0_1::ext {

/// An item's `void save(wick::ext::cache_writer& out) const` writes to this. In the machine's byte order.
class cache_writer {
 public:
  /// Writes `size` bytes.
  void put(const void* data, std::size_t size);
  /// Writes a number, or a struct of numbers.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void number(const T& value) {
    put(&value, sizeof value);
  }
  /// Makes room for `size` bytes.
  void reserve(std::size_t size);
  /// All bytes written so far.
  std::span<const std::byte> written() const noexcept { return {out_.data(), out_.size()}; }
  /// The same, moved out of this.
  std::vector<std::byte> take() noexcept { return std::move(out_); }

 private:
  std::vector<std::byte> out_;
};

/// An item's `static T load(wick::ext::cache_reader& in)` reads from this, in the order of the writes.
class cache_reader {
 public:
  /// Thrown if fewer bytes are left than a read needs. The sample is then made again.
  struct unavailable {};

  explicit cache_reader(std::span<const std::byte> all) noexcept : ready_(all) {}
  cache_reader(const cache_reader&) = delete;
  cache_reader& operator=(const cache_reader&) = delete;
  virtual ~cache_reader() = default;

  /// Reads `size` bytes.
  void take(void* to, std::size_t size) {
    const std::size_t now = size < ready_.size() ? size : ready_.size();
    if (now != 0) std::memcpy(to, ready_.data(), now);
    ready_ = ready_.subspan(now);
    if (size != now) fetch(static_cast<std::byte*>(to) + now, size - now);
  }
  /// Reads a value that cache_writer::number() wrote.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  T number() {
    T value;
    take(&value, sizeof value);
    return value;
  }
  /// The number of bytes left.
  virtual std::size_t left() const noexcept { return ready_.size(); }
  /// Reads a count of elements of at least one byte each. \throws unavailable if that many can't follow
  std::size_t count() {
    const auto n = number<std::uint64_t>();
    if (n > left()) throw unavailable();
    return static_cast<std::size_t>(n);
  }

 protected:
  /// Reads the bytes that come after those of ready_. \throws unavailable
  virtual void fetch(std::byte* to, std::size_t size) {
    static_cast<void>(to), static_cast<void>(size);
    throw unavailable();
  }
  std::span<const std::byte> ready_;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

/// How to write and read a value that isn't plain numbers, text, or fields: by members with these names,
/// unless this is specialized for a type that can't have them.
template <class T>
struct kept_access {
  static void save(const T& value, cache_writer& out)
    requires requires { value.save(out); }
  {
    value.save(out);
  }
  static T load(cache_reader& in)
    requires requires {
      { T::load(in) } -> std::same_as<T>;
    }
  {
    return T::load(in);
  }
  /// The name of the layout; a different layout has a different name.
  static std::string_view name()
    requires requires { std::string_view(T::saved_as); }
  {
    return T::saved_as;
  }
};

/// The width, height, and channels of the pixels that follow.
struct kept_extents {
  std::int32_t width = 0, height = 0, channels = 0;

  /// \throws cache_reader::unavailable if that many pixels can't follow
  static kept_extents of(cache_reader& in, std::size_t bytes_each) {
    const auto out = in.number<kept_extents>();
    std::size_t all = bytes_each;
    for (const std::int32_t n : {out.width, out.height, out.channels}) {
      if (n < 0 || __builtin_mul_overflow(all, static_cast<std::size_t>(n), &all))
        throw cache_reader::unavailable();
    }
    if (all > in.left()) throw cache_reader::unavailable();
    return out;
  }
};

}  // namespace wick::detail
