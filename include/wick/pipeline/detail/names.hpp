// Names in messages, with their blanks, combining letters, and letter case made visible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick::inline v0_1::detail {

/// The name in quotes, with combining letters and invisible characters as \u0308.
std::string shown_name(std::string_view name);

/// The first twenty as "\"a\", \"b\", …", or "none".
std::string shown_names(const std::vector<std::string>& names);

/// Whether both are the same text in two forms of Unicode: "ü" as one character, and as "u" with a combining
/// letter, as macOS writes names. It uses no tables: except in Hangul, it doesn't check which letters a
/// composed character stands for.
bool same_but_for_form(std::string_view a, std::string_view b) noexcept;

/// What a name that isn't there was probably meant to be, for the end of a message: "; \"Path\" differs only
/// in upper and lower case". Empty if no name is near.
std::string near_name(std::string_view wanted, const std::vector<std::string>& names);

/// "no column is called \"x\"; there are \"a\", \"b\"", and a near name. \param what  "column"
std::string no_such_name(std::string_view what, std::string_view wanted,
                         const std::vector<std::string>& names);

}  // namespace wick::detail
