// Members of a ZIP archive, as written by numpy.savez().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <wick/io/detail/source_file.hpp>

namespace wick::inline v0_1::detail {

/// PKWARE: "APPNOTE.TXT, .ZIP File Format Specification", 6.3. Stored and deflated members, with ZIP64.
class zip_archive {
 public:
  /// \throws wick::error if it isn't a complete archive
  explicit zip_archive(const std::string& path);
  /// A member, unpacked and checked. \throws wick::error if there is none, or it is damaged
  std::string read(const std::string& name) const;

 private:
  struct member {
    std::string name;
    std::uint64_t packed = 0, size = 0, header = 0;
    std::uint32_t crc = 0;
    unsigned method = 0, flags = 0;
  };
  std::string bytes(std::uint64_t offset, std::uint64_t size) const;
  [[noreturn]] void damaged(const std::string& what) const;
  void read_directory();
  static void read_zip64(std::string_view extra, member& of);
  std::string unpack(const member& of, const std::string& packed) const;

  std::string path_;
  opened_file file_;
  std::vector<member> members_;
};

}  // namespace wick::detail
