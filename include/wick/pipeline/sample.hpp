// The values that travel from stage to stage: a sample, and a sample's bytes as stored on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace wick::inline v0_1 {

/// One training sample, or (after batch) one batch of them: the input of the model and the expected answer.
/// Built-in stages work on `data` and carry `target` along; masks, boxes, and other parts in it follow the
/// image's geometry.
template <class Data, class Target = std::int64_t>
struct sample {
  using data_type = Data;
  using target_type = Target;
  Data data;      ///< the input of the model: an image's location, its bytes, its pixels, or a tensor
  Target target;  ///< the answer: a class number, or another value from the source or a stage
};

namespace detail {

template <class T>
inline constexpr bool is_sample = false;
template <class D, class T>
inline constexpr bool is_sample<sample<D, T>> = true;

/// For messages: the type that data becomes in the stage that is forgotten most often. That is read() for a
/// location of bytes, and decode() for bytes; void if there is no such stage.
template <class T>
struct once_read {
  using type = void;
};
/// An item that reads itself names the type that it becomes: see reads_itself in io/read.hpp.
template <class T>
  requires requires { typename T::read_type; }
struct once_read<T> {
  using type = typename T::read_type;
};
template <class T>
struct once_decoded {
  using type = void;
};
/// Whether T is the type of a batch's column: a tensor or an array.
template <class T>
inline constexpr bool is_column = false;

}  // namespace detail

/// Encoded bytes of one sample (a JPEG, a text, …), owned and not initialized on creation.
class bytes {
 public:
  bytes() noexcept = default;
  /// \throws std::bad_alloc
  explicit bytes(std::size_t size) : size_(size) {
    if (size != 0 && (data_ = static_cast<std::byte*>(std::malloc(size))) == nullptr) throw std::bad_alloc();
  }
  bytes(const void* data, std::size_t size) : bytes(size) {
    if (size != 0) std::memcpy(data_, data, size);
  }
  bytes(bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  bytes& operator=(bytes&& other) noexcept {
    bytes taken(std::move(other));  // the old bytes are freed here, not with `other`
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~bytes() { std::free(data_); }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::span<const std::byte> span() const noexcept { return {data_, size_}; }
  /// The bytes as characters.
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
  /// With this, a callable that takes text can be a stage after read().
  operator std::string_view() const noexcept { return text(); }
  /// Drops the bytes after the first `size` (for a file that was shorter than it said).
  void shrink(std::size_t size) noexcept { size_ = size < size_ ? size : size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace wick
