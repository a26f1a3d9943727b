// Converts between wick's and Torch's shapes and types; makes tensors usable as fields of samples.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <wick/batch/detail/cloning.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/ext/cache_bytes.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

constexpr at::ScalarType scalar_type_of(dtype t) noexcept {
  switch (t) {
    case dtype::uint8:
      return at::kByte;
    case dtype::int8:
      return at::kChar;
    case dtype::int16:
      return at::kShort;
    case dtype::int32:
      return at::kInt;
    case dtype::int64:
      return at::kLong;
    case dtype::float16:
      return at::kHalf;
    case dtype::float32:
      return at::kFloat;
    case dtype::float64:
      return at::kDouble;
    case dtype::boolean:
      return at::kBool;
    case dtype::bfloat16:
      return at::kBFloat16;
  }
  return at::kByte;
}

/// \throws wick::error for a type that batches can't have (complex, quantized, …)
dtype dtype_of(at::ScalarType t);

inline shape shape_of(const at::Tensor& t) {
  shape s;
  for (const std::int64_t e : t.sizes()) s.push_back(e);
  return s;
}

/// Prepares `t`, whose rows [N, …] are read in place. `name` is for messages: "tensor_dataset: the first".
/// \throws wick::error when it has no rows, isn't strided, or isn't on the CPU
at::Tensor rows_on_cpu(const at::Tensor& t, const std::string& name);

/// A cache on disk stores CPU tensors, packed.
template <>
struct kept_access<at::Tensor> {
  /// \throws wick::error for a tensor on another device, a sparse one, or a type that batches can't have
  static void save(const at::Tensor& t, cache_writer& out);
  static at::Tensor load(cache_reader& in);
  static std::string_view name() noexcept { return "tensor 1"; }
};

/// A stage may return tensors: each is copied into its slot of the batch.
template <>
struct field_access<at::Tensor> {
  static shape extents(const at::Tensor& t) { return shape_of(t); }
  static dtype type(const at::Tensor& t) { return dtype_of(t.scalar_type()); }
  static void write_to(const at::Tensor& t, slot where);
};
template <>
inline constexpr bool is_column<at::Tensor> = true;
/// Copying a tensor shares its numbers, which a stage may change; so this clones it.
template <>
struct cloning<at::Tensor> {
  static constexpr bool possible = true;
  static at::Tensor of(const at::Tensor& t) { return t.clone(); }
};

template <class T>
concept range_of_values = requires(T& t) {
  { *std::begin(t) } -> std::same_as<std::remove_reference_t<decltype(*std::begin(t))>&>;
  std::end(t);
} && !std::is_arithmetic_v<std::remove_cvref_t<decltype(*std::begin(std::declval<T&>()))>>;
template <class T>
concept maybe_value = requires(T& t) {
  { t.has_value() } -> std::convertible_to<bool>;
  *t;
};

/// Calls f(at::Tensor&) for each tensor in a batch: itself, or its fields, elements, `data` and `target`,
/// recursively. Doesn't look into a user's class that isn't an aggregate and has other member names.
template <class Batch, class F>
void for_each_tensor(Batch& batch, F&& f) {
  if constexpr (std::is_same_v<Batch, at::Tensor>) {
    f(batch);
  } else if constexpr (maybe_value<Batch>) {
    if (batch.has_value()) detail::for_each_tensor(*batch, f);
  } else if constexpr (range_of_values<Batch>) {
    for (auto& each : batch) detail::for_each_tensor(each, f);
  } else if constexpr (composite<Batch>) {
    detail::with_fields(batch, [&](auto&... fields) { (detail::for_each_tensor(fields, f), ...); });
  } else if constexpr (requires {
                         batch.data;
                         batch.target;
                       }) {  // torch::data::Example
    detail::for_each_tensor(batch.data, f);
    detail::for_each_tensor(batch.target, f);
  }
}

}  // namespace wick::detail
