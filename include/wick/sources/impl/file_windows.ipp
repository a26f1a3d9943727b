// Implements sources/file_windows.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/file_windows.hpp>

namespace wick::inline v0_1::detail {

namespace {

std::shared_ptr<const row_files> look_into(const files& of, const file_rows& rows) {
  if (rows.row_bytes == 0) throw error("windows: a row of the files has 0 bytes; say how many by .row_bytes");
  const row_files::form form{rows.row_bytes, rows.row_bytes, rows.header_bytes, rows.raw};
  return std::make_shared<const row_files>(of, form, "windows", ".row_bytes and .header_bytes",
                                           ".header_bytes");
}

}  // namespace

file_windows::file_windows(const files& of, file_rows rows, std::int64_t length, std::int64_t stride)
    : files_(look_into(of, rows)),
      rows_(rows),
      length_(positive_length("windows: ", length)),
      order_(files_->rows(), length_, length_, stride) {}

file_range file_windows::at(std::uint64_t i) const noexcept {
  const window_order::place p = order_.at(i);
  return files_->at(p.series, p.row, length_);
}

std::string file_windows::key(std::uint64_t i) const {
  const window_order::place p = order_.at(i);
  return files_->paths().key(p.series) + ", rows " + std::to_string(p.row) + " to " +
         std::to_string(p.row + length_ - 1);
}

std::uint64_t file_windows::fingerprint() const {
  fingerprint_hash h;
  h.add(files_->paths().fingerprint()).add(length_).add(static_cast<std::uint64_t>(order_.stride()));
  h.add(rows_.row_bytes).add(rows_.header_bytes);
  for (const std::uint64_t rows : files_->rows()) h.add(rows);
  return h.value();
}

}  // namespace wick::detail
