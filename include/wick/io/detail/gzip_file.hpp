// Reads a file from start to end, and unpacks it if it is compressed with gzip.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <string>
#include <string_view>
#include <zlib.h>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

class gzip_file {
 public:
  /// Judged by the first bytes of a file.
  static bool is_packed(std::string_view start) noexcept { return start.starts_with("\x1F\x8B"); }

  /// \param who  for messages; `path` and `who` must outlive this
  /// \throws wick::error
  gzip_file(const opened_file& opened, const std::string& path, const char* who) : path_(path), who_(who) {
    file_handle second(::fcntl(opened.file.get(), F_DUPFD_CLOEXEC, 0));  // zlib closes the descriptor it gets
    if (second) gz_.reset(::gzdopen(second.get(), "rb"));
    if (gz_ == nullptr) throw source_error(path_, who_, "zlib can't open it: " + system_text(errno));
    static_cast<void>(second.release());
    ::gzbuffer(gz_.get(), 1 << 17);
  }

  /// Reads up to `size` bytes, fewer only at the end. \throws wick::error for damaged or truncated data
  std::size_t fill(void* to, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const auto piece = static_cast<unsigned>(std::min<std::size_t>(size - done, std::size_t{1} << 30));
      const int n = ::gzread(gz_.get(), static_cast<char*>(to) + done, piece);
      if (n > 0) done += static_cast<std::size_t>(n);
      if (n >= 0 && static_cast<unsigned>(n) == piece) continue;
      int code = Z_OK;
      const char* const text = ::gzerror(gz_.get(), &code);
      if (code == Z_BUF_ERROR)
        throw source_error(path_, who_, "cut off within its gzip data; copy or download it again");
      if (code == Z_ERRNO) throw source_error(path_, who_, "can't read it: " + system_text(errno));
      if (code != Z_OK) {
        throw source_error(
            path_, who_, std::string("its gzip data are damaged (") + text + "); copy or download it again");
      }
      break;
    }
    return done;
  }

 private:
  struct closer {
    void operator()(::gzFile f) const noexcept { ::gzclose(f); }
  };
  const std::string& path_;
  const char* who_;
  std::unique_ptr<::gzFile_s, closer> gz_;
};

}  // namespace wick::detail
