/// \file
/// A source of the pictures and labels in idx files: MNIST, Fashion-MNIST, EMNIST, as they are distributed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <wick/read/detail/idx_file.hpp>
#include <wick/read/memory.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/shape.hpp>
#include <wick/sample/source.hpp>

namespace wick {

namespace detail {

struct idx_options {
  /// When not 0, every label must be in [0, classes).
  std::int64_t classes = 0;
};

}  // namespace detail

/// Two idx files, an array [N, …] and N integer labels, each plain or gzip-compressed (found by their first
/// bytes). They are read into memory here; a sample is a view of its row, [28, 28] uint8 in MNIST, and
/// batches without decoding. Link with zlib. Format: LeCun, Cortes, Burges, "The MNIST database of
/// handwritten digits".
class idx {
 public:
  /// \throws wick::error when a file is missing, no idx file, cut off or damaged, when the numbers of rows
  /// differ, or a label is out of range
  idx(const std::filesystem::path& data, const std::filesystem::path& labels,
      detail::idx_options options = {})
      : data_path_(data.native()), rows_(load(data.native(), labels.native(), options)) {}

  std::uint64_t size() const noexcept { return rows_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept { return rows_.at(i); }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept { rows_.prefetch(i, most); }
  std::string key(std::uint64_t i) const {
    return detail::printable(data_path_) + "[" + std::to_string(i) + "]";
  }
  std::uint64_t fingerprint() const noexcept { return rows_.fingerprint(); }
  /// Shape and type of one row.
  const detail::row_format& format() const noexcept { return rows_.format(); }
  const std::vector<std::int64_t>& targets() const noexcept { return rows_.targets(); }

 private:
  static detail::memory_rows load(const std::string& data_path, const std::string& labels_path,
                                  const detail::idx_options& options) {
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

  static std::vector<std::int64_t> read_labels(const std::string& path, const detail::idx_options& options) {
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

  std::string data_path_;
  detail::memory_rows rows_;
};

namespace detail {}  // namespace detail

}  // namespace wick
