// A loader's log: lines of JSON in a file. Its faults never stop the training.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/io/detail/line_file.hpp>

namespace wick::inline v0_1::detail {

/// A file that grows line by line. Each line is written at once and whole, so any number of ranks may share
/// the file. A reader finds whole lines, both during the training and after a crash. A line torn by a full
/// disk or a kill is removed; another program's unfinished last line gets a line end.
class log_file {
 public:
  /// Appends to an existing file. \param option  for messages: the option of loader_options that has the path
  /// \param head  the beginning of each line \throws wick::error if it can't be opened
  log_file(std::string path, std::string_view option, std::string_view head);

  /// Adds the line that `line()` returns, without a line end. A line that can't be written doesn't stop the
  /// training; trouble() reports it from then on. \returns whether it was written
  template <class Line>
  bool add(Line line) noexcept try {
    const int fault = file_.add(line());
    if (fault != 0) lost(fault);
    return fault == 0;
  } catch (...) {
    lost(ENOMEM);
    return false;
  }

  /// What went wrong; empty if nothing did. \param rest  what to do about it
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
