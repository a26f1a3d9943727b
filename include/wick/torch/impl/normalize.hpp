/// \file
/// The bodies of what torch/normalize.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/torch/normalize.hpp>
#include <wick/torch/tensor.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick::detail {

at::Tensor apply_stage(const normalize_stage& by, const at::Tensor& t, context&) {
  const int channels = by.count();
  const bool bytes = t.scalar_type() == at::kByte;
  if (!bytes && !t.is_floating_point()) {
    throw error(
        "normalize: a batch of " + std::string(c10::toString(t.scalar_type())) +
        ", of which it is not known what stands for 1; give it levels of uint8, or numbers in [0, 1]: "
        "wick::decode({.type = wick::dtype::float32})");
  }
  const double scale = bytes ? 1.0 / 255.0 : 1.0;
  at::Tensor out = t.to(at::kFloat, /*non_blocking=*/true, /*copy=*/true);
  if (channels == 1) {
    return out.mul_(scale / by.std()[0])
        .sub_(static_cast<double>(by.mean()[0]) / static_cast<double>(by.std()[0]));
  }
  const bool first = t.dim() >= 2 && t.size(1) == channels;
  if (first && t.dim() > 2 && t.size(-1) == channels) {
    throw error(
        "normalize: " + std::to_string(channels) + " means for a batch of " + to_string(shape_of(t)) +
        ", where the channels may be the second axis or the last; normalize the pictures before batch()");
  }
  const std::int64_t dim = first ? 1 : t.dim() - 1;
  if (t.dim() < 2 || t.size(dim) != channels) {
    throw error("normalize: " + std::to_string(channels) + " means for a batch of " + to_string(shape_of(t)) +
                "; give one for each channel, or one for all");
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const double deviation = static_cast<double>(by.std()[i]);
    out.select(dim, c).mul_(scale / deviation).sub_(static_cast<double>(by.mean()[i]) / deviation);
  }
  return out;
}

}  // namespace wick::detail
