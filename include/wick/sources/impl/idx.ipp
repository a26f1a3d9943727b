// Implements sources/idx.hpp. Included in exactly one file of a program.
#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/detail/idx_file.hpp>
#include <wick/sources/idx.hpp>

namespace wick::inline v0_1 {

idx::idx(const std::string& data, const std::string& labels, idx_options options)
    : data_path_(data), rows_(load(data, labels, options)) {}

std::string idx::key(std::uint64_t i) const {
  return detail::printable(data_path_) + "[" + std::to_string(i) + "]";
}

detail::memory_rows idx::load(const std::string& data_path, const std::string& labels_path,
                              const idx_options& options) {
  std::vector<std::int64_t> targets = read_labels(labels_path, options);
  detail::idx_array array = detail::idx_file(data_path).read();
  if (array.count != targets.size()) {
    throw error(detail::printable(data_path) + ": idx: " + std::to_string(array.count) + " rows, but " +
                std::to_string(targets.size()) + " labels in " + detail::printable(labels_path) +
                "; are these two of one set (train or t10k)?");
  }
  std::shared_ptr<const std::byte[]> owner(std::move(array.data));
  const std::byte* first = owner.get();
  return detail::memory_rows(std::move(owner), first, detail::row_format(array.row, array.type),
                             std::move(targets));
}

std::vector<std::int64_t> idx::read_labels(const std::string& path, const idx_options& options) {
  const detail::idx_array array = detail::idx_file(path).read();
  if (array.row.rank() != 0) {
    throw error(detail::printable(path) + ": idx: labels are an array [N], found [" +
                std::to_string(array.count) + "] × " + to_string(array.row) +
                "; the order is idx(images, labels)");
  }
  std::vector<std::int64_t> out(static_cast<std::size_t>(array.count));
  const auto copy = [&]<class T>(T) {
    const std::byte* from = array.data.get();
    for (std::int64_t& label : out) {
      T value;
      std::memcpy(&value, from, sizeof(T));
      label = value;  // NOLINT(bugprone-signed-char-misuse): int8 has a sign
      from += sizeof(T);
    }
  };
  switch (array.type) {
    case dtype::uint8:
      copy(std::uint8_t{});
      break;
    case dtype::int8:
      copy(std::int8_t{});
      break;
    case dtype::int16:
      copy(std::int16_t{});
      break;
    case dtype::int32:
      copy(std::int32_t{});
      break;
    default:
      throw error(detail::printable(path) + ": idx: labels are integers, found " +
                  std::string(to_string(array.type)));
  }
  for (std::size_t i = 0; options.classes != 0 && i < out.size(); ++i) {
    if (out[i] < 0 || out[i] >= options.classes) {
      throw error(detail::printable(path) + ": idx: label " + std::to_string(i) + " is " +
                  std::to_string(out[i]) + ", out of range for " + std::to_string(options.classes) +
                  " classes; check the file, or set .classes");
    }
  }
  return out;
}

}  // namespace wick
