// Implements sources/framed_records.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/file_extents.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/framed_records.hpp>

namespace wick::inline v0_1::detail {

namespace {

class frame_reader final : public extent_finder {
 public:
  frame_reader(const framing& by, const char* who) noexcept : by_(by), who_(who) {}
  file_extents find(const opened_files::look& in) const override {
    try {
      return frames_of(in);
    } catch (const error& e) {  // the reason may be that the file has another format
      const file_kind other = in.kind(certainty::likely);
      if (!other) throw;
      throw error(other.text() + ". (" + e.what() + ")");
    }
  }
  std::uint64_t fingerprint() const noexcept override {
    return fingerprint_hash().add(std::string_view(who_)).add(std::uint64_t{by_.header}).value();
  }

 private:
  file_extents frames_of(const opened_files::look& in) const;

  framing by_;
  const char* who_;
};

}  // namespace

file_extents frame_reader::frames_of(const opened_files::look& in) const {
  // Small frames are read whole; of large ones, only the bytes that the framing needs. Files on servers are
  // read in full, since a request takes as long as some megabytes.
  constexpr std::size_t window = std::size_t{256} << 10, small = std::size_t{16} << 10;
  const std::uint64_t size = in.size();
  file_extents out;
  std::vector<std::byte> buffer(std::max(in.remote() ? in.piece() : window, by_.header));
  std::uint64_t begin = 0, end = 0;  // the file's bytes in the buffer
  record_frame frame{.size = 0};
  for (std::uint64_t at = 0; at < size; at += frame.size) {
    const auto problem = [&](const std::string& what) {
      return error("record " + std::to_string(out.size()) + ", at byte " + std::to_string(at) + ": " + what);
    };
    const auto head = static_cast<std::size_t>(std::min<std::uint64_t>(by_.header, size - at));
    if (at < begin || at + head > end) {
      const std::size_t most = frame.size > small && !in.remote() ? by_.header : buffer.size();
      begin = at;
      try {
        end = at + in.read(buffer.data(), most, at);
      } catch (const error& e) {
        throw problem(e.what());
      }
      if (end < at + head) throw problem("the file was cut off while it was read");
    }
    try {
      frame = by_.call(by_.callable, std::span(buffer).subspan(static_cast<std::size_t>(at - begin), head));
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
    out.add({at + frame.offset, frame.length});
  }
  return out;
}

framed_records::framed_records(const files& of, const framing& by, const char* who,
                               const framed_options& options)
    : index_(std::make_shared<const file_index>(of, who, frame_reader(by, who), options.index)) {}

std::string framed_records::key(std::uint64_t i) const {
  const file_index::place p = index_->find(i);
  return index_->paths().key(p.file) + ", record " + std::to_string(p.number);
}

}  // namespace wick::detail
