// Implements torch/detail/tensor.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include <ATen/ops/empty.h>
#include <c10/core/Layout.h>

#include <wick/pipeline/error.hpp>
#include <wick/sources/memory_view.hpp>
#include <wick/torch/detail/tensor.hpp>

namespace wick::inline v0_1::detail {

dtype dtype_of(at::ScalarType t) {
  switch (t) {
    case at::kByte:
      return dtype::uint8;
    case at::kChar:
      return dtype::int8;
    case at::kShort:
      return dtype::int16;
    case at::kInt:
      return dtype::int32;
    case at::kLong:
      return dtype::int64;
    case at::kHalf:
      return dtype::float16;
    case at::kFloat:
      return dtype::float32;
    case at::kDouble:
      return dtype::float64;
    case at::kBool:
      return dtype::boolean;
    case at::kBFloat16:
      return dtype::bfloat16;
    default:
      throw error(std::string("a tensor of ") + c10::toString(t) +
                  " can't be batched; convert it to float or int64");
  }
}

at::Tensor rows_on_cpu(const at::Tensor& t, const std::string& name) {
  if (!t.defined() || t.dim() == 0) throw error(name + " has no first dimension to take samples from");
  if (!t.device().is_cpu()) {
    throw error(name + " is on " + t.device().str() +
                "; the source reads from the CPU, transfer() takes batches to the device");
  }
  if (t.layout() != at::kStrided) {
    throw error(name + " is sparse, so its rows don't lie in memory; give it as .to_dense()");
  }
  return t.resolve_neg();
}

void kept_access<at::Tensor>::save(const at::Tensor& t, cache_writer& out) {
  if (!t.defined()) throw error("a cache on disk can't keep a tensor that is not defined");
  if (!t.device().is_cpu() || t.layout() != at::kStrided) {
    throw error(
        "a cache on disk keeps dense tensors of the CPU; write it before the stage that moves them, or "
        "give it .cpu() or .to_dense()");
  }
  out.number(static_cast<std::uint8_t>(dtype_of(t.scalar_type())));
  const at::Tensor packed = t.resolve_neg().contiguous();
  out.number(std::uint64_t{packed.sizes().size()});
  for (const std::int64_t extent : packed.sizes()) out.number(extent);
  out.put(packed.data_ptr(), packed.nbytes());
}

at::Tensor kept_access<at::Tensor>::load(cache_reader& in) {
  const auto type = in.number<std::uint8_t>();
  if (type > static_cast<std::uint8_t>(dtype::bfloat16)) throw cache_reader::unavailable();
  std::vector<std::int64_t> extents(in.count());
  std::size_t all = size_of(static_cast<dtype>(type));
  for (std::int64_t& extent : extents) {
    extent = in.number<std::int64_t>();
    if (extent < 0 || __builtin_mul_overflow(all, static_cast<std::size_t>(extent), &all))
      throw cache_reader::unavailable();
  }
  if (all > in.left()) throw cache_reader::unavailable();
  at::Tensor out = at::empty(extents, scalar_type_of(static_cast<dtype>(type)));
  in.take(out.data_ptr(), all);
  return out;
}

void field_access<at::Tensor>::write_to(const at::Tensor& t, slot where) {
  if (!t.device().is_cpu()) {
    throw error("a tensor on " + t.device().str() +
                " can't be batched; keep samples on the CPU and write transfer() "
                "after batch()");
  }
  const at::Tensor plain = t.resolve_neg();  // at::imag of a conjugate is a view that needs negating
  if (plain.is_contiguous()) {
    std::memcpy(where.data, plain.data_ptr(), static_cast<std::size_t>(plain.nbytes()));
  } else if (plain.numel() != 0) {
    shape strides;
    for (const std::int64_t s : plain.strides()) strides.push_back(s);
    const row_format format(shape_of(plain), dtype_of(plain.scalar_type()), strides);
    memory_view(static_cast<const std::byte*>(plain.data_ptr()), format).write_to(where);
  }
}

}  // namespace wick::detail
