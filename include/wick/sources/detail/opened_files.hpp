/// \file
/// The files that a source looks into once: each is opened, and kept open where the process can afford it, or
/// is on a server and asked for its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/detail/open_shards.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1::detail {

class opened_files {
 public:
  /// Asks servers for the sizes of their objects, of all at once.
  /// \param who  for messages \throws wick::error
  opened_files(const files& of, const char* who);

  /// A file that is looked into.
  class look {
   public:
    std::uint64_t size() const noexcept { return stamp_.size; }
    bool remote() const noexcept { return where_.remote != nullptr; }
    /// So many bytes at a time are read well from one end to the other.
    std::size_t piece() const noexcept { return std::size_t{1} << (remote() ? 23 : 20); }
    /// The bytes from `offset` on, at most `size`. Blocks. Says how many it has. \throws wick::error
    std::size_t read(std::byte* to, std::size_t size, std::uint64_t offset) const;
    const file_stamp& stamp() const noexcept { return stamp_; }
    /// What its first bytes say that it is. Reads them. \throws wick::error
    file_kind kind(certainty how) const;
    /// Tells the system that all of it is about to be read, or has been.
    void read_ahead(bool all) const noexcept;
    /// All of it, open as long as this is.
    const file_range& where() const noexcept { return where_; }

   private:
    friend class opened_files;
    opened_file file_;  // none on a server
    file_range where_;
    file_stamp stamp_;
  };
  /// \throws wick::error naming the file
  look open(std::size_t file) const;
  /// For sources whose bytes may be any. \throws wick::error when the file isn't plain bytes after a header
  /// of this length, but in another format \param option  that says how long the header is, for the message
  void require_plain(std::size_t file, const look& in, std::uint64_t header, std::string_view option) const;
  /// When it is looked through, file by file. \throws wick::error when it was changed meanwhile
  void keep(look&& looked);

  const files& paths() const noexcept { return paths_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(paths_.size()); }
  /// Whether any is on one.
  bool on_servers() const noexcept { return on_servers_; }
  bool on_server(std::size_t file) const noexcept { return range(file, 0, 0).remote != nullptr; }
  const file_stamp& stamp(std::size_t file) const noexcept { return stamps_[file]; }
  file_range range(std::size_t file, std::uint64_t offset, std::uint64_t length) const noexcept;
  /// Reads ranges now, on this thread, which waits; those on servers all at once. \throws wick::error
  std::vector<bytes> read(const std::vector<file_range>& ranges) const;
  /// "PATH: WHO: WHAT".
  error fault(std::size_t file, const std::string& what) const;

 private:
  files paths_;
  const char* who_;
  bool on_servers_ = false;
  open_shards open_;
  std::vector<file_stamp> stamps_;
  std::vector<file_kind> remote_kinds_;  // of files on servers; empty: no first byte was asked for
};

/// Bytes of an open file or an object, from `offset` of it on, at most `size`. Blocks. Says how many it has.
/// \throws wick::error
std::size_t read_up_to(const file_range& of, std::byte* to, std::size_t size, std::uint64_t offset);

}  // namespace wick::detail
