// The failure log as a file: one JSON object per line, written as failures are delivered.
#pragma once

#include <string>
#include <utility>

#include <wick/failures/failure_log.hpp>
#include <wick/io/detail/log_file.hpp>

namespace wick::inline v0_1::detail {

/// One line of JSON, without its end:
/// {"epoch":0,"position":17,"key":"cat/0012.jpg","stage":"decode","kind":"data",
/// "action":"replace","tries":1,"substitute":"cat/0431.jpg","text":"not a JPEG or PNG …"}.
std::string to_json(const failure_log::entry& e);

/// Writes a line for each failure.
class failure_log_file {
 public:
  /// Appends to an existing file. \throws wick::error when it can't be opened
  explicit failure_log_file(std::string path) : file_(std::move(path), "failure_log_file", "{\"epoch\":") {}

  void add(const failure_log::entry& e) noexcept {
    file_.add([&] { return to_json(e); });
  }
  /// A description of what went wrong; empty if nothing did.
  std::string trouble() const { return file_.trouble("loader.failure_log() has them"); }

 private:
  log_file file_;
};

}  // namespace wick::detail
