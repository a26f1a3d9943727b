/// \file
/// The bodies of what tables/records.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
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
#include <wick/tables/records.hpp>

namespace wick::detail {

struct fixed_records::table {
  table(const files& of, std::uint64_t size, const records_options& options)
      : paths(of), open(of.size()), bytes(size), header(options.header), stride(options.stride) {}
  files paths;
  open_shards open;
  std::uint64_t bytes, header, stride;
  std::vector<file_stamp> stamps;
  std::vector<std::uint64_t> begins;  // the first record of each file, and the end
};

fixed_records::fixed_records(const files& of, std::uint64_t bytes, const records_options& options) {
  if (bytes == 0) throw error("records: a record has 0 bytes; say how many");
  if (options.stride != 0 && options.stride < bytes) {
    throw error("records: a stride of " + std::to_string(options.stride) + " bytes, and records have " +
                std::to_string(bytes) + "; give at least these");
  }
  auto out = std::make_shared<table>(of, bytes, options);
  if (out->stride == 0) out->stride = bytes;
  std::uint64_t count = 0;
  for (std::uint64_t f = 0; f < of.size(); ++f) {
    const std::string path = of.path(f);
    opened_file opened = open_regular(path, "records");
    const std::uint64_t size = opened.stamp.size;
    const std::uint64_t rest = size < out->header ? 1 : (size - out->header) % out->stride;
    // The last one may do without what pads it.
    if (rest != 0 && (size < out->header || rest != bytes)) {
      throw source_error(path, "records",
                         "has " + std::to_string(size) + " bytes, which are no whole records of " +
                             std::to_string(out->stride) + " behind a header of " +
                             std::to_string(out->header) +
                             "; check the size of a record, .header and .stride");
    }
    out->begins.push_back(count);
    count += (size - out->header) / out->stride + (rest != 0 ? 1 : 0);
    out->stamps.push_back(opened.stamp);
    out->open.keep(std::move(opened.file));
  }
  out->begins.push_back(count);
  if (count == 0) throw source_error(of.path(0), "records", "and all other files have no record");
  table_ = std::move(out);
}

std::uint64_t fixed_records::size() const noexcept { return table_->begins.back(); }

fixed_records::place fixed_records::find(std::uint64_t i) const noexcept {
  const auto& begins = table_->begins;
  const auto file =
      static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), i) - begins.begin()) - 1;
  return {file, i - begins[file]};
}

location fixed_records::at(std::uint64_t i) const noexcept {
  const place p = find(i);
  return {.path = table_->paths.path(p.file),
          .file = table_->open[p.file],
          .offset = table_->header + p.record * table_->stride,
          .length = table_->bytes,
          .indexed = &table_->stamps[p.file]};
}

std::string fixed_records::key(std::uint64_t i) const {
  const place p = find(i);
  return table_->paths.key(p.file) + ", record " + std::to_string(p.record);
}

std::uint64_t fixed_records::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(table_->paths.fingerprint()).add(table_->bytes).add(table_->header).add(table_->stride);
  for (const std::uint64_t begin : table_->begins) h.add(begin);
  return h.value();
}

void refuse_struct_size(std::size_t found, std::size_t wanted) {
  throw error(std::to_string(found) + " bytes were read, and the struct has " + std::to_string(wanted) +
              "; check the struct's padding (#pragma pack), and what was read");
}

}  // namespace wick::detail
