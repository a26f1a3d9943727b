// Implements torch/tensor_dataset.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/torch/detail/tensor.hpp>
#include <wick/torch/tensor_dataset.hpp>

namespace wick::inline v0_1::detail {

tensor_rows::tensor_rows(const at::Tensor& t, const char* what) {
  tensor_ = rows_on_cpu(t, std::string("tensor_dataset: ") + what);
  const dtype type = dtype_of(tensor_.scalar_type());
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

std::uint64_t tensor_rows::fingerprint() const {
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

inline at::Tensor labels_in(const at::Tensor& t) {
  if (!t.defined()) return t;
  if (t.dim() != 1 || !c10::isIntegralType(t.scalar_type(), /*includeBool=*/true)) {
    throw error("tensor_dataset: labels are integers of shape [N], found " +
                std::string(c10::toString(t.scalar_type())) + " of " + to_string(shape_of(t)) +
                "; write tensor_dataset<wick::memory_view>(data, targets) for targets of another kind");
  }
  return t.to(at::kLong);
}

template <class Target>
tensor_source<Target>::tensor_source(const at::Tensor& data, const at::Tensor& targets)
    : data_(data, "the first"), targets_(labels ? labels_in(targets) : targets, "the second") {
  if (data_.size() != targets_.size()) {
    throw error("tensor_dataset: " + std::to_string(data_.size()) + " rows of data and " +
                std::to_string(targets_.size()) + (labels ? " labels" : " of targets") +
                "; there must be one for each");
  }
}

template <class Target>
std::uint64_t tensor_source<Target>::fingerprint() const {
  return fingerprint_hash().add(data_.fingerprint()).add(targets_.fingerprint()).value();
}

template class tensor_source<std::int64_t>;
template class tensor_source<memory_view>;

}  // namespace wick::detail
