// A folder that is gone when the program is, however it ends.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <signal.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace wick_bench {

/// A child process waits for the other end of a pipe to close, which the kernel does on Ctrl-C, a crash and
/// kill -9 too, and then removes the folder. Make it before the first thread.
class temp_folder {
 public:
  temp_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "wick-bench-XXXXXX").string();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
    child_ = ::fork();
    if (child_ == 0) {
      ::close(ends[1]);
      ::setsid();  // Ctrl-C is for the whole group; this one stays
      for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::signal(s, SIG_IGN);
      for (const int standard : {0, 1, 2}) ::close(standard);  // no reader waits for output from here
      char byte;
      while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) {
      }
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
      ::_exit(0);
    }
    ::close(ends[0]);
    if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    open_ = ends[1];
  }
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;
  ~temp_folder() {
    ::close(open_);
    ::waitpid(child_, nullptr, 0);
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  pid_t child_ = -1;
  int open_ = -1;
};

}  // namespace wick_bench
