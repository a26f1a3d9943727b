// Walks the headers of a tar archive from member to member without reading the data between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <wick/io/detail/object_store.hpp>
#include <wick/sources/detail/tar_header.hpp>

namespace wick::inline v0_1::detail {

/// Reads parts of a file at increasing offsets. Fetches 4 KiB after a jump, and up to 64 KiB at a time if the
/// requested parts are close together.
class forward_window {
 public:
  forward_window(int fd, std::uint64_t file_size) noexcept : fd_(fd), file_size_(file_size) {}
  /// For an object on a server, where a jump costs more than reading the bytes between.
  forward_window(const char* url, remote_object& object, std::uint64_t size) noexcept
      : url_(url), object_(&object), file_size_(size), least_(1 << 20), most_(8 << 20), ahead_(least_) {}

  /// `size` bytes at `offset`, valid until the next call; null if the file ends before. \throws wick::error
  const unsigned char* get(std::uint64_t offset, std::size_t size);
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  std::size_t read(std::byte* to, std::size_t size, std::uint64_t offset);

  int fd_ = -1;
  const char* url_ = nullptr;
  remote_object* object_ = nullptr;
  std::uint64_t file_size_, first_ = 0, bytes_read_ = 0;
  std::size_t least_ = 4096, most_ = 65536, filled_ = 0, ahead_ = least_;
  std::vector<std::byte> buffer_;
};

struct tar_entry {
  enum kind : unsigned char { file, sparse, link, other };
  std::string name;
  kind what = file;
  std::uint64_t header = 0;  // offset of its first header
  std::uint64_t offset = 0;  // of its data
  std::uint64_t length = 0;
};

/// Reads v7, ustar, GNU, and pax archives, also several in one file (cat a.tar b.tar). Any fault of the
/// archive is a wick::error with the shard's path, the offset, and the expected and found values.
class tar_scan {
 public:
  tar_scan(const std::string& path, int fd, std::uint64_t size)
      : path_(path), size_(size), window_(fd, size) {}
  /// \param path  the URL, for messages
  tar_scan(const std::string& path, const char* url, remote_object& object, std::uint64_t size)
      : path_(path), size_(size), window_(url, object, size) {}

  /// The next member, of any kind; false at the end of the archive.
  bool next(tar_entry& out);

  /// The content of a small member.
  std::string_view data(const tar_entry& of);
  std::uint64_t bytes_read() const noexcept { return window_.bytes_read(); }

 private:
  /// The next member's properties from pax and GNU headers.
  struct extended {
    std::optional<std::string> name;
    std::optional<std::uint64_t> size;
    bool sparse = false;
  };

  [[noreturn]] void fail(std::uint64_t header, const std::string& what) const;
  [[noreturn]] void cut_off(const std::string& what, std::uint64_t needed) const;

  const unsigned char* bytes(std::uint64_t offset, std::size_t size);

  const unsigned char* block(std::uint64_t at);

  void check(const tar_header& header, std::uint64_t at);

  [[noreturn]] void not_a_tar();

  /// The offset of the next header, after checking that the data are complete.
  std::uint64_t skip(std::uint64_t header, std::uint64_t size, std::string_view what,
                     bool is_name = false) const;

  /// The text that follows a header.
  std::string_view read_text(std::uint64_t header, std::uint64_t size);

  /// Records "LENGTH KEY=VALUE\n" of POSIX.1-2001.
  void read_pax(extended& into, std::uint64_t header, std::uint64_t size);

  void finish(tar_entry& out, const tar_header& header, const extended& own, std::uint64_t at,
              std::uint64_t size);

  const std::string& path_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  bool ended_ = false;
  extended global_;
  forward_window window_;
};

}  // namespace wick::detail
