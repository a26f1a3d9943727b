// Arrow's types, and which of them a row's field can hold. Included in exactly one file of a program.
#pragma once

#include <arrow/api.h>
#include <arrow/util/float16.h>
#include <limits>
#include <type_traits>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/tables/detail/parquet_table.hpp>

namespace wick::inline v0_1::detail::with_arrow {

[[noreturn]] void throw_arrow(const std::string& message) {
  if (message.find("decrypt") != std::string::npos || message.find("ncrypted") != std::string::npos)
    throw error("is encrypted, and encrypted Parquet files aren't supported; write it without encryption");
  throw error(printable(message));
}
void require(const arrow::Status& status) {
  if (!status.ok()) throw_arrow(status.message());
}
template <class T>
T require(arrow::Result<T> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

struct half_float {
  std::uint16_t bits;
  explicit operator float() const { return arrow::util::Float16::FromBits(bits).ToFloat(); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
};

std::size_t size_of(number_kind kind) {
  constexpr std::uint8_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return sizes[static_cast<std::size_t>(kind)];
}

/// Calls f with a value of the C++ type for one of Arrow's number types. False if there is none.
template <class F>
bool with_number(arrow::Type::type type, F&& f) {
  switch (type) {
    case arrow::Type::BOOL:
      return f(bool()), true;
    case arrow::Type::INT8:
      return f(std::int8_t()), true;
    case arrow::Type::UINT8:
      return f(std::uint8_t()), true;
    case arrow::Type::INT16:
      return f(std::int16_t()), true;
    case arrow::Type::UINT16:
      return f(std::uint16_t()), true;
    case arrow::Type::INT32:
      return f(std::int32_t()), true;
    case arrow::Type::UINT32:
      return f(std::uint32_t()), true;
    case arrow::Type::INT64:
      return f(std::int64_t()), true;
    case arrow::Type::UINT64:
      return f(std::uint64_t()), true;
    case arrow::Type::HALF_FLOAT:
      return f(half_float()), true;
    case arrow::Type::FLOAT:
      return f(float()), true;
    case arrow::Type::DOUBLE:
      return f(double()), true;
    default:
      return false;
  }
}
arrow::Type::type arrow_type_of(number_kind kind) {
  constexpr arrow::Type::type types[] = {arrow::Type::BOOL,   arrow::Type::INT8,   arrow::Type::UINT8,
                                         arrow::Type::INT16,  arrow::Type::UINT16, arrow::Type::INT32,
                                         arrow::Type::UINT32, arrow::Type::INT64,  arrow::Type::UINT64,
                                         arrow::Type::FLOAT,  arrow::Type::DOUBLE};
  return types[static_cast<std::size_t>(kind)];
}

/// Whether To can hold every value of From.
template <class To, class From>
constexpr bool holds() {
  if constexpr (std::is_same_v<From, half_float> || std::is_same_v<To, half_float>) {
    return std::is_floating_point_v<To>;
  } else {
    constexpr bool sign = std::is_signed_v<To> || !std::is_signed_v<From>;
    return (std::is_floating_point_v<To> || (std::is_integral_v<From> && sign)) &&
           std::numeric_limits<To>::digits >= std::numeric_limits<From>::digits;
  }
}

/// The type of a column's values, inside lists, dictionaries, and extensions.
struct column_type {
  std::size_t lists = 0;
  arrow::Type::type value = arrow::Type::NA;
  std::string text;    // "list<float>"
  std::string number;  // "float", if the values are numbers
};
column_type type_of(const arrow::DataType& type) {
  column_type out;
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
      out = type_of(*type.field(0)->type());
      ++out.lists;
      out.text = "list<" + out.text + ">";
      return out;
    case arrow::Type::DICTIONARY:
      return type_of(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::EXTENSION:
      return type_of(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
      out.text = "string";
      break;
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
      out.text = "binary";
      break;
    default:
      out.text = type.ToString();
  }
  out.value = type.id();
  with_number(out.value, [&]<class N>(N) {
    if constexpr (std::is_same_v<N, half_float>)
      out.number = "float";
    else
      out.number = std::is_integral_v<N> && !std::is_same_v<N, bool> ? "std::" + out.text + "_t" : out.text;
  });
  return out;
}

bool is_text(arrow::Type::type type) {
  return type == arrow::Type::STRING || type == arrow::Type::LARGE_STRING || type == arrow::Type::BINARY ||
         type == arrow::Type::LARGE_BINARY || type == arrow::Type::FIXED_SIZE_BINARY;
}
/// The C++ type to write for a column.
std::string advice_for(const column_type& type) {
  if (type.lists == 0 && is_text(type.value)) return "write std::string, or wick::bytes for decode()";
  if (type.value == arrow::Type::STRUCT && type.lists == 0) return "name a field of it, \"column.field\"";
  if (type.number.empty()) return "no C++ type holds it; cast it when the file is written";
  if (type.lists == 0) return "write " + type.number;
  std::string array = type.number;
  for (std::size_t i = 0; i < type.lists; ++i) array.insert(0, "std::array<").append(", N>");
  return "write " + array + (type.lists == 1 ? " or std::vector<" + type.number + ">" : "");
}
/// Writers give a column that has only nulls no type.
bool is_only_nulls(const column_type& type) { return type.lists == 0 && type.value == arrow::Type::NA; }
/// Whether the field can hold a value of the column. For an array, also whether it can hold a number from one
/// of several columns of numbers.
bool fits(const parquet_field& field, const column_type& type) {
  using kinds = parquet_field::kinds;
  if (is_only_nulls(type)) return field.kind == kinds::number || field.kind == kinds::text;
  if (field.kind == kinds::text) return type.lists == 0 && is_text(type.value);
  if (field.kind == kinds::number && type.lists != 0) return false;
  if (field.kind == kinds::list && type.lists != 1) return false;
  if (type.lists > 1 && type.lists != field.extents.size()) return false;
  bool good = false;
  with_number(arrow_type_of(field.number), [&]<class To>(To) {
    with_number(type.value, [&]<class From>(From) { good = holds<To, From>(); });
  });
  return good;
}

}  // namespace wick::detail::with_arrow
