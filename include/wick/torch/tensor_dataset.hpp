// Tensors in memory as a source, like TensorDataset in Python: row i is sample i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <ATen/core/Tensor.h>

#include <wick/ext/source.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/memory_view.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// The rows of a tensor [N, …] on the CPU, in place: each is copied when it is written into its slot.
class tensor_rows {
 public:
  tensor_rows(const at::Tensor& t, const char* what);
  std::uint64_t size() const noexcept { return count_; }
  memory_view at(std::uint64_t i) const noexcept { return {data_ + i * step_, *format_}; }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(data_ + i * step_, span_, most);
  }
  std::int64_t integer(std::uint64_t i) const noexcept {
    return *reinterpret_cast<const std::int64_t*>(data_ + i * step_);
  }
  void prefetch_integer(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(data_ + i * step_, sizeof(std::int64_t), most);
  }
  /// Hashes the number of rows, their type and shape, and the first 64 KiB: equal for equal numbers, whatever
  /// the strides.
  std::uint64_t fingerprint() const;

 private:
  at::Tensor tensor_;
  std::shared_ptr<const row_format> format_;
  const std::byte* data_ = nullptr;
  std::size_t step_ = 0, span_ = 0;  // bytes from one row to the next, from a row's first to past its last
  std::uint64_t count_ = 0;
};

/// Source of sample<memory_view, Target>: rows of `data` [N, …] with labels [N] of any integer type if Target
/// is std::int64_t, or with rows of `targets` [N, …] if it is memory_view.
template <class Target>
class tensor_source {
  static constexpr bool labels = std::is_same_v<Target, std::int64_t>;

 public:
  tensor_source(const at::Tensor& data, const at::Tensor& targets);
  std::uint64_t size() const noexcept { return data_.size(); }
  sample<memory_view, Target> at(std::uint64_t i) const noexcept {
    if constexpr (labels)
      return {data_.at(i), targets_.integer(i)};
    else
      return {data_.at(i), targets_.at(i)};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    data_.prefetch(i, most);
    if constexpr (labels)
      targets_.prefetch_integer(i, most);
    else
      targets_.prefetch(i, most);
  }
  std::uint64_t fingerprint() const;

 private:
  tensor_rows data_, targets_;
};

}  // namespace detail

/// Tensors in memory as a source: `data` [N, …], integer labels `targets` [N]. Nothing is copied before
/// batch() writes each row into its slot, whatever the strides: each of the windows `x.unfold(0, 64,
/// 1).transpose(1, 2)` is assembled when its turn comes, and an expanded tensor takes no more memory than
/// before. (Labels of a type other than int64 are converted at once, and so is the result of at::imag() for a
/// conjugate.) `tensor_dataset<wick::memory_view>(data, targets)` takes targets of any type and shape,
/// [N, …], instead of labels. \throws wick::error when the numbers of rows differ, or a tensor isn't on the
/// CPU
template <class Target = std::int64_t>
detail::tensor_source<Target> tensor_dataset(const at::Tensor& data, const at::Tensor& targets) {
  constexpr bool known = std::is_same_v<Target, std::int64_t> || std::is_same_v<Target, memory_view>;
  static_assert(
      known,
      "wick: tensor_dataset() has labels, or with tensor_dataset<wick::memory_view>() targets of any "
      "type and shape; write one of the two");
  return {data, targets};
}

}  // namespace wick
