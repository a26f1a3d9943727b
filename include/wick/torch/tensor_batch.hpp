// batch(n) with tensors: the memory that the decoder wrote becomes a tensor, without a copy.
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
  /// small samples are made in microseconds. Also, the storage owns a pinned block as if Torch had made it:
  /// Torch recognizes its context when something copies from it, even from a view, and reuses the block only
  /// when the device is done with the copy.
  static at::Tensor make(slab memory, const column_description& about);
};

}  // namespace detail

/// The batch that batch(n) makes from a source of samples, for a loader as a member:
/// `wick::loader<wick::tensor_batch>`.
using tensor_batch = sample<at::Tensor, at::Tensor>;

/// Batches of `size` samples as tensors: a sample<image, label> becomes a sample<Tensor, Tensor>
/// (`batch.data`, `batch.target`), and tuples and plain structs become tensors field by field, [N, …] each.
/// Images are [N, C, H, W], contiguous, so that `x.view({N, -1})` in a model works; labels are int64 [N].
/// `.layout = layout::channels_last` pays off where convolutions prefer that layout: on a GPU with mixed
/// precision, and on many CPUs. Images are uint8 until normalize(). A float model refuses them with Torch's
/// messages "expected scalar type Byte but found Float" or
/// "Input type (unsigned char) and bias type (float) should be the same". The memory returns to the loader's
/// pool with the last tensor that uses it. With shard(), `size` counts the samples of all ranks together.
/// \throws wick::error when size is 0
inline detail::batch_stage<detail::tensor_output> batch(std::size_t size, batch_options options = {}) {
  return {size, options};
}

/// The same with std::vector fields as padded<Tensor>: batch(8, {.ragged = pad_with(0)}) gives `values`
/// [N, L, …] and `lengths` int64 [N]. Each rank pads to the longest sample of its own share. \throws
/// wick::error when size is 0
inline detail::ragged_batch_stage<detail::tensor_output> batch(std::size_t size,
                                                               ragged_batch_options options) {
  return {size, options};
}

/// The same with std::vector fields as jagged<Tensor>: batch(8, {.ragged = concatenated}) gives `values`
/// [sum of the lengths, …] and `offsets` int64 [N + 1], without padding. \throws wick::error when size is 0
inline detail::jagged_batch_stage<detail::tensor_output> batch(std::size_t size,
                                                               jagged_batch_options options) {
  return {size, options};
}

/// The same as a struct of yours: with `struct steps { torch::Tensor observation, reward; };`,
/// `batch<steps>(64)` gives `batch.observation` and `batch.reward`. The sample's fields go into those of
/// `Named` in their order; a field that has fields itself counts as those. The compiler checks the number and
/// the types of the fields (std::vector<std::string> for strings), but can't check their names.
template <class Named>
detail::batch_stage<detail::tensor_output, Named> batch(std::size_t size, batch_options options = {}) {
  return {size, options};
}
/// The same as a struct of yours whose variable-length fields are padded<Tensor>.
template <class Named>
detail::ragged_batch_stage<detail::tensor_output, Named> batch(std::size_t size,
                                                               ragged_batch_options options) {
  return {size, options};
}
/// The same as a struct of yours whose variable-length fields are jagged<Tensor>.
template <class Named>
detail::jagged_batch_stage<detail::tensor_output, Named> batch(std::size_t size,
                                                               jagged_batch_options options) {
  return {size, options};
}
/// Packs samples of std::vector fields one after another into batches of `rows` rows of `length` places, as
/// packed<…, Tensor>: for attention that keeps the samples apart, by a mask of `segments` or by `cu_seqlens`.
/// Rows are planned once, from the lengths of all samples (a member `length(i)` of the source, or
/// `.lengths`): the longest first, each into the row where it leaves the least room. After shuffle(), each
/// epoch exchanges samples of one length and shuffles the rows. After mix(), weighted(), and other orders
/// that give other samples in each epoch, rows follow the order, and are planned when their epoch begins.
/// With shard(), `rows` counts the rows of all ranks together. The plan takes 24 bytes a sample. A sample
/// that isn't as long as planned is an error; a skipped sample (on_error::skip) is padding in its place.
/// \throws wick::error, here or in the loader
inline detail::pack_stage<detail::tensor_output> pack(std::size_t rows, std::size_t length,
                                                      pack_options options = {}) {
  return {rows, length, std::move(options)};
}

}  // namespace wick
