// Reads JSON: the headers of files, and the responses of servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace wick::inline v0_1::detail {

/// Parses JSON value by value from its start; the caller says what it expects next. Bray: "The JavaScript
/// Object Notation (JSON) Data Interchange Format", RFC 8259, 2017. All members throw wick::error, with the
/// fault but no path.
class json_reader {
 public:
  explicit json_reader(std::string_view text) noexcept : left_(text) {}

  /// Whether a string comes next.
  bool at_string() noexcept;
  std::string string();
  /// A whole number that isn't negative.
  std::uint64_t number();
  /// Calls f for each value of an array. f must read the value.
  template <class F>
  void array(F&& f) {
    expect('[');
    if (accept(']')) return;
    do f();
    while (accept(','));
    expect(']');
  }
  /// Calls f(name) for each member of an object. f must read the member's value.
  template <class F>
  void object(F&& f) {
    expect('{');
    if (accept('}')) return;
    do {
      std::string name = string();
      expect(':');
      f(std::move(name));
    } while (accept(','));
    expect('}');
  }
  /// Skips a value of any kind.
  void skip(unsigned depth = 0);
  /// \throws wick::error if anything is left
  void end();

 private:
  void blanks() noexcept;
  bool accept(char c) noexcept;
  void expect(char c);
  void escape(std::string& out);
  unsigned four_digits();

  std::string_view left_;
};

}  // namespace wick::detail
