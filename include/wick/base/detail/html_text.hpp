/// \file
/// Text of any bytes in a page.
#pragma once

#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// `text` as text of HTML, also in an attribute. Control characters, and bytes that are no UTF-8, are written
/// as the characters \xNN, as printable() does.
std::string html_text(std::string_view text);

}  // namespace wick::detail
