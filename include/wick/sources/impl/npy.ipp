// Implements sources/npy.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/detail/zip_archive.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/npy.hpp>

namespace wick::inline v0_1 {

namespace detail {

namespace {

/// The header of a .npy file: a Python dict with three entries.
struct npy_header {
  dtype type = dtype::uint8;
  shape extents;
  std::size_t data = 0;  // offset of the data

  /// \throws wick::error
  npy_header(const std::string& called, std::string_view file);

 private:
  [[noreturn]] static void damaged(const std::string& called) {
    throw source_error(called, "npy",
                       "has a header that numpy does not write; the file is cut off or damaged");
  }
  /// The text after `'name':`.
  static std::string_view entry(const std::string& called, std::string_view dict, std::string_view name) {
    const std::string quoted = "'" + std::string(name) + "':";
    const std::size_t at = dict.find(quoted);
    if (at == std::string_view::npos) damaged(called);
    dict.remove_prefix(at + quoted.size());
    while (dict.starts_with(' ')) dict.remove_prefix(1);
    return dict;
  }
};

std::optional<dtype> dtype_of_numpy(std::string_view code) {
  constexpr std::pair<std::string_view, dtype> all[] = {
      {"u1", dtype::uint8},   {"i1", dtype::int8},    {"i2", dtype::int16},
      {"i4", dtype::int32},   {"i8", dtype::int64},   {"f2", dtype::float16},
      {"f4", dtype::float32}, {"f8", dtype::float64}, {"b1", dtype::boolean}};
  for (const auto& [name, type] : all) {
    if (name == code) return type;
  }
  return std::nullopt;
}

npy_header::npy_header(const std::string& called, std::string_view file) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (!file.starts_with(magic)) {
    const file_kind found = kind_of_file(file, certainty::likely);
    throw source_error(called, "npy",
                       file.empty() ? "is empty (0 bytes)"
                       : found
                           ? found.text()
                           : "isn't an .npy file (it begins with \"" + printable(file.substr(0, 6)) + "\")");
  }
  if (file.size() < 12) damaged(called);
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(file[i]));
  };
  const bool first = byte(6) == 1;
  const std::size_t length = byte(8) | byte(9) << 8 | (first ? 0 : byte(10) << 16 | byte(11) << 24);
  data = (first ? 10 : 12) + length;
  if (byte(6) < 1 || byte(6) > 3 || data > file.size()) damaged(called);
  const std::string_view dict = file.substr(data - length, length);

  std::string_view descr = entry(called, dict, "descr");
  if (!descr.starts_with('\'')) {
    throw source_error(called, "npy", "is an array of records; save each field as an array of its own");
  }
  descr = descr.substr(1, descr.substr(1).find('\''));
  if (descr.starts_with('>')) {
    throw source_error(called, "npy",
                       "has numbers of type \"" + printable(descr) +
                           "\", in big-endian order; save x.astype(x.dtype.newbyteorder('<'))");
  }
  const std::optional<dtype> found = dtype_of_numpy(descr.substr(std::min<std::size_t>(1, descr.size())));
  if (!found) {
    throw source_error(called, "npy",
                       "has numbers of type \"" + printable(descr) +
                           "\", which batches can't have; save numbers of a type of Torch's, such as "
                           "x.astype(numpy.float32)");
  }
  type = *found;
  const bool columns_first = entry(called, dict, "fortran_order").starts_with("True");
  std::string_view tuple = entry(called, dict, "shape");
  if (!tuple.starts_with('(') || tuple.find(')') == std::string_view::npos) damaged(called);
  tuple = tuple.substr(1, tuple.find(')') - 1);
  while (!tuple.empty()) {
    std::int64_t extent = 0;
    const auto [end, fault] = std::from_chars(tuple.data(), tuple.data() + tuple.size(), extent);
    if (fault != std::errc() || extent < 0) damaged(called);
    if (extents.rank() == shape::max_rank + 1) {
      throw source_error(called, "npy",
                         "has more than " + std::to_string(shape::max_rank + 1) +
                             " dimensions; join some of them: save x.reshape(len(x), …)");
    }
    extents.push_back(extent);
    tuple.remove_prefix(static_cast<std::size_t>(end - tuple.data()));
    if (tuple.starts_with('L')) tuple.remove_prefix(1);  // written by Python 2
    while (tuple.starts_with(',') || tuple.starts_with(' ')) tuple.remove_prefix(1);
  }
  std::size_t long_ones = 0;  // with only one, the order makes no difference
  for (std::size_t i = 0; i < extents.rank(); ++i) long_ones += extents[i] > 1 ? 1u : 0u;
  if (long_ones > 1 && columns_first)
    throw source_error(called, "npy", "is in Fortran's order, rows last; save numpy.ascontiguousarray(x)");
}

/// \throws wick::error
std::string npy_file(const std::string& path) {
  const opened_file opened = open_regular(path, "npy");
  std::string file(static_cast<std::size_t>(opened.stamp.size), '\0');
  file.resize(read_up_to(opened.file.get(), reinterpret_cast<std::byte*>(file.data()), file.size(), 0));
  require_unchanged(opened, path, "npy");
  if (file.starts_with("PK\x03\x04")) {
    throw source_error(path, "npy", "is a .npz archive of several arrays; name one: npy(path, \"x\")");
  }
  return file;
}

}  // namespace

}  // namespace detail

npy::npy(const std::string& path) : array_file(path, rows_of(path, detail::npy_file(path))) {}

npy::npy(const std::string& path, const std::string& name)
    : array_file(path + ": " + name, rows_of(path + ": " + name, detail::zip_archive(path).read(name))) {}

detail::array_rows npy::rows_of(const std::string& called, std::string file) {
  const detail::npy_header header(called, file);
  if (header.extents.rank() == 0)
    throw detail::source_error(called, "npy", "is a single number; a source has rows: save an array [N, …]");
  shape row;
  for (std::size_t i = 1; i < header.extents.rank(); ++i) row.push_back(header.extents[i]);
  const std::size_t there = file.size() - header.data;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(header.extents.count(), static_cast<std::int64_t>(detail::size_of(header.type)),
                             &bytes) ||
      static_cast<std::uint64_t>(bytes) > there) {
    throw detail::source_error(called, "npy",
                               "says that it is " + to_string(header.extents) + " of " +
                                   std::string(to_string(header.type)) + ", and has " +
                                   std::to_string(there) + " bytes of numbers; it is cut off or damaged");
  }
  if (static_cast<std::uint64_t>(bytes) < there) {
    throw detail::source_error(called, "npy",
                               "has " + std::to_string(there) + " bytes of data, and its array takes " +
                                   std::to_string(bytes) +
                                   "; where several arrays are in one file, save each in a "
                                   "file of its own, or all by numpy.savez()");
  }
  const auto count = static_cast<std::uint64_t>(header.extents[0]);
  if (bytes == 0) throw detail::source_error(called, "npy", "has no numbers: " + to_string(header.extents));
  file.erase(0, header.data);  // aligns the numbers for their type, whatever the header's length
  auto kept = std::make_shared<const std::string>(std::move(file));
  const auto* const data = reinterpret_cast<const std::byte*>(kept->data());
  return {std::move(kept), data, {row, header.type}, count};
}

}  // namespace wick
