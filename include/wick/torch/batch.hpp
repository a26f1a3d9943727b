/// \file
/// batch(n) with tensors: the memory that the decoder wrote becomes a tensor, without a copy.
#pragma once

#include <cstddef>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <wick/flow/batch.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

struct tensor_output {
  static at::Tensor make(slab memory, const column_description& about) {
    const shape sizes = about.extents(), strides = about.strides();
    std::byte* const data = memory.data();
    slab::block* const block = memory.release();
    return at::from_blob(
        data, at::IntArrayRef(sizes.begin(), sizes.rank()), at::IntArrayRef(strides.begin(), strides.rank()),
        [block](void*) { slab::give_back(block); }, at::TensorOptions().dtype(scalar_type_of(about.type)));
  }
};

/// Batches of `size` samples: sample<Tensor, Tensor> (`batch.data`, `batch.target`) of sample<picture, label>, field by
/// field for tuples and plain structs; [N, …] each, pictures [N, C, H, W] uint8 in channels-last memory unless the
/// options say another layout, labels int64 [N]. The memory goes back to the loader's pool with the last tensor that
/// uses it. With shard(), `size` counts the samples of all ranks together.
/// \throws wick::error when size is 0
inline batch_stage<tensor_output> batch(std::size_t size, batch_options options = {}) { return {size, options}; }

}  // namespace wick
