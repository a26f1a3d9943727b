/// \file
/// The text of URLs. Berners-Lee, Fielding, Masinter: "Uniform Resource Identifier (URI): Generic Syntax",
/// RFC 3986, 2005, section 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick::inline v0_1::detail {

/// The parameters of a query, or the fields of a header.
using name_values = std::vector<std::pair<std::string, std::string>>;

enum class slashes : bool { encoded, kept };
enum class plus_signs : bool { kept, are_blanks };

/// All bytes but letters, digits and -._~ as %XX.
std::string percent_encoded(std::string_view bytes, slashes how);

/// Nothing when a % is without its two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text, plus_signs how);

/// "a=1&b=2", both sides encoded, sorted by their bytes: what AWS signs and what is sent.
std::string encoded_query(const name_values& query);

/// Names of hosts and of headers are the same in upper case. Letters of ASCII only.
std::string lower_case(std::string_view text);

}  // namespace wick::detail
