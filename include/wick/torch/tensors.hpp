/// \file
/// Tensors in memory as a source, as TensorDataset in Python: row i is sample i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

#include <wick/flow/fingerprint.hpp>
#include <wick/flow/sample.hpp>
#include <wick/flow/source.hpp>
#include <wick/read/memory_view.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

namespace detail {

/// The rows of a tensor [N, …], packed, on the CPU.
class tensor_rows {
 public:
  tensor_rows(const at::Tensor& t, const char* what) {
    if (!t.defined() || t.dim() == 0) {
      throw error(std::string("tensors: ") + what + " has no first dimension to take samples from");
    }
    if (!t.device().is_cpu()) {
      throw error(std::string("tensors: ") + what + " is on " + t.device().str() + "; the source reads from the CPU, "
                  "transfer() takes batches to the device");
    }
    tensor_ = t.contiguous();
    count_ = static_cast<std::uint64_t>(tensor_.size(0));
    shape row;
    for (std::int64_t d = 1; d < tensor_.dim(); ++d) row.push_back(tensor_.size(d));
    format_ = std::make_shared<const row_format>(row, dtype_of(tensor_.scalar_type()));
    data_ = static_cast<const std::byte*>(tensor_.data_ptr());
    bytes_ = format_->bytes;
  }
  std::uint64_t size() const noexcept { return count_; }
  memory_view at(std::uint64_t i) const noexcept { return {data_ + i * bytes_, *format_}; }
  void prefetch(std::uint64_t i) const noexcept {
    prefetch_bytes(data_ + i * bytes_, bytes_);
  }
  const std::int64_t* integers() const noexcept { return reinterpret_cast<const std::int64_t*>(data_); }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    h.add(count_).add(static_cast<std::uint64_t>(format_->type));
    for (const std::int64_t e : format_->extents) h.add(static_cast<std::uint64_t>(e));
    h.add(std::string_view(reinterpret_cast<const char*>(data_), std::min<std::size_t>(count_ * bytes_, 1 << 16)));
    return h.value();
  }

 private:
  at::Tensor tensor_;
  std::shared_ptr<const row_format> format_;
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace detail

/// Source of sample<memory_view, std::int64_t>: rows of `data` [N, …] with labels [N] of any integer type.
class labelled_tensors {
 public:
  labelled_tensors(const at::Tensor& data, const at::Tensor& targets)
      : data_(data, "the first"), targets_(labels(targets), "the second") {
    if (data_.size() != targets_.size()) {
      throw error("tensors: " + std::to_string(data_.size()) + " rows of data and " + std::to_string(targets_.size()) +
                  " labels; there must be one for each");
    }
  }
  std::uint64_t size() const noexcept { return data_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept {
    return {data_.at(i), targets_.integers()[i]};
  }
  void prefetch(std::uint64_t i) const noexcept {
    data_.prefetch(i);
    prefetch_bytes(targets_.integers() + i, sizeof(std::int64_t));
  }
  std::uint64_t fingerprint() const {
    return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
  }

 private:
  static at::Tensor labels(const at::Tensor& t) {
    if (!t.defined()) return t;
    if (t.dim() != 1 || !c10::isIntegralType(t.scalar_type(), /*includeBool=*/true)) {
      throw error("tensors: labels are integers of shape [N], found " + std::string(c10::toString(t.scalar_type())) +
                  " of " + to_string(shape_of(t)) + "; use tensor_pairs() for targets of another kind");
    }
    return t.to(at::kLong);
  }

  detail::tensor_rows data_, targets_;
};
static_assert(source<labelled_tensors>);

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
  sample<memory_view, memory_view> at(std::uint64_t i) const noexcept { return {data_.at(i), targets_.at(i)}; }
  void prefetch(std::uint64_t i) const noexcept {
    data_.prefetch(i);
    targets_.prefetch(i);
  }
  std::uint64_t fingerprint() const {
    return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
  }

 private:
  detail::tensor_rows data_, targets_;
};
static_assert(source<paired_tensors>);

/// Tensors in memory as a source: `data` [N, …], integer labels `targets` [N]. Nothing is copied before batch(), which
/// writes each row into its slot.
/// \throws wick::error when the numbers of rows differ or a tensor is not on the CPU
inline labelled_tensors tensors(const at::Tensor& data, const at::Tensor& targets) { return {data, targets}; }
/// The same with targets of any type and shape, [N, …].
inline paired_tensors tensor_pairs(const at::Tensor& data, const at::Tensor& targets) { return {data, targets}; }

}  // namespace wick
