// Implements torch/tensor_batch.hpp. Included in exactly one file of a program.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <wick/torch/tensor_batch.hpp>

namespace wick::inline v0_1::detail {

at::Tensor tensor_output::make(slab memory, const column_description& about) {
  const shape sizes = about.extents(), strides = about.strides();
  const std::size_t bytes = static_cast<std::size_t>(sizes.count()) * size_of(about.type);
  const memory_block block = memory.detach();
  c10::DataPtr owner(block.data, block.context, block.free, at::kCPU);
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), bytes, std::move(owner)),
      c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(scalar_type_of(about.type)));
  made.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef(sizes.begin(), sizes.rank()),
                                                    at::IntArrayRef(strides.begin(), strides.rank()));
  return made;
}

}  // namespace wick::detail
