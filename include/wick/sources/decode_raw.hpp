// decode_raw(): interprets raw bytes as an array of numbers or as a struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/memory_view.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Bytes, with the shape and type of the array that they hold.
class raw_array {
 public:
  raw_array() = default;
  raw_array(bytes data, std::shared_ptr<const row_format> format) noexcept
      : data_(std::move(data)), format_(std::move(format)) {}
  /// The numbers, valid as long as this object lives.
  memory_view view() const noexcept { return {data_.data(), *format_}; }
  const shape& extents() const noexcept { return format_->extents; }
  dtype type() const noexcept { return format_->type; }
  void write_to(slot to) const noexcept { view().write_to(to); }

  /// For caches.
  static constexpr std::string_view saved_as = "raw_array";
  raw_array clone() const { return {bytes(data_.data(), data_.size()), format_}; }
  std::size_t kept_bytes() const noexcept { return data_.size(); }
  void save(cache_writer& out) const {
    out.number(format_->type);
    out.number(std::uint64_t{format_->extents.rank()});
    for (std::size_t i = 0; i < format_->extents.rank(); ++i) out.number(format_->extents[i]);
    out.number(std::uint64_t{data_.size()});
    out.put(data_.data(), data_.size());
  }
  static raw_array load(cache_reader& in) {
    const auto type = in.number<dtype>();
    shape extents;
    for (std::size_t left = in.count(); left != 0; --left) {
      if (extents.rank() == shape::max_rank) throw cache_reader::unavailable();
      extents.push_back(in.number<std::int64_t>());
    }
    auto format = std::make_shared<const row_format>(extents, type);
    bytes data(in.count());
    if (data.size() != format->bytes) throw cache_reader::unavailable();
    in.take(data.data(), data.size());
    return {std::move(data), std::move(format)};
  }

 private:
  bytes data_;
  std::shared_ptr<const row_format> format_;
};

class decode_raw_stage {
 public:
  static constexpr stage_traits traits{
      .name = "decode_raw", .kind = stage_kind::data, .has_fingerprint = true};

  /// \throws wick::error for an extent below 1
  decode_raw_stage(const shape& of, dtype type);
  raw_array operator()(bytes data, context&) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  std::shared_ptr<const row_format> format_;
};

/// \throws wick::error for bytes that have another size or are compressed
void check_struct(const bytes& data, std::size_t wanted);

template <class T>
class raw_struct_stage {
 public:
  static constexpr stage_traits traits{.name = "decode_raw", .kind = stage_kind::data};
  T operator()(const bytes& data, context&) const {
    check_struct(data, sizeof(T));
    T out;
    std::memcpy(&out, data.data(), sizeof(T));
    return out;
  }
};

}  // namespace detail

/// Interprets the bytes of a sample as an array of `T` with this shape, in the machine's byte order and in C
/// order, as `numpy.ndarray.tofile()` writes it: `read() | decode_raw<float>({64, 16})`. (TensorFlow's
/// tf.io.decode_raw.) \throws wick::error for a sample with more or fewer bytes
template <class T>
detail::decode_raw_stage decode_raw(const shape& of) {
  return {of, detail::dtype_of<T>()};
}

/// Interprets the bytes of a sample as a `T`, in the machine's byte order and with the compiler's padding.
/// \throws wick::error for a sample with more or fewer bytes
template <class T>
detail::raw_struct_stage<T> decode_raw() {
  static_assert(!std::is_arithmetic_v<T>,
                "wick: decode_raw<T>() without a shape makes a struct; give the shape of the array: "
                "decode_raw<float>({64, 16})");
  static_assert(
      std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
      "wick: decode_raw<T>() copies the bytes of a T, and T has pointers or constructors; give a plain "
      "struct of numbers and arrays");
  return {};
}

}  // namespace wick
