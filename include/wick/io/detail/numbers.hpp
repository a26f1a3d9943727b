// Numbers in text, as other programs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wick::inline v0_1::detail {

/// Without surrounding blanks and a plus sign.
std::string_view bare_number(std::string_view text) noexcept;

/// A whole number, even if written as a fraction or with an exponent: "3", "3.0", "1e3". Not "3.5".
std::optional<std::int64_t> whole_number(std::string_view text) noexcept;

enum class float_fault : unsigned char { none, no_number, too_large };

/// The nearest float; 0 if the number is too small.
float_fault parse_float(std::string_view text, float& to) noexcept;

/// Whether it is a missing value in pandas, R, or SQL: "", "NA", "null", …
bool is_missing(std::string_view text) noexcept;

}  // namespace wick::detail
