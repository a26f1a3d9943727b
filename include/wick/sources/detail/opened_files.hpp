// The files that a source looks into once: a local file is opened, and kept open if there are descriptors to
// spare; a server is asked for its file's size.
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
  /// Asks servers for the sizes of all their objects, at once.
  /// \param who  for messages \throws wick::error
  opened_files(const files& of, const char* who);

  /// A file that is being looked into.
  class look {
   public:
    std::uint64_t size() const noexcept { return stamp_.size; }
    bool remote() const noexcept { return where_.remote != nullptr; }
    /// How many bytes to read at a time when reading the whole file in order.
    std::size_t piece() const noexcept { return std::size_t{1} << (remote() ? 23 : 20); }
    /// Reads up to `size` bytes from `offset` on, and returns their number. Blocks. \throws wick::error
    std::size_t read(std::byte* to, std::size_t size, std::uint64_t offset) const;
    const file_stamp& stamp() const noexcept { return stamp_; }
    /// The file's kind, judged by its first bytes. Reads them. \throws wick::error
    file_kind kind(certainty how) const;
    /// Tells the system that the whole file is about to be read, or has been.
    void read_ahead(bool all) const noexcept;
    /// The whole file, open as long as this exists.
    const file_range& where() const noexcept { return where_; }

   private:
    friend class opened_files;
    opened_file file_;  // none for a file on a server
    file_range where_;
    file_stamp stamp_;
  };
  /// \throws wick::error naming the file
  look open(std::size_t file) const;
  /// For sources whose bytes may be anything. \throws wick::error when the file, after a header of this
  /// length, isn't plain bytes but in another format \param option  the option with the header's length, for
  /// the message
  void require_plain(std::size_t file, const look& in, std::uint64_t header, std::string_view option) const;
  /// Call it after each file is scanned, in order. \throws wick::error when it was changed meanwhile
  void keep(look&& looked);

  const files& paths() const noexcept { return paths_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(paths_.size()); }
  /// Whether any file is on a server.
  bool on_servers() const noexcept { return on_servers_; }
  bool on_server(std::size_t file) const noexcept { return range(file, 0, 0).remote != nullptr; }
  const file_stamp& stamp(std::size_t file) const noexcept { return stamps_[file]; }
  file_range range(std::size_t file, std::uint64_t offset, std::uint64_t length) const noexcept;
  /// Reads ranges on this thread, which waits; all those on servers at once. \throws wick::error
  std::vector<bytes> read(const std::vector<file_range>& ranges) const;
  /// "PATH: WHO: WHAT".
  error fault(std::size_t file, const std::string& what) const;

 private:
  files paths_;
  const char* who_;
  bool on_servers_ = false;
  open_shards open_;
  std::vector<file_stamp> stamps_;
  std::vector<file_kind> remote_kinds_;  // kinds of files on servers; empty if no first bytes were requested
};

/// Reads up to `size` bytes of an open file or an object, from its `offset` on, and returns their number.
/// Blocks.
/// \throws wick::error
std::size_t read_up_to(const file_range& of, std::byte* to, std::size_t size, std::uint64_t offset);

}  // namespace wick::detail
