/// \file
/// Names in messages, with their blanks, combining letters, and letter case visible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick::inline v0_1::detail {

/// In quotes, with combining letters and invisible characters as \u0308.
std::string shown_name(std::string_view name);

/// "\"a\", \"b\", …": the first twenty, or "none".
std::string shown_names(const std::vector<std::string>& names);

/// Whether both are the same text in two forms of Unicode: "ü" as one character, and as "u" with a combining
/// letter, as macOS writes names. Without tables: which letter is composed with what is not checked, except
/// in Hangul.
bool same_but_for_form(std::string_view a, std::string_view b) noexcept;

/// What a name that isn't there was probably meant to be, for the end of a message: "; \"Path\" differs only
/// in upper and lower case". Empty: nothing is near.
std::string near_name(std::string_view wanted, const std::vector<std::string>& names);

/// "no column is called \"x\"; there are \"a\", \"b\"", and what is near. \param what  "column"
std::string no_such_name(std::string_view what, std::string_view wanted,
                         const std::vector<std::string>& names);

}  // namespace wick::detail
