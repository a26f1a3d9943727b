// Implements torch/normalize_tensors.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <wick/pipeline/error.hpp>
#include <wick/torch/detail/tensor.hpp>
#include <wick/torch/normalize_tensors.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The dimension of the channels; -1 if one mean serves all.
std::int64_t channel_dimension(const at::Tensor& t, int channels) {
  if (channels == 1 || t.numel() == 0) return -1;  // empty: all of its samples were skipped
  const bool first = t.dim() > 2 && t.size(1) == channels;
  if (first && t.size(-1) == channels) {
    throw error(
        "normalize: " + std::to_string(channels) + " means for a batch of " + to_string(shape_of(t)) +
        ", where the channels may be the second axis or the last; normalize the pictures before batch()");
  }
  const std::int64_t dim = first ? 1 : t.dim() - 1;
  if (t.dim() < 2 || t.size(dim) != channels) {
    throw error("normalize: " + std::to_string(channels) + " means for a batch of " + to_string(shape_of(t)) +
                "; give one for each channel, or one for all");
  }
  return dim;
}

/// x * scale + shift is (x * unit - mean) / deviation.
struct scale_and_shift {
  double scale, shift;
};
scale_and_shift of_channel(const normalize_stage& by, std::size_t c, double unit) {
  const double deviation = by.std()[c];
  return {unit / deviation, -static_cast<double>(by.mean()[c]) / deviation};
}

/// The constants as tensors on a device, made on its stream.
struct device_constants {
  c10::Stream stream;
  double unit;
  std::vector<std::int64_t> shape;    // broadcasts over a batch
  at::Tensor host_scale, host_shift;  // kept, since the device may read them later
  at::Tensor scale, shift;
};
device_constants make_constants(const normalize_stage& by, c10::Stream stream, double unit,
                                std::vector<std::int64_t> shape) {
  const at::Tensor scale = at::empty(shape, at::kFloat), shift = at::empty(shape, at::kFloat);
  auto* const scales = static_cast<float*>(scale.data_ptr());
  auto* const shifts = static_cast<float*>(shift.data_ptr());
  for (std::size_t c = 0; c < static_cast<std::size_t>(by.count()); ++c) {
    const scale_and_shift k = of_channel(by, c, unit);
    scales[c] = static_cast<float>(k.scale);
    shifts[c] = static_cast<float>(k.shift);
  }
  const auto there = [&](const at::Tensor& t) { return t.to(stream.device(), /*non_blocking=*/true); };
  return {stream, unit, std::move(shape), scale, shift, there(scale), there(shift)};
}

at::Tensor normalized_on_cpu(const normalize_stage& by, const at::Tensor& t, std::int64_t dim, double unit) {
  at::Tensor out = t.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  for (std::size_t c = 0; c < static_cast<std::size_t>(by.count()); ++c) {
    const scale_and_shift k = of_channel(by, c, unit);
    (dim < 0 ? out : out.select(dim, static_cast<std::int64_t>(c))).mul_(k.scale).add_(k.shift);
  }
  return out;
}

}  // namespace

at::Tensor normalized(const normalize_stage& by, const at::Tensor& t, at::ScalarType type) {
  const bool bytes = t.scalar_type() == at::kByte;
  if (!bytes && !t.is_floating_point()) {
    throw error(
        "normalize: a batch of " + std::string(c10::toString(t.scalar_type())) +
        ", of which it is not known what stands for 1; give it levels of uint8, or numbers in [0, 1]: "
        "wick::decode({.type = wick::dtype::float32})");
  }
  const double unit = bytes ? 1.0 / 255.0 : 1.0;
  const std::int64_t dim = channel_dimension(t, by.count());
  if (t.device().is_cpu()) return normalized_on_cpu(by, t, dim, unit).to(type);

  std::vector<std::int64_t> shape(static_cast<std::size_t>(t.dim()), 1);
  if (dim >= 0) shape[static_cast<std::size_t>(dim)] = by.count();
  const c10::Stream stream = c10::impl::VirtualGuardImpl(t.device().type()).getStream(t.device());
  const auto constants = by.kept().get<device_constants>(
      [&](const device_constants& k) { return k.stream == stream && k.unit == unit && k.shape == shape; },
      [&] { return make_constants(by, stream, unit, shape); });
  at::Tensor out = at::empty_like(t, t.options().dtype(type));
  at::addcmul_out(out, constants->shift, t, constants->scale);
  return out;
}

at::Tensor apply_stage(const normalize_stage& by, const at::Tensor& t, context&) {
  return normalized(by, t, at::kFloat);
}

normalize_as_stage::normalize_as_stage(normalize_stage by, at::ScalarType type)
    : by_(std::move(by)), type_(type) {
  if (!c10::isFloatingType(type)) {
    throw error("normalize: to " + std::string(c10::toString(type)) +
                "; write torch::kHalf, torch::kBFloat16, torch::kFloat, or torch::kDouble");
  }
}

}  // namespace wick::detail
