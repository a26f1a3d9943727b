// Implements sources/safetensors.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/detail/names.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/detail/safetensors_header.hpp>
#include <wick/sources/safetensors.hpp>

namespace wick::inline v0_1 {

namespace detail {

namespace {

constexpr std::string_view who_reads_safetensors = "safetensors";

dtype dtype_of_safetensors(const std::string& called, const std::string& code) {
  constexpr std::pair<std::string_view, dtype> all[] = {
      {"BOOL", dtype::boolean}, {"U8", dtype::uint8},   {"I8", dtype::int8},     {"I16", dtype::int16},
      {"I32", dtype::int32},    {"I64", dtype::int64},  {"F16", dtype::float16}, {"BF16", dtype::bfloat16},
      {"F32", dtype::float32},  {"F64", dtype::float64}};
  for (const auto& [name, type] : all) {
    if (name == code) return type;
  }
  throw source_error(called, who_reads_safetensors,
                     "has numbers of type " + printable(code) +
                         ", which batches can't have; save it as a type of Torch's, such as float32");
}

/// The rows of one tensor. \throws wick::error
array_rows rows_of_tensor(const std::string& path, const std::string& name) {
  const opened_file opened = open_regular(path, who_reads_safetensors);
  const std::uint64_t size = opened.stamp.size;
  const auto refuse = [&](const std::string& what) {
    return source_error(path, who_reads_safetensors, what);
  };
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    std::string out(static_cast<std::size_t>(length), '\0');
    out.resize(read_up_to(opened.file.get(), reinterpret_cast<std::byte*>(out.data()), out.size(), offset));
    return out;
  };
  constexpr std::uint64_t first = 8, most = 100'000'000;  // bytes of the length field; the format's limit
  const std::string start = read(0, std::min<std::uint64_t>(file_kind::looked_at, size));
  const std::uint64_t length = start.size() < first ? most + 1 : load_little_endian(start, 0, first);
  const auto is_other = [&] {
    const file_kind found = kind_of_file(start, certainty::likely);
    return found && found.what != "a safetensors file" ? found.text() : std::string();
  };
  if (length > most || length > size - first) {
    const std::string other = is_other();
    throw refuse(
        !other.empty()
            ? other
            : "isn't a safetensors file, or is cut off: its first 8 bytes aren't the length of a header");
  }

  safetensors_header header = [&] {
    try {
      return safetensors_header(read(first, length));
    } catch (const error& e) {
      const std::string other = is_other();
      throw refuse(other.empty() ? e.what() : other);
    }
  }();
  const auto& all = header.tensors();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.name == name; });
  if (found == all.end()) {
    std::vector<std::string> names;
    for (const auto& t : all) names.push_back(t.name);
    throw refuse(no_such_name("tensor", name, names));
  }
  const std::string called = path + ": " + name;
  const dtype type = dtype_of_safetensors(called, found->type);
  shape extents, row;
  std::int64_t bytes = static_cast<std::int64_t>(size_of(type));
  if (found->extents.size() > shape::max_rank + 1) {
    throw source_error(called, who_reads_safetensors,
                       "has more than " + std::to_string(shape::max_rank + 1) +
                           " dimensions; join some of them: save x.reshape(len(x), -1)");
  }
  bool fits = true;
  for (std::size_t i = 0; fits && i < found->extents.size(); ++i) {
    fits = !__builtin_mul_overflow(bytes, found->extents[i], &bytes);
    extents.push_back(found->extents[i]);
    if (i > 0) row.push_back(found->extents[i]);
  }
  if (!fits || found->end > size - first - length ||
      static_cast<std::uint64_t>(bytes) != found->end - found->begin) {
    throw source_error(
        called, who_reads_safetensors,
        "has " + std::to_string(found->end - found->begin) + " bytes of numbers at " +
            std::to_string(found->begin) +
            ", which is not what its shape and type take, or not in the file; it is cut off or "
            "damaged");
  }
  if (extents.rank() == 0 || bytes == 0) {
    throw source_error(called, who_reads_safetensors,
                       "has no rows: " + to_string(extents) + "; a source wants a tensor [N, …]");
  }
  auto kept =
      std::make_shared<const std::string>(read(first + length + found->begin, found->end - found->begin));
  require_unchanged(opened, path, who_reads_safetensors);
  const auto* const data = reinterpret_cast<const std::byte*>(kept->data());
  const auto count = static_cast<std::uint64_t>(extents[0]);
  return {std::move(kept), data, {row, type}, count};
}

}  // namespace

}  // namespace detail

safetensors::safetensors(const std::string& path, const std::string& name)
    : array_file(path + ": " + name, detail::rows_of_tensor(path, name)) {}

}  // namespace wick
