/// \file
/// The ledger as a file: a JSON object a line, written as failures are delivered.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <wick/failure/ledger.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/line_file.hpp>

namespace wick::detail {

/// How many bytes of `text` the UTF-8 character at its beginning has; 0 when there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
inline std::size_t utf8_character(std::string_view text) noexcept {
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

/// `text` as a JSON string with its quotes (RFC 8259). Bytes that are no UTF-8 are written as the characters
/// \xNN, as printable() does, since JSON has no other bytes.
inline std::string json_string(std::string_view text) {
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

/// One line of JSON, without its end:
/// {"epoch":0,"position":17,"key":"cat/0012.jpg","stage":"decode","kind":"data",
/// "action":"replace","tries":1,"substitute":"cat/0431.jpg","text":"not a JPEG or PNG …"}.
inline std::string to_json(const ledger_entry& e) {
  std::string out = "{\"epoch\":" + std::to_string(e.epoch) + ",\"position\":" + std::to_string(e.position) +
                    ",\"key\":" + detail::json_string(e.key) + ",\"stage\":" + detail::json_string(e.stage) +
                    ",\"kind\":\"" + std::string(to_string(e.kind)) + "\",\"action\":\"" +
                    std::string(to_string(e.action)) + "\",\"tries\":" + std::to_string(e.tries);
  if (!e.substitute.empty()) out += ",\"substitute\":" + detail::json_string(e.substitute);
  return out + ",\"text\":" + detail::json_string(e.text) + "}";
}

/// A file that grows by a line a failure. Each is written at once and whole, so any number of ranks may have
/// the same file, and whoever reads it while the training runs, or after a crash, finds whole lines. What a
/// full disk or a kill has left of a line is taken back; a last line of anybody else's that has no end gets
/// one.
class ledger_file {
 public:
  /// Appends to what is there. \throws wick::error when it can't be opened
  explicit ledger_file(std::filesystem::path path)
      : path_(std::move(path)), file_(path_.c_str(), "{\"epoch\":") {
    if (file_.fault() == 0) return;
    const char* const other = file_.other();
    throw error(printable(path_.native()) + ": ledger_file: can't be opened: " +
                (other != nullptr ? std::string("it is ") + other : reason(file_.fault())) +
                "; give a path in a folder that exists and may be written to");
  }

  /// A line that can't be written does not stop the training: trouble() says so from then on.
  void add(const ledger_entry& e) noexcept try {
    if (const int fault = file_.add(to_json(e)); fault != 0) lost(fault);
  } catch (...) {
    lost(ENOMEM);
  }

  /// What went wrong, empty when nothing did.
  std::string trouble() const {
    if (lost_ == 0) return {};
    return printable(path_.native()) + ": ledger_file: " + std::to_string(lost_) +
           " lines could not be written: " + reason(fault_) + "; loader.ledger() has them";
  }

 private:
  static std::string reason(int fault) { return std::generic_category().message(fault); }
  void lost(int fault) noexcept {
    fault_ = fault;
    ++lost_;
  }

  std::filesystem::path path_;
  detail::line_file file_;
  int fault_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace wick::detail
