/// \file
/// The ledger as a file: a JSON object a line, written as failures are delivered.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <wick/failure/ledger.hpp>
#include <wick/system/detail/line_file.hpp>

namespace wick::detail {

/// How many bytes of `text` the UTF-8 character at its beginning has; 0 when there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_character(std::string_view text) noexcept;

/// `text` as a JSON string with its quotes (RFC 8259). Bytes that are no UTF-8 are written as the characters
/// \xNN, as printable() does, since JSON has no other bytes.
std::string json_string(std::string_view text);

/// One line of JSON, without its end:
/// {"epoch":0,"position":17,"key":"cat/0012.jpg","stage":"decode","kind":"data",
/// "action":"replace","tries":1,"substitute":"cat/0431.jpg","text":"not a JPEG or PNG …"}.
std::string to_json(const ledger_entry& e);

/// A file that grows by a line a failure. Each is written at once and whole, so any number of ranks may have
/// the same file, and whoever reads it while the training runs, or after a crash, finds whole lines. What a
/// full disk or a kill has left of a line is taken back; a last line of anybody else's that has no end gets
/// one.
class ledger_file {
 public:
  /// Appends to what is there. \throws wick::error when it can't be opened
  explicit ledger_file(std::string path);

  /// A line that can't be written does not stop the training: trouble() says so from then on.
  void add(const ledger_entry& e) noexcept try {
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
