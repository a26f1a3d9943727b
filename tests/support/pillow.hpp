// What Pillow makes of pictures, computed while the tests run: nothing of it is stored.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>

#include "temp_dir.hpp"
#include <wick/pixels/image.hpp>

namespace wick_test {

/// Jobs for tests/support/pillow.py, carried out together by run().
class pillow {
 public:
  /// A path for a file of a job.
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, std::string_view content) const {
    return write_file(path(name), content).string();
  }
  std::string read(const std::string& name) const { return read_file(path(name)); }
  /// Raw bytes that a job has written, as a picture.
  wick::image pixels(const std::string& name, int width, int height, int channels) const {
    const std::string raw = read(name);
    wick::image out(width, height, channels);
    if (raw.size() != out.pixels().size())
      throw std::runtime_error(name + ": " + std::to_string(raw.size()) + " bytes");
    std::copy(raw.begin(), raw.end(), reinterpret_cast<char*>(out.data()));
    return out;
  }
  void job(const std::string& line) { jobs_ += line + '\n'; }
  /// False when this machine has no Pillow; the tests then say so and end.
  bool run() {
    write("jobs", jobs_);
    jobs_.clear();
    for (const char* python : {WICK_TEST_PYTHON, "/usr/bin/python3"}) {
      const std::string command =
          std::string(python) + " " WICK_TEST_SOURCE_DIR "/tests/support/pillow.py < " + path("jobs");
      const int status = std::system(command.c_str());
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      if (code == 0) return true;
      if (code != 77 && code != 127) throw std::runtime_error("tests/support/pillow.py failed");
    }
    std::puts("skipped: no Pillow for python3 here (apt-get install python3-pil)");
    return false;
  }

 private:
  temp_dir folder_;
  std::string jobs_;
};

}  // namespace wick_test
