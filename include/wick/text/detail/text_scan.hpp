// Finds the lines or documents of a text file, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <wick/io/detail/file_extents.hpp>
#include <wick/sources/detail/opened_files.hpp>

namespace wick::inline v0_1::detail {

/// The unit of text that makes a sample.
struct text_rule {
  enum kind : unsigned char {
    line,       ///< a line without its line break, "\n" or "\r\n"
    paragraph,  ///< lines up to an empty one, without the last line break
    separated,  ///< the text between separators, without line breaks at its ends; skipped if empty
  };
  kind by = line;
  bool keep_empty = true;  ///< for lines
  std::string separator = {};

  std::uint64_t fingerprint() const noexcept;
};

/// Scans a file once, byte by byte, without decoding: UTF-8 may be invalid.
class text_scan {
 public:
  text_scan(const text_rule& rule, file_extents& out) noexcept : rule_(&rule), out_(&out) {}

  /// Takes the next bytes; `last`: no more follow. \returns how many it consumed. Pass the rest again,
  /// followed by more bytes; the rest is shorter than the separator.
  std::size_t take(const char* from, std::size_t size, bool last);

 private:
  std::size_t take_lines(const char* from, std::size_t size, bool last);
  std::size_t take_separated(const char* from, std::size_t size, bool last);
  void line(std::uint64_t offset, std::uint64_t length);
  void end_paragraph();

  const text_rule* rule_;
  file_extents* out_;
  std::uint64_t at_ = 0;          // in the file, of the next bytes
  std::uint64_t begin_ = 0;       // of the line, or of the text between separators
  std::uint64_t paragraph_ = 0;   // its beginning
  std::uint64_t end_ = 0;         // of a paragraph's last line; after the last byte that isn't a line break
  bool open_ = false;             // a paragraph has begun; with separators, `begin_` is at text
  bool carriage_return_ = false;  // was the last byte
};

/// Scans a file. Blocks. \throws wick::error when it can't be read
file_extents scan_text(const opened_files::look& file, const text_rule& rule);

}  // namespace wick::detail
