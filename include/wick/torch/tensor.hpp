/// \file
/// Between wick's shapes and types and Torch's; tensors as fields of samples.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorOptions.h>

#include <wick/flow/error.hpp>
#include <wick/flow/fields.hpp>
#include <wick/flow/shape.hpp>

namespace wick {

constexpr at::ScalarType scalar_type_of(dtype t) noexcept {
  switch (t) {
    case dtype::uint8: return at::kByte;
    case dtype::int8: return at::kChar;
    case dtype::int16: return at::kShort;
    case dtype::int32: return at::kInt;
    case dtype::int64: return at::kLong;
    case dtype::float16: return at::kHalf;
    case dtype::float32: return at::kFloat;
    case dtype::float64: return at::kDouble;
    case dtype::boolean: return at::kBool;
  }
  return at::kByte;
}

/// \throws wick::error for a type that batches can't have (complex, quantised, bfloat16, …)
inline dtype dtype_of(at::ScalarType t) {
  switch (t) {
    case at::kByte: return dtype::uint8;
    case at::kChar: return dtype::int8;
    case at::kShort: return dtype::int16;
    case at::kInt: return dtype::int32;
    case at::kLong: return dtype::int64;
    case at::kHalf: return dtype::float16;
    case at::kFloat: return dtype::float32;
    case at::kDouble: return dtype::float64;
    case at::kBool: return dtype::boolean;
    default: throw error(std::string("a tensor of ") + c10::toString(t) + " can't be batched; convert it to float or int64");
  }
}

inline shape shape_of(const at::Tensor& t) {
  shape s;
  for (const std::int64_t e : t.sizes()) s.push_back(e);
  return s;
}

/// A stage may give tensors: each is copied into its slot of the batch.
template <>
struct field_access<at::Tensor> {
  static shape extents(const at::Tensor& t) { return shape_of(t); }
  static dtype type(const at::Tensor& t) { return dtype_of(t.scalar_type()); }
  static void write_to(const at::Tensor& t, slot where) {
    if (!t.device().is_cpu()) {
      throw error("a tensor on " + t.device().str() + " can't be batched; keep samples on the CPU and write transfer() "
                  "behind batch()");
    }
    const at::Tensor packed = t.contiguous();
    std::memcpy(where.data, packed.data_ptr(), static_cast<std::size_t>(packed.numel()) * packed.element_size());
  }
};
static_assert(batchable<at::Tensor>);

namespace detail {

/// Calls f(at::Tensor&) for each tensor in a batch: itself, or its fields and theirs.
template <class Batch, class F>
void for_each_tensor(Batch& batch, F&& f) {
  if constexpr (std::is_same_v<Batch, at::Tensor>) {
    f(batch);
  } else if constexpr (composite<Batch>) {
    with_fields(batch, [&](auto&... fields) { (for_each_tensor(fields, f), ...); });
  }
}

}  // namespace detail
}  // namespace wick
