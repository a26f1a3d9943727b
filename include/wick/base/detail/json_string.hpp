// Arbitrary bytes as a JSON string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// The length in bytes of the UTF-8 character at the beginning of `text`; 0 if there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_character(std::string_view text) noexcept;

/// `text` as a JSON string with its quotes (RFC 8259). Bytes that aren't UTF-8 are written as the characters
/// \xNN, as printable() does, since JSON can't hold other bytes.
std::string json_string(std::string_view text);

}  // namespace wick::detail
