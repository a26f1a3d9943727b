/// \file
/// The bodies of what sources/framed_records.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wick/io/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/detail/look_into_each.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/framed_records.hpp>

namespace wick::detail {

struct framed_records::index {
  index(const files& of, const framing& by, const char* who);
  struct record {
    std::uint64_t offset, length;
  };
  std::vector<record> scan(std::size_t file, const opened_files::look& from, const framing& by) const;
  std::size_t file_of(std::uint64_t i) const noexcept {
    return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), i) - begins.begin()) - 1;
  }

  opened_files opened;
  std::vector<std::uint64_t> begins{0};  // the first record of each file, and the end
  std::vector<record> records;
};

framed_records::index::index(const files& of, const framing& by, const char* who) : opened(of, who) {
  std::vector<std::vector<record>> found(opened.size());
  look_into_each(opened,
                 [&](std::size_t f, const opened_files::look& file) { found[f] = scan(f, file, by); });
  for (std::vector<record>& of_file : found) {
    if (records.empty())
      records = std::move(of_file);
    else
      records.insert(records.end(), of_file.begin(), of_file.end());
    std::vector<record>().swap(of_file);
    begins.push_back(records.size());
  }
  if (records.empty()) throw opened.fault(0, "has no record, and no other file has one");
  records.shrink_to_fit();
}

std::vector<framed_records::index::record> framed_records::index::scan(std::size_t file,
                                                                       const opened_files::look& from,
                                                                       const framing& by) const {
  // Small frames are read whole; of large ones only the bytes that the framing needs. What a server has is
  // read through: a request takes as long as some megabytes.
  constexpr std::size_t window = std::size_t{256} << 10, small = std::size_t{16} << 10;
  const std::uint64_t size = from.size();
  std::vector<record> out;
  std::vector<std::byte> buffer(std::max(from.remote() ? from.piece() : window, by.header));
  std::uint64_t begin = 0, end = 0;  // of the file's bytes in the buffer
  record_frame frame{.size = 0};
  for (std::uint64_t at = 0; at < size; at += frame.size) {
    const auto problem = [&](const std::string& what) {
      return opened.fault(
          file, "record " + std::to_string(out.size()) + ", at byte " + std::to_string(at) + ": " + what);
    };
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(by.header, size - at));
    if (at < begin || at + head > end) {
      const std::size_t most = frame.size > small && !from.remote() ? by.header : buffer.size();
      begin = at;
      try {
        end = at + from.read(buffer.data(), most, at);
      } catch (const error& e) {
        throw problem(e.what());
      }
      if (end < at + head) throw problem("the file was cut off while it was read");
    }
    try {
      frame = by.call(by.callable, std::span(buffer).subspan(static_cast<std::size_t>(at - begin), head));
    } catch (const error& e) {
      throw problem(e.what());
    }
    if (frame.size == 0 || frame.offset > frame.size || frame.length > frame.size - frame.offset) {
      throw problem("the framing says that " + std::to_string(frame.length) + " bytes lie at " +
                    std::to_string(frame.offset) + " of a frame of " + std::to_string(frame.size) +
                    "; check the callable");
    }
    if (frame.size > size - at) {
      throw problem("a frame of " + std::to_string(frame.size) + " bytes, and the file has " +
                    std::to_string(size - at) + " more; it is cut off or damaged");
    }
    out.push_back({at + frame.offset, frame.length});
  }
  return out;
}

framed_records::framed_records(const files& of, const framing& by, const char* who)
    : index_(std::make_shared<const index>(of, by, who)) {}

std::uint64_t framed_records::size() const noexcept { return index_->records.size(); }

file_range framed_records::at(std::uint64_t i) const noexcept {
  const index::record& r = index_->records[static_cast<std::size_t>(i)];
  return index_->opened.range(index_->opened.size() == 1 ? 0 : index_->file_of(i), r.offset, r.length);
}

std::string framed_records::key(std::uint64_t i) const {
  const std::size_t f = index_->file_of(i);
  return index_->opened.paths().key(f) + ", record " + std::to_string(i - index_->begins[f]);
}

std::uint64_t framed_records::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(index_->opened.paths().fingerprint()).add(size());
  for (const index::record& r : index_->records) h.add(r.length);
  return h.value();
}

}  // namespace wick::detail
