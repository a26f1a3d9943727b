/// \file
/// batch(n) with tensors: the memory that the decoder wrote becomes a tensor, without a copy.
#pragma once

#include <cstddef>
#include <utility>

#include <ATen/core/Tensor.h>

#include <wick/batch/batch.hpp>
#include <wick/batch/pack.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/torch/detail/tensor.hpp>

namespace wick::inline v0_1 {

namespace detail {

struct tensor_output {
  /// Does the same as at::from_blob(), with less to allocate here and free in the loop's thread: batches of
  /// small samples are made in microseconds. And the storage owns a pinned block as if Torch had made it:
  /// Torch recognizes its context when something copies from it, even from a view, and reuses the block only
  /// when the device is done with that.
  static at::Tensor make(slab memory, const column_description& about);
};

}  // namespace detail

/// What batch(n) gives for a source of samples, for loaders as members: `wick::loader<wick::tensor_batch>`.
using tensor_batch = sample<at::Tensor, at::Tensor>;

/// Batches of `size` samples as tensors: sample<Tensor, Tensor> (`batch.data`, `batch.target`) of
/// sample<picture, label>, field by field for tuples and plain structs; [N, …] each, pictures [N, C, H, W],
/// contiguous, so that `x.view({N, -1})` in a model works; labels int64 [N]. `.layout =
/// layout::channels_last` pays where convolutions prefer that memory: on a GPU with mixed precision, and on
/// many CPUs. Pictures are uint8 until normalize(): a model of floats refuses them, in Torch's words
/// ("expected scalar type Byte but found Float", "Input type (unsigned char) and bias type (float) should be
/// the same"). The memory goes back to the loader's pool with the last tensor that uses it. With shard(),
/// `size` counts the samples of all ranks together. \throws wick::error when size is 0
inline detail::batch_stage<detail::tensor_output> batch(std::size_t size, batch_options options = {}) {
  return {size, options};
}

/// The same where std::vector fields become padded<Tensor>: batch(8, {.ragged = pad_with(0)}), `values`
/// [N, L, …] and `lengths` int64 [N]. Each rank fills up to the longest of its own share. \throws wick::error
/// when size is 0
inline detail::ragged_batch_stage<detail::tensor_output> batch(std::size_t size,
                                                               ragged_batch_options options) {
  return {size, options};
}

/// The same where std::vector fields become jagged<Tensor>: batch(8, {.ragged = concatenated}), `values`
/// [sum of the lengths, …] and `offsets` int64 [N + 1], without padding. \throws wick::error when size is 0
inline detail::jagged_batch_stage<detail::tensor_output> batch(std::size_t size,
                                                               jagged_batch_options options) {
  return {size, options};
}

/// The same as a struct of yours: with `struct steps { torch::Tensor observation, reward; };`,
/// `batch<steps>(64)` gives `batch.observation` and `batch.reward`. The sample's fields are put into those of
/// `Named` by their order; where a field has fields itself, those. That there are as many, and of these types
/// (std::vector<std::string> for strings), is checked when it is compiled; what they are called can't be.
template <class Named>
detail::batch_stage<detail::tensor_output, Named> batch(std::size_t size, batch_options options = {}) {
  return {size, options};
}
/// And as a struct of yours whose fields of any length are padded<Tensor>.
template <class Named>
detail::ragged_batch_stage<detail::tensor_output, Named> batch(std::size_t size,
                                                               ragged_batch_options options) {
  return {size, options};
}
/// And as a struct of yours whose fields of any length are jagged<Tensor>.
template <class Named>
detail::jagged_batch_stage<detail::tensor_output, Named> batch(std::size_t size,
                                                               jagged_batch_options options) {
  return {size, options};
}
/// Batches of `rows` rows of `length` places, in which samples of std::vector fields lie one behind the
/// other, as packed<…, Tensor>: for attention that keeps them apart, by a mask of `segments` or by
/// `cu_seqlens`. Rows are fitted once, by the lengths of all samples (a member `length(i)` of the source, or
/// `.lengths`): the longest first, each into the row where it leaves the least room. Behind shuffle() each
/// epoch exchanges samples of one length and shuffles the rows. After mix(), weighted(), and other orders
/// that give other samples in each epoch, rows follow the order, and are planned when their epoch begins.
/// With shard(), `rows` counts those of all ranks together. 24 bytes a sample. A sample that is not as long
/// as planned is an error; one that is left out (on_error::skip) is padding in its place. \throws
/// wick::error, here or in the loader
inline detail::pack_stage<detail::tensor_output> pack(std::size_t rows, std::size_t length,
                                                      pack_options options = {}) {
  return {rows, length, std::move(options)};
}

}  // namespace wick
