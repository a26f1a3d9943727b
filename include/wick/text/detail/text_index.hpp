/// \file
/// Which samples a set of text files holds, and where each lies: made in one pass over them, or read from
/// where it was kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <wick/io/file_range.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/text/detail/text_extents.hpp>
#include <wick/text/detail/text_scan.hpp>

namespace wick::detail {

class text_index {
 public:
  /// `who`: lines or documents, for messages. `kept`: the path of the index on disk; empty: none.
  text_index(const files& paths, const char* who, const text_rule& rule, const std::string& kept);

  std::uint64_t size() const noexcept { return firsts_.back(); }
  file_range at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const;
  /// Of the files' names and of where their samples lie; not of where the files lie.
  std::uint64_t fingerprint() const noexcept;
  /// Of files, to make the index.
  std::uint64_t bytes_scanned() const noexcept { return bytes_scanned_; }
  const std::string& note() const noexcept { return note_; }

 private:
  std::size_t file_of(std::uint64_t i) const noexcept;
  void keep(const std::string& path);

  opened_files files_;
  text_rule rule_;
  std::vector<text_extents> extents_;
  std::vector<std::uint64_t> firsts_{0};  // index of each file's first sample; last, their number
  std::uint64_t bytes_scanned_ = 0;
  std::string note_;
};

}  // namespace wick::detail
