/// \file
/// The bodies of what failure/detail/ledger_file.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <wick/failure/detail/ledger_file.hpp>
#include <wick/failure/ledger.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/line_file.hpp>

namespace wick::detail {

std::size_t utf8_character(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return at(i) >= low && at(i) <= high;
  };
  const unsigned lead = at(0);
  if (text.empty()) return 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    return follows(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    return follows(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4
                                                                                                          : 0;
  }
  return 0;
}

std::string json_string(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_character(text);
    if (length == 0) {
      out += "\\\\x";
      out += {digits[byte >> 4], digits[byte & 15]};
    } else if (byte == '"' || byte == '\\') {
      out += {'\\', text[0]};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += {digits[byte >> 4], digits[byte & 15]};
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out += '"';
}

std::string to_json(const ledger_entry& e) {
  std::string out = "{\"epoch\":" + std::to_string(e.epoch) + ",\"position\":" + std::to_string(e.position) +
                    ",\"key\":" + detail::json_string(e.key) + ",\"stage\":" + detail::json_string(e.stage) +
                    ",\"kind\":\"" + std::string(to_string(e.kind)) + "\",\"action\":\"" +
                    std::string(to_string(e.action)) + "\",\"tries\":" + std::to_string(e.tries);
  if (!e.substitute.empty()) out += ",\"substitute\":" + detail::json_string(e.substitute);
  if (!e.into.empty()) out += ",\"into\":" + detail::json_string(e.into);
  return out + ",\"text\":" + detail::json_string(e.text) + "}";
}

ledger_file::ledger_file(std::string path) : path_(std::move(path)), file_(path_.c_str(), "{\"epoch\":") {
  if (file_.fault() == 0) return;
  const char* const other = file_.other();
  throw error(printable(path_) + ": ledger_file: can't be opened: " +
              (other != nullptr ? std::string("it is ") + other : reason(file_.fault())) +
              "; give a path in a folder that exists and may be written to");
}

std::string ledger_file::trouble() const {
  if (lost_ == 0) return {};
  return printable(path_) + ": ledger_file: " + std::to_string(lost_) +
         " lines could not be written: " + reason(fault_) + "; loader.ledger() has them";
}

void ledger_file::lost(int fault) noexcept {
  fault_ = fault;
  ++lost_;
}

}  // namespace wick::detail
