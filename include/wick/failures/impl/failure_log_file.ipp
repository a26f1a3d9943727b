// Implements failures/detail/failure_log_file.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/base/detail/json_string.hpp>
#include <wick/failures/detail/failure_log_file.hpp>

namespace wick::inline v0_1::detail {

std::string to_json(const failure_log::entry& e) {
  std::string out = "{\"epoch\":" + std::to_string(e.epoch) + ",\"position\":" + std::to_string(e.position) +
                    ",\"key\":" + detail::json_string(e.key) + ",\"stage\":" + detail::json_string(e.stage) +
                    ",\"kind\":\"" + std::string(to_string(e.kind)) + "\",\"action\":\"" +
                    std::string(to_string(e.action)) + "\",\"tries\":" + std::to_string(e.tries);
  if (!e.substitute.empty()) out += ",\"substitute\":" + detail::json_string(e.substitute);
  if (!e.into.empty()) out += ",\"into\":" + detail::json_string(e.into);
  if (!e.written.empty()) out += ",\"written\":" + detail::json_string(e.written.substr(1));
  return out + ",\"text\":" + detail::json_string(e.text) + "}";
}

}  // namespace wick::detail
