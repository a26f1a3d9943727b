/// \file
/// Padded columns as Torch's nested tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <wick/batch/ragged.hpp>

namespace wick::inline v0_1 {

/// A nested tensor of the samples' own values, without the padding: what nn::TransformerEncoder's fast path
/// and scaled dot-product attention take. Copies them, on the device where they are. `lengths` on a device is
/// waited for: make it before transfer(), or of lengths that are still on the CPU. \throws wick::error when
/// there is no sample, or `lengths` is not as long as `values` or exceeds it
at::Tensor nested(const padded<at::Tensor>& field);

}  // namespace wick
