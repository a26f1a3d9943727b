/// \file
/// Tensors in memory as a source, as TensorDataset in Python: row i is sample i.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>

#include <wick/read/memory_view.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/source.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

namespace detail {

/// The rows of a tensor [N, …] on the CPU, where they lie: each is copied when it is written into its slot.
class tensor_rows {
 public:
  tensor_rows(const at::Tensor& t, const char* what) {
    const std::string name = std::string("tensors: ") + what;
    if (!t.defined() || t.dim() == 0) throw error(name + " has no first dimension to take samples from");
    if (!t.device().is_cpu()) {
      throw error(name + " is on " + t.device().str() +
                  "; the source reads from the CPU, transfer() takes batches to the device");
    }
    if (t.layout() != at::kStrided) {
      throw error(name + " is sparse, so its rows don't lie in memory; give it as .to_dense()");
    }
    const dtype type = dtype_of(t.scalar_type());
    tensor_ = t.resolve_neg();
    count_ = static_cast<std::uint64_t>(tensor_.size(0));
    shape row, strides;
    for (std::int64_t d = 1; d < tensor_.dim(); ++d) {
      row.push_back(tensor_.size(d));
      strides.push_back(tensor_.stride(d));
    }
    format_ = std::make_shared<const row_format>(row, type, strides);
    data_ = static_cast<const std::byte*>(tensor_.data_ptr());
    step_ = static_cast<std::size_t>(tensor_.stride(0)) * size_of(type);
    span_ = format_->span();
  }
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
  /// Of how many there are, of what kind, and of the first 64 KiB: the same for the same numbers, however
  /// they lie.
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    h.add(count_).add(static_cast<std::uint64_t>(format_->type));
    for (const std::int64_t e : format_->extents) h.add(static_cast<std::uint64_t>(e));
    const std::size_t bytes = format_->bytes;
    const std::size_t most = std::min<std::size_t>(count_ * bytes, 1 << 16);
    if (format_->packed && (step_ == bytes || most <= bytes)) {
      h.add(std::string_view(reinterpret_cast<const char*>(data_), most));
    } else {
      std::vector<std::byte> rows((most + bytes - 1) / bytes * bytes);
      for (std::size_t at = 0; at < rows.size(); at += bytes) {
        this->at(at / bytes).write_to({rows.data() + at, false});
      }
      h.add(std::string_view(reinterpret_cast<const char*>(rows.data()), most));
    }
    return h.value();
  }

 private:
  at::Tensor tensor_;
  std::shared_ptr<const row_format> format_;
  const std::byte* data_ = nullptr;
  std::size_t step_ = 0, span_ = 0;  // bytes from one row to the next, from a row's first to behind its last
  std::uint64_t count_ = 0;
};

/// Source of sample<memory_view, std::int64_t>: rows of `data` [N, …] with labels [N] of any integer type.
class labelled_tensors {
 public:
  labelled_tensors(const at::Tensor& data, const at::Tensor& targets)
      : data_(data, "the first"), targets_(labels(targets), "the second") {
    if (data_.size() != targets_.size()) {
      throw error("tensors: " + std::to_string(data_.size()) + " rows of data and " +
                  std::to_string(targets_.size()) + " labels; there must be one for each");
    }
  }
  std::uint64_t size() const noexcept { return data_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept {
    return {data_.at(i), targets_.integer(i)};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    data_.prefetch(i, most);
    targets_.prefetch_integer(i, most);
  }
  std::uint64_t fingerprint() const {
    return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
  }

 private:
  static at::Tensor labels(const at::Tensor& t) {
    if (!t.defined()) return t;
    if (t.dim() != 1 || !c10::isIntegralType(t.scalar_type(), /*includeBool=*/true)) {
      throw error("tensors: labels are integers of shape [N], found " +
                  std::string(c10::toString(t.scalar_type())) + " of " + to_string(shape_of(t)) +
                  "; use tensor_pairs() for targets of another kind");
    }
    return t.to(at::kLong);
  }

  detail::tensor_rows data_, targets_;
};

/// Source of sample<memory_view, memory_view>: rows of two tensors with the same first dimension.
class paired_tensors {
 public:
  paired_tensors(const at::Tensor& data, const at::Tensor& targets)
      : data_(data, "the first"), targets_(targets, "the second") {
    if (data_.size() != targets_.size()) {
      throw error("tensor_pairs: " + std::to_string(data_.size()) + " rows of data and " +
                  std::to_string(targets_.size()) + " of targets; there must be one for each");
    }
  }
  std::uint64_t size() const noexcept { return data_.size(); }
  sample<memory_view, memory_view> at(std::uint64_t i) const noexcept {
    return {data_.at(i), targets_.at(i)};
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    data_.prefetch(i, most);
    targets_.prefetch(i, most);
  }
  std::uint64_t fingerprint() const {
    return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
  }

 private:
  detail::tensor_rows data_, targets_;
};

}  // namespace detail

/// Tensors in memory as a source: `data` [N, …], integer labels `targets` [N]. Nothing is copied before
/// batch(), which writes each row into its slot, whatever the strides: of the windows `x.unfold(0, 64,
/// 1).transpose(1, 2)` each is put together when its turn comes, and of an expanded tensor only what there is
/// takes memory. (Labels of another type than int64 are converted at once, and so is what at::imag() gives of
/// a conjugate.) \throws wick::error when the numbers of rows differ or a tensor is not on the CPU
inline detail::labelled_tensors tensors(const at::Tensor& data, const at::Tensor& targets) {
  return {data, targets};
}
/// The same as tensors(), with targets of any type and shape, [N, …].
inline detail::paired_tensors tensor_pairs(const at::Tensor& data, const at::Tensor& targets) {
  return {data, targets};
}

}  // namespace wick
