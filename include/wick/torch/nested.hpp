// Padded columns as Torch's nested tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <wick/batch/ragged.hpp>

namespace wick::inline v0_1 {

/// Returns a nested tensor of the samples' own values, without the padding, for nn::TransformerEncoder's fast
/// path and scaled dot-product attention. It copies the values, on their device. It waits for `lengths` on a
/// device: call it before transfer(), or with lengths that are still on the CPU. \throws wick::error when
/// there is no sample, when there isn't one length for each sample, or when a length exceeds `values`
at::Tensor nested(const padded<at::Tensor>& field);

}  // namespace wick
