// Implements torch/tensor_windows.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <wick/torch/detail/tensor.hpp>
#include <wick/torch/tensor_windows.hpp>

namespace wick::inline v0_1::detail {

inline series series_of_tensor(const at::Tensor& t, const std::string& name) {
  auto kept = std::make_shared<const at::Tensor>(rows_on_cpu(t, name));
  series s;
  s.type = dtype_of(kept->scalar_type());
  s.data = static_cast<const std::byte*>(kept->data_ptr());
  s.rows = static_cast<std::uint64_t>(kept->size(0));
  s.step = kept->stride(0);
  for (std::int64_t d = 1; d < kept->dim(); ++d) {
    s.row.push_back(kept->size(d));
    s.strides.push_back(kept->stride(d));
  }
  s.owner = std::move(kept);
  return s;
}

std::vector<series> series_access<at::Tensor>::of(const at::Tensor& one) {
  return {series_of_tensor(one, "windows: the series")};
}

std::vector<series> series_access<std::vector<at::Tensor>>::of(const std::vector<at::Tensor>& all) {
  std::vector<series> out;
  out.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    out.push_back(series_of_tensor(all[i], "windows: series " + std::to_string(i)));
  }
  return out;
}

}  // namespace wick::detail
