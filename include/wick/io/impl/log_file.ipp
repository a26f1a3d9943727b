// Implements io/detail/log_file.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/io/detail/log_file.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

log_file::log_file(std::string path, std::string_view option, std::string_view head)
    : path_(std::move(path)), option_(option), file_(path_.c_str(), head) {
  if (file_.fault() == 0) return;
  const char* const other = file_.other();
  throw error(printable(path_) + ": " + std::string(option_) + ": can't be opened: " +
              (other != nullptr ? std::string("it is ") + other : reason(file_.fault())) +
              "; give a path in a folder that exists and may be written to");
}

std::string log_file::trouble(std::string_view rest) const {
  if (lost_ == 0) return {};
  return printable(path_) + ": " + std::string(option_) + ": " + std::to_string(lost_) +
         " lines could not be written: " + reason(fault_) + "; " + std::string(rest);
}

void log_file::lost(int fault) noexcept {
  fault_ = fault;
  ++lost_;
}

}  // namespace wick::detail
