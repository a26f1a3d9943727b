// Implements torch/nested.hpp. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>  // List.h needs it, but doesn't include it
#include <ATen/ops/_nested_tensor_from_tensor_list.h>

#include <wick/pipeline/error.hpp>
#include <wick/torch/detail/tensor.hpp>
#include <wick/torch/nested.hpp>

namespace wick::inline v0_1 {

at::Tensor nested(const padded<at::Tensor>& field) {
  const at::Tensor lengths = field.lengths.to(at::kCPU, at::kLong).contiguous();
  const at::Tensor& values = field.values;
  if (lengths.dim() != 1 || values.dim() < 2 || values.size(0) != lengths.size(0) || values.size(0) == 0) {
    throw error("nested(): values of " + to_string(detail::shape_of(values)) + " with lengths of " +
                to_string(detail::shape_of(lengths)) + "; give [N, L, …] and [N], N of at least 1");
  }
  std::vector<at::Tensor> rows;
  rows.reserve(static_cast<std::size_t>(values.size(0)));
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const std::int64_t length = lengths.data_ptr<std::int64_t>()[i];
    if (length < 0 || length > values.size(1)) {
      throw error("nested(): sample " + std::to_string(i) + " of the batch is to have " +
                  std::to_string(length) + " of " + std::to_string(values.size(1)) +
                  " places; give the lengths that came with the values");
    }
    rows.push_back(values.select(0, i).narrow(0, 0, length));
  }
  return at::_nested_tensor_from_tensor_list(rows);
}

}  // namespace wick
