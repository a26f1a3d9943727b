// Percent-encoding of URLs. Berners-Lee, Fielding, Masinter: "Uniform Resource Identifier (URI): Generic
// Syntax", RFC 3986, 2005, section 2.
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

/// Encodes all bytes except letters, digits, and -._~ as %XX.
std::string percent_encoded(std::string_view bytes, slashes how);

/// Nothing if a % isn't followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text, plus_signs how);

/// "a=1&b=2", names and values encoded, sorted by bytes: the form that AWS signs and that is sent.
std::string encoded_query(const name_values& query);

/// For the names of hosts and headers, which ignore case. Converts only ASCII letters.
std::string lower_case(std::string_view text);

}  // namespace wick::detail
