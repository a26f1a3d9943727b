/// \file
/// A log of a loader's: lines of JSON in a file, which must not stop a training.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/io/detail/line_file.hpp>

namespace wick::inline v0_1::detail {

/// A file that grows line by line. Each is written at once and whole, so any number of ranks may have the
/// same file. A reader finds whole lines, while the training runs and after a crash. The torn line of a full
/// disk or a kill is removed; another program's last line without an end gets one.
class log_file {
 public:
  /// Appends to what is there. \param option  for messages: the one of loader_options that has the path
  /// \param head  what each line begins with \throws wick::error when it can't be opened
  log_file(std::string path, std::string_view option, std::string_view head);

  /// Adds what `line()` gives, without its end. A line that can't be written does not stop the training:
  /// trouble() says so from then on. \returns whether it was written
  template <class Line>
  bool add(Line line) noexcept try {
    const int fault = file_.add(line());
    if (fault != 0) lost(fault);
    return fault == 0;
  } catch (...) {
    lost(ENOMEM);
    return false;
  }

  /// What went wrong, empty when nothing did. \param rest  what to do about it
  std::string trouble(std::string_view rest) const;

 private:
  static std::string reason(int fault) { return std::generic_category().message(fault); }
  void lost(int fault) noexcept;

  std::string path_;
  std::string_view option_;
  line_file file_;
  int fault_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace wick::detail
