// Records of any length that state their own lengths: a callable reads the framing.
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

namespace ext {

/// The location of a record in its frame, in bytes from the beginning of the frame.
struct record_frame {
  std::uint64_t offset = 0;  ///< the beginning of the record
  std::uint64_t length = 0;  ///< the length of the record
  std::uint64_t size = 0;    ///< the size of the whole frame: the next frame begins there
};

}  // namespace ext

/// Options of tfrecords(), and of records() with a framing.
struct framed_options {
  /// A file of its own that keeps the index between runs. Empty: each start makes the index again.
  std::string index = {};
};

namespace detail {

using namespace ext;

/// Calls a framing of any type.
struct framing {
  std::size_t header = 0;  ///< the bytes of a frame that it needs
  const void* callable = nullptr;
  record_frame (*call)(const void* callable, std::span<const std::byte> head) = nullptr;
};

/// A source of file ranges: the framed records of files, one file after the other. Made by records() and
/// tfrecords().
class framed_records {
 public:
  /// \throws wick::error
  framed_records(const files& of, const framing& by, const char* who, const framed_options& options);

  std::uint64_t size() const noexcept { return index_->size(); }
  file_range at(std::uint64_t i) const noexcept { return index_->at(i); }
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// A problem, such as an index that couldn't be written; empty if there is none.
  const std::string& note() const noexcept { return index_->note(); }
  /// The bytes of the files that were scanned to make the index; 0 if a kept index was used.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }

 private:
  std::shared_ptr<const file_index> index_;
};

}  // namespace detail

/// Each record of these files is a sample: `at(i)` is its file range, for read(). `frame` gets the first
/// `header` bytes of a frame and returns the location of the record in it: `records(files("*.bin"), 4,
/// [](std::span<const std::byte> head) { … return ext::record_frame{.offset = 4, .length = n, .size = n + 4};
/// })`. records() reads the frames once and keeps their locations in memory, in about 4 bytes a record. With
/// `.index = "train.index"` it keeps them on disk, too, as lines() does; remove the index when `frame`
/// changes. A file that changes later is an error of its samples. \throws wick::error when a file is missing
/// or ends within a frame, when there is no record, when the file at `.index` isn't an index, or when `frame`
/// throws one
template <class Frame>
  requires std::is_invocable_r_v<ext::record_frame, const Frame&, std::span<const std::byte>>
detail::framed_records records(const files& of, std::size_t header, Frame frame,
                               const framed_options& options = {}) {
  return {of,
          {header, &frame,
           [](const void* callable, std::span<const std::byte> head) {
             return static_cast<ext::record_frame>((*static_cast<const Frame*>(callable))(head));
           }},
          "records",
          options};
}

}  // namespace wick
