// The values of a loader as Python objects: arrays without a copy, tuples, lists, and dicts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/any_length.hpp>
#include <wick/batch/batch.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/batch/with_index.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// LibTorch's tensor, recognized by its members, so that this header needs no header of LibTorch.
template <class T>
concept device_tensor = requires(const T& t) {
  t.strides();
  t.data_ptr();
  t.device().is_cuda();
  t.resolve_neg();
  field_access<T>::type(t);
};

}  // namespace wick::detail

namespace wick::inline v0_1::python {

/// The Python type of arrays: numpy.ndarray or torch.Tensor.
enum class tensors : std::uint8_t { numpy, torch };

/// The names of a struct's fields in Python, where a batch of the struct is a dict:
///
///     template <>
///     inline constexpr std::array wick::python::names<steps>{"observation", "reward"};
template <class T>
inline constexpr std::array<const char*, 0> names{};

template <class Value, class Index, class Key>
inline constexpr std::array names<indexed<Value, Index, Key>>{"value", "index", "key"};
template <class Index, class Key>
inline constexpr std::array names<indexed<void, Index, Key>>{"index", "key"};
template <class Column>
inline constexpr std::array names<padded<Column>>{"values", "lengths"};
template <class Column>
inline constexpr std::array names<jagged<Column>>{"values", "offsets"};
template <class Values, class Column>
inline constexpr std::array names<packed<Values, Column>>{"values", "segments", "positions", "cu_seqlens",
                                                          "max_seqlen"};

/// Makes a Python object of a value: `static nanobind::object make(T&& value, tensors as)`, called with the
/// GIL held. Specialize it for a type of yours.
template <class T>
struct to_python;

/// Shares the array's memory, which returns to the loader's pool with the last object that refers to it.
/// \throws wick::error for NumPy and bfloat16
template <>
struct to_python<array> {
  static nanobind::object make(array&& value, tensors as);
};
/// Shares a tensor's memory, on the CPU or on CUDA. Build the module with the LibTorch of Python's PyTorch,
/// so that it shares PyTorch's streams and memory. \throws wick::error for NumPy with bfloat16 or with memory
/// of a device; for devices other than the CPU and CUDA
template <detail::device_tensor T>
struct to_python<T> {
  static nanobind::object make(T&& value, tensors as);
};
/// Bytes that aren't UTF-8 become lone surrogates, as in file names: os.fsencode() restores the bytes.
template <>
struct to_python<std::string> {
  static nanobind::object make(std::string&& value, tensors as);
};
template <>
struct to_python<bytes> {
  static nanobind::object make(bytes&& value, tensors as);
};
template <class T>
  requires std::is_arithmetic_v<T>
struct to_python<T> {
  static nanobind::object make(T&& value, tensors) { return nanobind::cast(value); }
};
template <class T>
struct to_python<std::vector<T>> {
  static nanobind::object make(std::vector<T>&& values, tensors as) {
    nanobind::list out;
    for (auto&& each : values) out.append(to_python<T>::make(T(std::move(each)), as));
    return out;
  }
};
/// A sample<> becomes (data, target), std::tuple and std::pair a tuple, and a struct with names a dict.
template <detail::composite T>
struct to_python<T> {
  static nanobind::object make(T&& value, tensors as) {
    constexpr bool is_tuple = detail::is_sample<T> || detail::is_tuple_like<T>;
    constexpr bool has_names = is_tuple || names<T>.size() != 0;
    static_assert(has_names,
                  "wick: a struct becomes a dict in Python, and the names of its fields aren't known (see "
                  "'T'); write template <> inline constexpr std::array wick::python::names<T>{\"first\", "
                  "\"second\"};");
    return detail::with_fields(value, [&](auto&... fields) -> nanobind::object {
      if constexpr (is_tuple) {
        return nanobind::make_tuple(
            to_python<std::remove_cvref_t<decltype(fields)>>::make(std::move(fields), as)...);
      } else {
        static_assert(!has_names || names<T>.size() == sizeof...(fields),
                      "wick: wick::python::names<T> has another number of names than T has fields");
        nanobind::dict out;
        std::size_t i = 0;
        ((out[names<T>[i++]] = to_python<std::remove_cvref_t<decltype(fields)>>::make(std::move(fields), as)),
         ...);
        return out;
      }
    });
  }
};

// ---- bodies ----

}  // namespace wick::python

namespace wick::inline v0_1::detail {

inline nanobind::dlpack::dtype dlpack_type(dtype t) noexcept {
  using code = nanobind::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(8 * size_of(t));
  const auto of = [bits](code c) { return nanobind::dlpack::dtype{static_cast<std::uint8_t>(c), bits, 1}; };
  switch (t) {
    case dtype::uint8:
      return of(code::UInt);
    case dtype::boolean:
      return of(code::Bool);
    case dtype::bfloat16:
      return of(code::Bfloat);
    case dtype::float16:
    case dtype::float32:
    case dtype::float64:
      return of(code::Float);
    default:
      return of(code::Int);
  }
}

/// The location of numbers in memory, for Python.
struct shared_numbers {
  void* data;
  std::vector<std::size_t> extents;
  std::vector<std::int64_t> strides;
  dtype type;
  int device = nanobind::device::cpu::value, device_index = 0;

  template <class Extents, class Strides>
  shared_numbers(void* at, const Extents& e, const Strides& s, dtype t)
      : data(at), extents(std::begin(e), std::end(e)), strides(std::begin(s), std::end(s)), type(t) {}
};

/// Makes NumPy's or PyTorch's array of the same memory, which `owner` holds.
template <class Framework, class Owner>
nanobind::object to_shared(const shared_numbers& of, Owner&& owner) {
  auto kept = std::make_unique<Owner>(std::forward<Owner>(owner));
  const nanobind::capsule keeps(kept.get(), [](void* p) noexcept { delete static_cast<Owner*>(p); });
  static_cast<void>(kept.release());
  return nanobind::cast(nanobind::ndarray<Framework>(of.data, of.extents.size(), of.extents.data(), keeps,
                                                     of.strides.data(), dlpack_type(of.type), of.device,
                                                     of.device_index));
}
/// \throws wick::error when NumPy has no such array
template <class Owner>
nanobind::object to_shared(const shared_numbers& of, Owner&& owner, python::tensors as) {
  if (as == python::tensors::torch) return to_shared<nanobind::pytorch>(of, std::forward<Owner>(owner));
  if (of.device != nanobind::device::cpu::value)
    throw error("NumPy has no memory of a device: write tensors=\"torch\", or leave transfer() out");
  if (of.type == dtype::bfloat16)
    throw error("NumPy has no bfloat16: write tensors=\"torch\", or make float32 of it before the batch");
  return to_shared<nanobind::numpy>(of, std::forward<Owner>(owner));
}

}  // namespace wick::detail

namespace wick::inline v0_1::python {

inline nanobind::object to_python<array>::make(array&& value, tensors as) {
  const detail::shared_numbers numbers(value.data(), value.extents(), value.strides(), value.type());
  return detail::to_shared(numbers, std::move(value), as);
}
template <detail::device_tensor T>
nanobind::object to_python<T>::make(T&& value, tensors as) {
  value = value.resolve_neg();  // a view may be marked as having the opposite sign
  detail::shared_numbers numbers(value.data_ptr(), value.sizes(), value.strides(),
                                 detail::field_access<T>::type(value));
  if (value.device().is_cuda()) {
    numbers.device = nanobind::device::cuda::value;
    numbers.device_index = value.device().index();
  } else if (!value.device().is_cpu()) {
    throw error("a tensor on " + value.device().str() +
                " can't be given to Python, which has a way for the CPU and for CUDA alone");
  }
  return detail::to_shared(numbers, std::move(value), as);
}
inline nanobind::object to_python<std::string>::make(std::string&& value, tensors) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "surrogateescape");
  if (text == nullptr) throw nanobind::python_error();
  return nanobind::steal(text);
}
inline nanobind::object to_python<bytes>::make(bytes&& value, tensors) {
  return nanobind::bytes(value.data(), value.size());
}

}  // namespace wick::python
