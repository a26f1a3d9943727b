// A folder of a test's own, gone with all that is in it when the test ends.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <system_error>

namespace wick_test {

namespace fs = std::filesystem;

/// Replaces a file that is there; makes the folders on the way.
inline fs::path write_file(const fs::path& path, std::string_view content = {}) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  return path;
}

inline std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

class temp_dir {
 public:
  temp_dir() {
    std::string name = (fs::temp_directory_path() / "wick-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make " + name);
    }
    path_ = name;
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  ~temp_dir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const noexcept { return path_; }
  fs::path operator/(const fs::path& name) const { return path_ / name; }
  /// A file below the folder; its path.
  fs::path write(const fs::path& name, std::string_view content = {}) const {
    return write_file(path_ / name, content);
  }

 private:
  fs::path path_;
};

}  // namespace wick_test
