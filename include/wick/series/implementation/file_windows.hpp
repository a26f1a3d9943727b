/// \file
/// The bodies of what series/file_windows.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <wick/read/detail/open_shards.hpp>
#include <wick/read/detail/source_file.hpp>
#include <wick/read/file_stamp.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/series/file_windows.hpp>

namespace wick::detail {

struct file_windows::series_files {
  explicit series_files(const files& of) : paths(of), open(of.size()) {}
  files paths;
  open_shards open;
  std::vector<file_stamp> stamps;
  std::vector<std::uint64_t> rows;
};

std::shared_ptr<const file_windows::series_files> file_windows::look_into(const files& of,
                                                                          const file_rows& rows) {
  if (rows.row_bytes == 0) {
    throw error("windows: a row of the files has 0 bytes; say how many by .row_bytes");
  }
  auto out = std::make_shared<series_files>(of);
  for (std::uint64_t f = 0; f < of.size(); ++f) {
    const std::string path = of.path(f);
    opened_file opened = open_regular(path, "windows");
    const std::uint64_t size = opened.stamp.size;
    if (size < rows.header_bytes || (size - rows.header_bytes) % rows.row_bytes != 0) {
      throw source_error(path, "windows",
                         "has " + std::to_string(size) + " bytes, which are no whole rows of " +
                             std::to_string(rows.row_bytes) + " behind " + std::to_string(rows.header_bytes) +
                             "; check .row_bytes and .header_bytes");
    }
    out->rows.push_back((size - rows.header_bytes) / rows.row_bytes);
    out->stamps.push_back(opened.stamp);
    out->open.keep(std::move(opened.file));
  }
  return out;
}

file_windows::file_windows(const files& of, file_rows rows, std::int64_t length, std::int64_t stride)
    : file_windows(look_into(of, rows), rows, length, stride) {}

file_windows::file_windows(std::shared_ptr<const series_files> all, file_rows rows, std::int64_t length,
                           std::int64_t stride)
    : files_(std::move(all)),
      rows_(rows),
      length_(positive_length("windows: ", length)),
      order_(files_->rows, length_, length_, stride) {}

location file_windows::at(std::uint64_t i) const noexcept {
  const window_order::place p = order_.at(i);
  return {.path = files_->paths.path(p.series),
          .file = files_->open[p.series],
          .offset = rows_.header_bytes + p.row * rows_.row_bytes,
          .length = length_ * rows_.row_bytes,
          .indexed = &files_->stamps[p.series]};
}

std::string file_windows::key(std::uint64_t i) const {
  const window_order::place p = order_.at(i);
  return files_->paths.key(p.series) + ", rows " + std::to_string(p.row) + " to " +
         std::to_string(p.row + length_ - 1);
}

std::uint64_t file_windows::fingerprint() const {
  fingerprint_hash h;
  h.add(files_->paths.fingerprint()).add(length_).add(static_cast<std::uint64_t>(order_.stride()));
  h.add(rows_.row_bytes).add(rows_.header_bytes);
  for (const std::uint64_t rows : files_->rows) h.add(rows);
  return h.value();
}

}  // namespace wick::detail
