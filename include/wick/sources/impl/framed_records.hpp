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

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/file_range.hpp>
#include <wick/io/file_stamp.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/detail/open_shards.hpp>
#include <wick/sources/framed_records.hpp>

namespace wick::detail {

struct framed_records::index {
  index(const files& of, const framing& by, const char* who);
  void scan(std::size_t file, int open, std::uint64_t size, const framing& by, const char* who);
  std::size_t file_of(std::uint64_t i) const noexcept {
    return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), i) - begins.begin()) - 1;
  }

  struct record {
    std::uint64_t offset, length;
  };
  files paths;
  open_shards open;
  std::vector<file_stamp> stamps;
  std::vector<std::uint64_t> begins{0};  // the first record of each file, and the end
  std::vector<record> records;
};

framed_records::index::index(const files& of, const framing& by, const char* who)
    : paths(of), open(static_cast<std::size_t>(of.size())) {
  stamps.reserve(static_cast<std::size_t>(of.size()));
  for (std::size_t f = 0; f < of.size(); ++f) {
    opened_file opened = open_regular(of.path(f), who);
    scan(f, opened.file.get(), opened.stamp.size, by, who);
    require_unchanged(opened, of.path(f), who);
    stamps.push_back(opened.stamp);
    begins.push_back(records.size());
    open.keep(std::move(opened.file));
  }
  if (records.empty()) throw source_error(of.path(0), who, "has no record, and no other file has one");
  records.shrink_to_fit();
}

void framed_records::index::scan(std::size_t file, int from, std::uint64_t size, const framing& by,
                                 const char* who) {
  // Small frames are read whole; of large ones only the bytes that the framing needs.
  constexpr std::size_t window = std::size_t{256} << 10, small = std::size_t{16} << 10;
  std::vector<std::byte> buffer(std::max(window, by.header));
  std::uint64_t begin = 0, end = 0;  // of the file's bytes in the buffer
  record_frame frame{.size = 0};
  for (std::uint64_t at = 0; at < size; at += frame.size) {
    const auto problem = [&](const std::string& what) {
      return source_error(paths.path(file), who,
                          "record " + std::to_string(records.size() - begins.back()) + ", at byte " +
                              std::to_string(at) + ": " + what);
    };
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(by.header, size - at));
    if (at < begin || at + head > end) {
      const std::size_t most = frame.size > small ? by.header : buffer.size();
      begin = at;
      end = at + read_up_to(from, buffer.data(), most, at);
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
    records.push_back({at + frame.offset, frame.length});
  }
}

framed_records::framed_records(const files& of, const framing& by, const char* who)
    : index_(std::make_shared<const index>(of, by, who)) {}

std::uint64_t framed_records::size() const noexcept { return index_->records.size(); }

file_range framed_records::at(std::uint64_t i) const noexcept {
  const index& all = *index_;
  const std::size_t f = all.stamps.size() == 1 ? 0 : all.file_of(i);
  const index::record& r = all.records[static_cast<std::size_t>(i)];
  return {all.paths.path(f), all.open[f], r.offset, r.length, &all.stamps[f]};
}

std::string framed_records::key(std::uint64_t i) const {
  const std::size_t f = index_->file_of(i);
  return index_->paths.key(f) + ", record " + std::to_string(i - index_->begins[f]);
}

std::uint64_t framed_records::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(index_->paths.fingerprint()).add(size());
  for (const index::record& r : index_->records) h.add(r.length);
  return h.value();
}

}  // namespace wick::detail
