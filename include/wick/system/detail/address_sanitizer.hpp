/// \file
/// Whether the program is compiled for AddressSanitizer, which must see each block of memory come and go.
#pragma once

namespace wick::detail {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool address_sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool address_sanitized = false;
#endif

}  // namespace wick::detail
