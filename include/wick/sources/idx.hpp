// A source of the images and labels in idx files: MNIST, Fashion-MNIST, and EMNIST, as distributed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/sources/memory.hpp>

namespace wick::inline v0_1 {

/// Options of idx().
struct idx_options {
  /// When not 0, every label must be in [0, classes).
  std::int64_t classes = 0;
};

/// Two idx files, an array [N, …] and N integer labels, each plain or gzip-compressed (recognized by its
/// first bytes). The constructor reads them into memory. A sample is a view of its row, [28, 28] uint8 in
/// MNIST, and goes into a batch without decoding. Link with zlib. Format: LeCun, Cortes, Burges, "The MNIST
/// database of handwritten digits".
class idx {
 public:
  /// \throws wick::error when a file is missing, isn't an idx file, or is truncated or damaged, when the
  /// numbers of rows differ, or when a label is out of range
  idx(const std::string& data, const std::string& labels, idx_options options = {});

  std::uint64_t size() const noexcept { return rows_.size(); }
  sample<memory_view, std::int64_t> at(std::uint64_t i) const noexcept { return rows_.at(i); }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept { rows_.prefetch(i, most); }
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return rows_.fingerprint(); }
  /// The shape and type of one row.
  const detail::row_format& format() const noexcept { return rows_.format(); }
  const std::vector<std::int64_t>& targets() const noexcept { return rows_.targets(); }

 private:
  static detail::memory_rows load(const std::string& data_path, const std::string& labels_path,
                                  const idx_options& options);

  static std::vector<std::int64_t> read_labels(const std::string& path, const idx_options& options);

  std::string data_path_;
  detail::memory_rows rows_;
};

}  // namespace wick
