/// \file
/// The failure log as a file: a JSON object a line, written as failures are delivered.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/async/detail/json_string.hpp>
#include <wick/io/detail/line_file.hpp>
#include <wick/recovery/failure_log.hpp>

namespace wick::detail {

/// One line of JSON, without its end:
/// {"epoch":0,"position":17,"key":"cat/0012.jpg","stage":"decode","kind":"data",
/// "action":"replace","tries":1,"substitute":"cat/0431.jpg","text":"not a JPEG or PNG …"}.
std::string to_json(const failure_log_entry& e);

/// A file that grows by a line a failure. Each is written at once and whole, so any number of ranks may have
/// the same file. A reader finds whole lines, while the training runs and after a crash. The torn line of a
/// full disk or a kill is removed; another program's last line without an end gets one.
class failure_log_file {
 public:
  /// Appends to what is there. \throws wick::error when it can't be opened
  explicit failure_log_file(std::string path);

  /// A line that can't be written does not stop the training: trouble() says so from then on.
  void add(const failure_log_entry& e) noexcept try {
    if (const int fault = file_.add(to_json(e)); fault != 0) lost(fault);
  } catch (...) {
    lost(ENOMEM);
  }

  /// What went wrong, empty when nothing did.
  std::string trouble() const;

 private:
  static std::string reason(int fault) { return std::generic_category().message(fault); }
  void lost(int fault) noexcept;

  std::string path_;
  detail::line_file file_;
  int fault_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace wick::detail
