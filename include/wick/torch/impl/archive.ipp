// Implements torch/archive.hpp. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <cstring>

#include <ATen/ops/from_blob.h>
#include <c10/core/ScalarType.h>

#include <wick/pipeline/error.hpp>
#include <wick/torch/archive.hpp>
#include <wick/torch/detail/tensor.hpp>

namespace wick::inline v0_1::detail {

at::Tensor tensor_of_state(std::span<const std::byte> state) {
  return at::from_blob(const_cast<std::byte*>(state.data()), {static_cast<std::int64_t>(state.size())},
                       at::TensorOptions().dtype(at::kByte))
      .clone();
}

std::vector<std::byte> state_of_tensor(const at::Tensor& saved, bool found, const std::string& key) {
  const std::string where = "read_state: the archive's \"" + detail::printable(key) + "\" ";
  if (!found || !saved.defined()) {
    throw error("read_state: the archive has no tensor \"" + detail::printable(key) +
                "\"; give the key that it was written with, or begin the training without a state");
  }
  if (saved.scalar_type() != at::kByte || saved.dim() != 1) {
    throw error(where + "is a tensor of " + std::string(c10::toString(saved.scalar_type())) + " " +
                to_string(detail::shape_of(saved)) +
                ", and a state is a row of bytes; give the key that it was written with");
  }
  if (saved.numel() > static_cast<std::int64_t>(detail::loader_state::max_bytes)) {
    throw error(where + "has " + std::to_string(saved.numel()) + " bytes, and a state has at most " +
                std::to_string(detail::loader_state::max_bytes) + "; give the key that it was written with");
  }
  const at::Tensor row = saved.cpu().contiguous();
  std::vector<std::byte> out(static_cast<std::size_t>(row.numel()));
  if (!out.empty()) std::memcpy(out.data(), row.data_ptr(), out.size());
  return out;
}

}  // namespace wick::detail
