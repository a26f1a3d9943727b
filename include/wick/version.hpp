// wick's version, in the only place that states it. CMake, the vcpkg port, and the single header read it
// from here.
#pragma once

namespace wick::inline v0_1 {

namespace detail {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

/// The compiled part of wick has this function for its own version. A program with headers of another version
/// doesn't link, because it needs another function.
template <int Major, int Minor, int Patch>
struct compiled {
  static void here() noexcept;
};
using compiled_for_these_headers = compiled<version_major, version_minor, version_patch>;

}  // namespace detail

/// The version of wick, "MAJOR.MINOR.PATCH".
inline constexpr const char* version = "0.1.0";

}  // namespace wick
