/// \file
/// Text of any bytes as a string of JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// How many bytes of `text` the UTF-8 character at its beginning has; 0 when there is none (RFC 3629: no
/// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_character(std::string_view text) noexcept;

/// `text` as a JSON string with its quotes (RFC 8259). Bytes that are no UTF-8 are written as the characters
/// \xNN, as printable() does, since JSON has no other bytes.
std::string json_string(std::string_view text);

}  // namespace wick::detail
