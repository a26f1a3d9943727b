/// \file
/// Records of any length that say their lengths themselves: a callable reads the framing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <wick/ext/file_range.hpp>
#include <wick/sources/detail/file_index.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1 {

/// What a framing says of a record, counted in bytes from the beginning of its frame.
struct record_frame {
  std::uint64_t offset = 0;  ///< where the record begins
  std::uint64_t length = 0;  ///< of the record
  std::uint64_t size = 0;    ///< of the whole frame: the next one begins there
};

/// Options of tfrecords(), and of records() with a framing.
struct framed_options {
  /// Where the index is kept between runs, a file of its own; empty: it is made at each start.
  std::string index = {};
};

namespace detail {

/// Calls a framing of any type.
struct framing {
  std::size_t header = 0;  ///< bytes that it must see of a frame
  const void* callable = nullptr;
  record_frame (*call)(const void* callable, std::span<const std::byte> head) = nullptr;
};

/// Source of file ranges: framed records of files, one file after the other. Made by records() and
/// tfrecords().
class framed_records {
 public:
  /// \throws wick::error
  framed_records(const files& of, const framing& by, const char* who, const framed_options& options);

  std::uint64_t size() const noexcept { return index_->size(); }
  file_range at(std::uint64_t i) const noexcept { return index_->at(i); }
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// What went wrong, such as writing the index; empty: nothing.
  const std::string& note() const noexcept { return index_->note(); }
  /// Bytes of the files that were looked through to make the index; 0 when it had been kept.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }

 private:
  std::shared_ptr<const file_index> index_;
};

}  // namespace detail

/// Each record of these files is a sample: `at(i)` is its file range, for read(). `frame` is given the first
/// `header` bytes of a frame and says where the record lies in it: `records(files("*.bin"), 4,
/// [](std::span<const std::byte> head) { … return record_frame{.offset = 4, .length = n, .size = n + 4}; })`.
/// The frames are read here, once, and kept in memory by about 4 bytes a record. With `.index =
/// "train.index"` they are kept on disk, too, as for lines(); remove the index when `frame` changes. A file
/// that is changed later is an error of its samples. \throws wick::error when a file is missing, ends within
/// a frame, there is no record, the file at `.index` is no index, or when `frame` throws one
template <class Frame>
  requires std::is_invocable_r_v<record_frame, const Frame&, std::span<const std::byte>>
detail::framed_records records(const files& of, std::size_t header, Frame frame,
                               const framed_options& options = {}) {
  return {of,
          {header, &frame,
           [](const void* callable, std::span<const std::byte> head) {
             return static_cast<record_frame>((*static_cast<const Frame*>(callable))(head));
           }},
          "records",
          options};
}

}  // namespace wick
