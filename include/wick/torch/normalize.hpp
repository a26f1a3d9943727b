/// \file
/// normalize() behind batch(): on whole tensors, on the device when transfer() came before.
#pragma once

#include <ATen/core/Tensor.h>

#include <wick/pipeline/context.hpp>
#include <wick/transforms/normalize.hpp>

namespace wick::detail {

/// uint8 [N, C, H, W] (any memory layout), [N, H, W, C] or, with one mean for all, any shape → float32 of the
/// same shape and strides, (x / 255 - mean) / std. Moving uint8 and normalizing on the device is the fast
/// order: a quarter of the bytes travel. \throws wick::error when no dimension has as many channels as there
/// are means
at::Tensor apply_stage(const normalize_stage& by, const at::Tensor& t, context&);

}  // namespace wick::detail
