// Implements sources/records.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/records.hpp>

namespace wick::inline v0_1::detail {

namespace {

std::shared_ptr<const row_files> look_into(const files& of, std::uint64_t bytes,
                                           const records_options& options) {
  if (bytes == 0) throw error("records: a record has 0 bytes; say how many");
  if (options.stride && *options.stride < bytes) {
    throw error("records: a stride of " + std::to_string(*options.stride) + " bytes, and records have " +
                std::to_string(bytes) + "; give at least these");
  }
  const row_files::form form{bytes, options.stride.value_or(bytes), options.header, options.raw};
  return std::make_shared<const row_files>(of, form, "records", "the size of a record, .header and .stride",
                                           ".header");
}

std::shared_ptr<const std::vector<std::uint64_t>> begins_of(const row_files& all) {
  std::vector<std::uint64_t> out{0};
  for (const std::uint64_t rows : all.rows()) out.push_back(out.back() + rows);
  if (out.back() == 0)
    throw error(all.paths().key(0) + ": records: has no record, and no other file has one; check .header");
  return std::make_shared<const std::vector<std::uint64_t>>(std::move(out));
}

}  // namespace

fixed_records::fixed_records(const files& of, std::uint64_t bytes, const records_options& options)
    : files_(look_into(of, bytes, options)), bytes_(bytes), options_(options), begins_(begins_of(*files_)) {}

fixed_records::place fixed_records::find(std::uint64_t i) const noexcept {
  const auto file =
      static_cast<std::size_t>(std::upper_bound(begins_->begin(), begins_->end(), i) - begins_->begin()) - 1;
  return {file, i - (*begins_)[file]};
}

file_range fixed_records::at(std::uint64_t i) const noexcept {
  const place p = find(i);
  return files_->at(p.file, p.record, 1);
}

void fixed_records::read_into(std::byte* to) const {
  const auto size = static_cast<std::size_t>(bytes_);
  const auto stride = static_cast<std::size_t>(options_.stride.value_or(bytes_));
  const std::uint64_t at_once = std::max<std::uint64_t>(1, (std::uint64_t{8} << 20) / stride);
  for (std::size_t file = 0; file < files_->rows().size(); ++file) {
    const std::uint64_t rows = files_->rows()[file];
    for (std::uint64_t row = 0; row < rows; row += at_once) {
      const std::uint64_t n = std::min(at_once, rows - row);
      const bytes some = std::move(files_->opened().read({files_->at(file, row, n)}).front());
      for (std::size_t i = 0; i < n; ++i, to += size) std::memcpy(to, some.data() + i * stride, size);
    }
  }
}

std::string fixed_records::key(std::uint64_t i) const {
  const place p = find(i);
  return files_->paths().key(p.file) + ", record " + std::to_string(p.record);
}

std::uint64_t fixed_records::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(files_->paths().fingerprint()).add(bytes_).add(options_.header).add(options_.stride.value_or(0));
  for (const std::uint64_t begin : *begins_) h.add(begin);
  return h.value();
}

}  // namespace wick::detail
