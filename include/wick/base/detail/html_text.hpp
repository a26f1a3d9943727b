// Puts arbitrary bytes into an HTML page as text.
#pragma once

#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// `text` as HTML text, also for attributes. Control characters, and bytes that aren't UTF-8, are written as
/// the characters \xNN, as printable() does.
std::string html_text(std::string_view text);

}  // namespace wick::detail
