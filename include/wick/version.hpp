/// \file
/// wick's version: the one place where it is written. CMake, the vcpkg port and the single header read it
/// from here.
#pragma once

namespace wick {

namespace detail {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

}  // namespace detail

/// The version of wick, "MAJOR.MINOR.PATCH".
inline constexpr const char* version = "0.1.0";

}  // namespace wick
