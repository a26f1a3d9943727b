// A file system whose files are in the hands of this program: every request comes to a thread of the test,
// which notes who asked. In the kernel's own protocol, so that no library is needed.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "temp_dir.hpp"

namespace wick_test {

class fuse_server {
 public:
  /// Mounts it at `folder`, with these files. See mounted() then. Inside of with_own_mounts().
  fuse_server(const std::filesystem::path& folder, std::map<std::string, std::string> files);
  fuse_server(const fuse_server&) = delete;
  fuse_server& operator=(const fuse_server&) = delete;
  /// Nothing of it may be open any more.
  ~fuse_server();

  bool mounted() const { return mounted_; }
  /// The names of the threads that have asked for anything since the last call, a request each.
  std::vector<std::string> take_askers();

 private:
  void serve();

  std::filesystem::path folder_;
  std::vector<std::pair<std::string, std::string>> files_;  // node 2 is the first
  int device_ = -1;
  bool mounted_ = false;
  std::mutex mutex_;
  std::vector<std::string> askers_;
  std::thread server_;
};

}  // namespace wick_test
