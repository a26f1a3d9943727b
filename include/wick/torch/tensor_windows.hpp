// Overlapping windows over tensors as a source: sources/windows.hpp for rows that Torch has in memory.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <wick/sources/windows.hpp>

namespace wick::inline v0_1 {

namespace detail {

template <>
struct series_access<std::vector<at::Tensor>> {
  static std::vector<series> of(const std::vector<at::Tensor>& all);
};
template <>
struct series_access<at::Tensor> {
  static std::vector<series> of(const at::Tensor& one);
};

}  // namespace detail

/// Windows over a series [T, …] on the CPU: sample i is series[i * stride : i * stride + length], and a batch
/// is [N, length, …]. Nothing is copied before batch() writes a window into its slot, whatever the strides:
/// overlapping windows take no more memory than the series. To add a forecast target, write
/// `windows(series, 64).target(16)`: see detail::window_source::target(). \throws wick::error for a length or
/// stride below 1, a series shorter than a window, or a series that isn't on the CPU
inline detail::window_source windows(const at::Tensor& series, std::int64_t length, std::int64_t stride = 1) {
  return {detail::series_access<at::Tensor>::of(series), length, stride};
}

/// The windows of several series, [T1, …], [T2, …], …, one series after another. No window reaches from one
/// series into the next, and a series that is shorter than a window has none.
inline detail::window_source windows(const std::vector<at::Tensor>& series, std::int64_t length,
                                     std::int64_t stride = 1) {
  return {detail::series_access<std::vector<at::Tensor>>::of(series), length, stride};
}

}  // namespace wick
