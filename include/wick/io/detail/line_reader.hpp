// Parses the lines that wick itself writes.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace wick::inline v0_1::detail {

/// Parses a line from its start. Once anything differs from the expected text, good() stays false.
class line_reader {
 public:
  explicit line_reader(std::string_view text) noexcept : text_(text) {}
  bool good() const noexcept { return good_; }
  /// Whether it is good, and at its end.
  bool whole() const noexcept { return good_ && text_.empty(); }
  void skip(std::string_view what) noexcept {
    good_ = good_ && text_.starts_with(what);
    if (good_) text_.remove_prefix(what.size());
  }
  std::uint64_t number(int base = 10) noexcept {
    std::uint64_t n = 0;
    const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), n, base);
    good_ = good_ && fault == std::errc();
    if (good_) text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return n;
  }

 private:
  std::string_view text_;
  bool good_ = true;
};

}  // namespace wick::detail
