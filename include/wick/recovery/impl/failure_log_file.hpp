/// \file
/// The bodies of what recovery/detail/failure_log_file.hpp declares. Included in exactly one file of a
/// program.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <wick/async/detail/json_string.hpp>
#include <wick/io/detail/line_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/recovery/detail/failure_log_file.hpp>
#include <wick/recovery/failure_log.hpp>

namespace wick::detail {

std::string to_json(const failure_log_entry& e) {
  std::string out = "{\"epoch\":" + std::to_string(e.epoch) + ",\"position\":" + std::to_string(e.position) +
                    ",\"key\":" + detail::json_string(e.key) + ",\"stage\":" + detail::json_string(e.stage) +
                    ",\"kind\":\"" + std::string(to_string(e.kind)) + "\",\"action\":\"" +
                    std::string(to_string(e.action)) + "\",\"tries\":" + std::to_string(e.tries);
  if (!e.substitute.empty()) out += ",\"substitute\":" + detail::json_string(e.substitute);
  if (!e.into.empty()) out += ",\"into\":" + detail::json_string(e.into);
  return out + ",\"text\":" + detail::json_string(e.text) + "}";
}

failure_log_file::failure_log_file(std::string path)
    : path_(std::move(path)), file_(path_.c_str(), "{\"epoch\":") {
  if (file_.fault() == 0) return;
  const char* const other = file_.other();
  throw error(printable(path_) + ": failure_log_file: can't be opened: " +
              (other != nullptr ? std::string("it is ") + other : reason(file_.fault())) +
              "; give a path in a folder that exists and may be written to");
}

std::string failure_log_file::trouble() const {
  if (lost_ == 0) return {};
  return printable(path_) + ": failure_log_file: " + std::to_string(lost_) +
         " lines could not be written: " + reason(fault_) + "; loader.failure_log() has them";
}

void failure_log_file::lost(int fault) noexcept {
  fault_ = fault;
  ++lost_;
}

}  // namespace wick::detail
